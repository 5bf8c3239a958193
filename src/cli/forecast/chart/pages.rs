//! Several charts below each other on one page.

use super::figure::Figure;
use super::layout;
use super::scatter::{self, Scatter};
use super::svg::Svg;

/// One of the charts of a page.
#[derive(Debug, Clone)]
pub(in crate::cli) enum Chart {
    Figure(Figure),
    Scatter(Scatter),
}

impl Chart {
    const fn height(&self) -> f64 {
        match self {
            Self::Figure(_) => layout::HEIGHT,
            Self::Scatter(_) => scatter::HEIGHT,
        }
    }

    fn draw(&self) -> String {
        match self {
            Self::Figure(figure) => layout::draw(figure),
            Self::Scatter(scatter) => scatter::draw(scatter),
        }
    }
}

/// The charts as one SVG, 1200 pixels wide and as high as they are together.
pub(in crate::cli) fn page(title: &str, charts: &[Chart]) -> String {
    let height = charts.iter().map(Chart::height).sum();
    let mut svg = Svg::new(layout::WIDTH, height, title);
    let mut upper = 0.0;
    for chart in charts {
        svg.at(upper, &chart.draw());
        upper += chart.height();
    }
    svg.finish()
}
