//! Charts as SVG: series over time, in panels above each other with one time axis; and one quantity
//! against another.
//!
//! It knows times, numbers and words, and nothing of their meaning. Colours are those of Okabe and
//! Ito, which people with any kind of colour blindness tell apart; lines differ in their dashes too,
//! so that a print in grey still says which is which. No text covers another: their widths are known
//! well enough, legends break into lines, labels move, and what is too long is cut off.

mod axis;
mod figure;
mod labels;
mod layout;
mod marks;
mod pages;
mod panel_head;
mod scatter;
mod style;
mod svg;
mod text_width;

pub(in crate::cli) use figure::{
    BandPoint, ChartFigure, ChartMark, ChartPoint, Colour, LabelSide, Panel, ScatterPoint, Shape,
    Stroke,
};
pub(in crate::cli) use layout::draw;
pub(in crate::cli) use pages::{Chart, page};
pub(in crate::cli) use scatter::{Scatter, ScatterLine};
pub(in crate::cli) use svg::escaped;

#[cfg(test)]
mod tests;
