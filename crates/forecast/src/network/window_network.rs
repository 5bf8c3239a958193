//! A network that reads a window step by step, and answers all steps of a horizon at once.

use super::dense::DenseLayer;
use super::gru::Gru;
use super::shape_error::ShapeError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkShape {
    /// Steps of a window, of one value each.
    pub window: usize,
    /// Units that read it.
    pub hidden: usize,
    /// Steps answered.
    pub outputs: usize,
}

impl NetworkShape {
    /// Parameters of the units and of the layer after them.
    pub const fn count(self) -> usize {
        Gru::count(1, self.hidden) + DenseLayer::count(self.hidden, self.outputs)
    }
}

/// Gated recurrent units on a window, and a dense layer on their last state.
#[derive(Debug, Clone, PartialEq)]
pub struct GruNetwork {
    shape: NetworkShape,
    units: Gru,
    head: DenseLayer,
}

impl GruNetwork {
    /// `parameters`: those of [`Gru::new`], then those of [`DenseLayer::new`].
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

    pub const fn shape(&self) -> NetworkShape {
        self.shape
    }

    /// As [`Self::new`] takes them.
    pub fn parameters(&self) -> Vec<f32> {
        [self.units.parameters(), self.head.parameters()].concat()
    }

    /// One number for each step.
    pub fn answer(&self, window: &[f32]) -> Vec<f32> {
        let hidden = self.units.follow(window);
        self.head.answer(&hidden.state)
    }

    /// In bytes, without the network itself.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(self.units.parameters()) + size_of_val(self.head.parameters())
    }
}

/// Rows to learn from, the oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowRows {
    window: usize,
    outputs: usize,
    windows: Vec<f32>,
    targets: Vec<f32>,
    weights: Vec<f32>,
}

impl WindowRows {
    /// No rows; `window` and `outputs` are the lengths of windows and targets.
    pub const fn new(window: usize, outputs: usize) -> Self {
        Self {
            window,
            outputs,
            windows: Vec::new(),
            targets: Vec::new(),
            weights: Vec::new(),
        }
    }

    /// Adds a newest row. Its errors count `weight` times.
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

    pub const fn len(&self) -> usize {
        self.weights.len()
    }

    pub const fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    pub const fn lengths(&self) -> (usize, usize) {
        (self.window, self.outputs)
    }

    /// Window, targets and weight.
    pub fn row(&self, index: usize) -> (&[f32], &[f32], f32) {
        let (window, target) = (index * self.window, index * self.outputs);
        (
            &self.windows[window..window + self.window],
            &self.targets[target..target + self.outputs],
            self.weights[index],
        )
    }
}
