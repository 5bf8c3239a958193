//! A dense layer.

use super::gru::add_products;
use super::shape_error::ShapeError;

/// y = W x + b.
#[derive(Debug, Clone, PartialEq)]
pub struct DenseLayer {
    outputs: usize,
    /// The weights of the first input to all outputs, then those of the second; after them the
    /// biases.
    parameters: Box<[f32]>,
}

impl DenseLayer {
    /// Weights and biases together.
    pub const fn count(inputs: usize, outputs: usize) -> usize {
        (inputs + 1) * outputs
    }

    /// `parameters`: weights of the first input to all outputs, then of the second, …, then the
    /// biases.
    ///
    /// # Errors
    /// [`ShapeError`]: another number of them, or one that is not finite.
    pub fn new(inputs: usize, outputs: usize, parameters: &[f32]) -> Result<Self, ShapeError> {
        ShapeError::check(Self::count(inputs, outputs), parameters)?;
        Ok(Self {
            outputs,
            parameters: parameters.into(),
        })
    }

    pub const fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// `inputs` must have the layer's length.
    pub fn answer(&self, inputs: &[f32]) -> Vec<f32> {
        let (weights, biases) = self.parameters.split_at(inputs.len() * self.outputs);
        let mut answer = biases.to_vec();
        add_products(&mut answer, weights, inputs);
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_weighs_and_adds() {
        let layer =
            DenseLayer::new(2, 3, &[1.0, 2.0, 3.0, 10.0, 20.0, 30.0, 0.5, 0.25, 0.0]).unwrap();
        assert_eq!(layer.answer(&[1.0, -1.0]), [-8.5, -17.75, -27.0]);
    }
}
