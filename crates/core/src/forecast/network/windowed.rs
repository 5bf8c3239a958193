//! A network that reads a window step by step, and answers every step of a horizon at once.

use super::dense::Dense;
use super::gru::Gru;

/// Parameters that are not those of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    #[error("{have} weights are not those of the network, which has {need}")]
    Count { have: usize, need: usize },
    #[error("a weight is not finite")]
    NotFinite,
}

impl ShapeError {
    /// The name of the variant, for metrics and logs.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Count { .. } => "Count",
            Self::NotFinite => "NotFinite",
        }
    }

    pub(super) fn check(need: usize, parameters: &[f32]) -> Result<(), Self> {
        let have = parameters.len();
        if have != need {
            return Err(Self::Count { have, need });
        }
        let finite = parameters.iter().all(|parameter| parameter.is_finite());
        finite.then_some(()).ok_or(Self::NotFinite)
    }
}

/// The sizes of a [`GruNetwork`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkShape {
    /// The steps of a window, of one value each.
    pub window: usize,
    /// The units that read it.
    pub hidden: usize,
    /// The steps that are answered.
    pub outputs: usize,
}

impl NetworkShape {
    /// The number of parameters: those of the units, and after them those of the layer that answers.
    #[must_use]
    pub const fn count(self) -> usize {
        Gru::count(1, self.hidden) + Dense::count(self.hidden, self.outputs)
    }
}

/// Gated recurrent units that read a window, and a dense layer on their last state.
#[derive(Debug, Clone, PartialEq)]
pub struct GruNetwork {
    shape: NetworkShape,
    units: Gru,
    head: Dense,
}

impl GruNetwork {
    /// A network with the parameters of [`Gru::new`] and after them those of [`Dense::new`].
    ///
    /// # Errors
    /// [`ShapeError`]: another number of them, or one that is not finite.
    pub fn new(shape: NetworkShape, parameters: &[f32]) -> Result<Self, ShapeError> {
        ShapeError::check(shape.count(), parameters)?;
        let (units, head) = parameters.split_at(Gru::count(1, shape.hidden));
        Ok(Self {
            shape,
            units: Gru::new(1, shape.hidden, units)?,
            head: Dense::new(shape.hidden, shape.outputs, head)?,
        })
    }

    #[must_use]
    pub const fn shape(&self) -> NetworkShape {
        self.shape
    }

    /// All parameters, as [`Self::new`] takes them.
    #[must_use]
    pub fn parameters(&self) -> Vec<f32> {
        [self.units.parameters(), self.head.parameters()].concat()
    }

    /// What follows a window, one number for each step.
    #[must_use]
    pub fn answer(&self, window: &[f32]) -> Vec<f32> {
        let hidden = self.units.follow(window);
        self.head.answer(&hidden.state)
    }

    /// The memory outside of the network itself, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(self.units.parameters()) + size_of_val(self.head.parameters())
    }
}

/// The rows that a network learns from, the oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowRows {
    window: usize,
    outputs: usize,
    windows: Vec<f32>,
    targets: Vec<f32>,
    weights: Vec<f32>,
}

impl WindowRows {
    /// No rows, of windows and targets of such lengths.
    #[must_use]
    pub const fn new(window: usize, outputs: usize) -> Self {
        Self {
            window,
            outputs,
            windows: Vec::new(),
            targets: Vec::new(),
            weights: Vec::new(),
        }
    }

    /// Adds the row after the newest, whose errors count `weight` times.
    pub fn push(
        &mut self,
        window: impl IntoIterator<Item = f32>,
        targets: impl IntoIterator<Item = f32>,
        weight: f32,
    ) {
        self.windows.extend(window);
        self.targets.extend(targets);
        self.weights.push(weight);
    }

    /// The number of rows.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.weights.len()
    }

    /// True where there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// The lengths of windows and of targets.
    #[must_use]
    pub const fn lengths(&self) -> (usize, usize) {
        (self.window, self.outputs)
    }

    /// The window, the targets and the weight of a row.
    #[must_use]
    pub fn row(&self, index: usize) -> (&[f32], &[f32], f32) {
        let (window, target) = (index * self.window, index * self.outputs);
        (
            &self.windows[window..window + self.window],
            &self.targets[target..target + self.outputs],
            self.weights[index],
        )
    }
}
