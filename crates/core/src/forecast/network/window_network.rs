//! A network that reads a window step by step, and answers every step of a horizon at once.

use super::dense::DenseLayer;
use super::gru::Gru;
use super::shape_error::ShapeError;

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
        Gru::count(1, self.hidden) + DenseLayer::count(self.hidden, self.outputs)
    }
}

/// Gated recurrent units that read a window, and a dense layer on their last state.
#[derive(Debug, Clone, PartialEq)]
pub struct GruNetwork {
    shape: NetworkShape,
    units: Gru,
    head: DenseLayer,
}

impl GruNetwork {
    /// A network with the parameters of [`Gru::new`] and after them those of [`DenseLayer::new`].
    ///
    /// # Errors
    /// [`ShapeError`]: another number of them, or one that is not finite.
    pub fn new(shape: NetworkShape, parameters: &[f32]) -> Result<Self, ShapeError> {
        ShapeError::check(shape.count(), parameters)?;
        let (units, head) = parameters.split_at(Gru::count(1, shape.hidden));
        Ok(Self {
            shape,
            units: Gru::new(1, shape.hidden, units)?,
            head: DenseLayer::new(shape.hidden, shape.outputs, head)?,
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

    /// The forecast after a window, one number for each step.
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

    /// Adds the row after the newest. Its errors count `weight` times.
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
