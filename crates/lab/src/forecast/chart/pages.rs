//! Several charts below each other on one page.

use super::figure::ChartFigure;
use super::scatter::{self, Scatter};
use super::svg::{Drawing, Svg};
use super::{layout, style};

#[derive(Debug, Clone)]
pub(crate) enum Chart {
    Figure(ChartFigure),
    Scatter(Scatter),
}

impl Chart {
    fn drawing(&self) -> Drawing {
        match self {
            Self::Figure(figure) => layout::drawing(figure),
            Self::Scatter(scatter) => scatter::drawing(scatter),
        }
    }
}

/// The charts as one SVG, 1200 pixels wide and as high as they are together.
pub(crate) fn page(title: &str, charts: &[Chart]) -> String {
    let drawings: Vec<_> = charts.iter().map(Chart::drawing).collect();
    let height = drawings.iter().map(|drawing| drawing.height).sum();
    let mut svg = Svg::new(style::WIDTH, height, title);
    let mut upper = 0.0;
    for drawing in &drawings {
        svg.at(upper, &drawing.text);
        upper += drawing.height;
    }
    svg.finish().text
}
