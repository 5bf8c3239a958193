//! Contents of a chart: panels of marks over one span of time.

use jiff::Timestamp;
use jiff::tz::TimeZone;

#[derive(Debug, Clone)]
pub(crate) struct ChartFigure {
    pub title: String,
    /// Lines below the title.
    pub notes: Vec<String>,
    pub from: Timestamp,
    pub to: Timestamp,
    /// Zone of the clock that labels the time axis.
    pub zone: TimeZone,
    /// From top to bottom.
    pub panels: Vec<Panel>,
}

/// One value axis, which begins at 0, and the marks drawn along it.
#[derive(Debug, Clone)]
pub(crate) struct Panel {
    /// Quantity of the axis, with its unit.
    pub title: String,
    /// Height as a share of the sum over all panels.
    pub share: f64,
    /// Only whole numbers are labelled on the axis.
    pub whole: bool,
    /// Drawn in this order, so that the last lies on top.
    pub marks: Vec<ChartMark>,
}

/// One series with its entry in the legend.
#[derive(Debug, Clone)]
pub(crate) struct ChartMark {
    pub name: String,
    pub colour: Colour,
    pub shape: MarkShape,
}

/// A value at a time; `None` leaves a hole in the line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChartPoint {
    pub at: Timestamp,
    pub value: Option<f64>,
}

/// Lower and upper bound at a time; without both there is a hole in the band.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BandPoint {
    pub at: Timestamp,
    pub lower: Option<f64>,
    pub upper: Option<f64>,
}

#[derive(Debug, Clone)]
pub(crate) enum MarkShape {
    /// Straight from point to point.
    Line(Vec<ChartPoint>, Stroke),
    /// Each value holds until the next point.
    Steps(Vec<ChartPoint>, Stroke),
    /// The area between two bounds.
    Band(Vec<BandPoint>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stroke {
    Solid,
    Dashed,
    Dotted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colour {
    Ink,
    Blue,
    Sky,
    Vermilion,
    Green,
    Purple,
    Orange,
    Wine,
}

impl Colour {
    /// Colours of series, each of which is told from the others. No chart has more.
    pub(crate) const SERIES: [Self; 8] = [
        Self::Vermilion,
        Self::Blue,
        Self::Green,
        Self::Purple,
        Self::Orange,
        Self::Sky,
        Self::Wine,
        Self::Ink,
    ];

    pub(super) const fn hex(self) -> &'static str {
        match self {
            Self::Ink => "#404040",
            Self::Blue => "#0072b2",
            Self::Sky => "#56b4e9",
            Self::Vermilion => "#d55e00",
            Self::Green => "#009e73",
            Self::Purple => "#cc79a7",
            Self::Orange => "#e69f00",
            Self::Wine => "#882255",
        }
    }
}

/// A place on two axes that are both numbers, with what it is called.
#[derive(Debug, Clone)]
pub(crate) struct ScatterPoint {
    pub x: f64,
    pub y: f64,
    pub label: String,
}

/// Where a label stands best beside its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LabelSide {
    Above,
    Below,
}
