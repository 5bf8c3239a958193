//! Charts as SVG: series over time in panels with one time axis, and one quantity against another.
//! It knows times, numbers and words, not their meaning. Colours are those of Okabe and Ito, safe
//! for colour blindness; lines also differ in their dashes, for prints in grey. No text covers
//! another: widths are estimated, legends break into lines, labels move, and long texts are cut.

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

pub(crate) use figure::{
    BandPoint, ChartFigure, ChartMark, ChartPoint, Colour, LabelSide, MarkShape, Panel,
    ScatterPoint, Stroke,
};
pub(crate) use layout::draw;
pub(crate) use pages::{Chart, page};
pub(crate) use scatter::{Scatter, ScatterLine};
pub(crate) use svg::escaped;

#[cfg(test)]
mod tests;
