//! Pictures of series over time: panels above each other with one time axis, as SVG, and as PNG of
//! the very same drawing.
//!
//! It knows times, numbers and words, and nothing of what they mean. Colours are those of Okabe and
//! Ito, which people with any kind of colour blindness tell apart; marks differ in their dashes too,
//! so that a print in grey still says which is which.

mod axis;
mod layout;
mod marks;
mod png;
mod svg;

pub use png::{PngError, png};

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// One picture.
#[derive(Debug, Clone)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// Lines below the title: figures, and what to know of them.
    pub notes: Vec<String>,
    /// The time at the left edge.
    pub from: Timestamp,
    /// The time at the right edge.
    pub to: Timestamp,
    /// Where the clock that labels the time axis hangs.
    pub zone: TimeZone,
    /// The panels, the first on top.
    pub panels: Vec<Panel>,
}

/// One value axis with what is drawn along it. The axis begins at 0.
#[derive(Debug, Clone)]
pub struct Panel {
    /// What the axis counts, with its unit.
    pub title: String,
    /// Its height relative to those of the others.
    pub share: f64,
    /// Whether only whole numbers mean something on the axis.
    pub whole: bool,
    /// What is drawn, the first at the bottom.
    pub marks: Vec<Mark>,
}

/// One thing that is drawn, with its place in the legend.
#[derive(Debug, Clone)]
pub struct Mark {
    /// What the legend calls it.
    pub name: String,
    /// Its colour.
    pub colour: Colour,
    /// Its form.
    pub shape: Shape,
}

/// A point of a line; `None` leaves a hole.
pub type Point = (Timestamp, Option<f64>);

/// How something is drawn.
#[derive(Debug, Clone)]
pub enum Shape {
    /// Straight from point to point.
    Line(Vec<Point>, Stroke),
    /// Each value holds until the next point.
    Steps(Vec<Point>, Stroke),
    /// The area between a lower and an upper value.
    Band(Vec<(Timestamp, Option<(f64, f64)>)>),
}

/// How a line is interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stroke {
    /// Not at all.
    Solid,
    /// By dashes.
    Dashed,
    /// By dots.
    Dotted,
}

/// A colour that can be told from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// For what was observed.
    Ink,
    /// For what stands in the centre of attention.
    Blue,
    /// For an area around it.
    Sky,
    /// For what it is compared with.
    Vermilion,
    /// For a bound.
    Green,
}

impl Colour {
    const fn hex(self) -> &'static str {
        match self {
            Self::Ink => "#404040",
            Self::Blue => "#0072b2",
            Self::Sky => "#56b4e9",
            Self::Vermilion => "#d55e00",
            Self::Green => "#009e73",
        }
    }
}

impl Figure {
    /// The picture as SVG, 1200 by 700.
    #[must_use]
    pub fn svg(&self) -> String {
        layout::draw(self)
    }
}

#[cfg(test)]
mod tests;
