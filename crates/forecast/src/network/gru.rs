//! Gated recurrent units, as PyTorch defines them (`[CLBP]` 3.5 to 3.8).
//!
//! r = σ(W_r x + b_r + U_r h + c_r), z = σ(W_z x + b_z + U_z h + c_z),
//! n = tanh(W_n x + b_n + r ∘ (U_n h + c_n)), h' = (1 − z) ∘ n + z ∘ h. The thesis leaves the biases
//! out and writes r ∘ U h for r ∘ (U_n h + c_n).

use super::activation::{sigmoid, tanh};
use super::shape_error::ShapeError;

#[derive(Debug, Clone, PartialEq)]
pub struct Gru {
    inputs: usize,
    hidden: usize,
    /// As [`Self::new`] takes them.
    parameters: Box<[f32]>,
}

/// The parameters of a [`Gru`], by kind.
#[derive(Debug, Clone, Copy)]
pub struct GruWeights<'a> {
    pub of_inputs: &'a [f32],
    pub of_hidden: &'a [f32],
    pub input_biases: &'a [f32],
    pub hidden_biases: &'a [f32],
}

/// The state of a layer, with the parts of its last step.
#[derive(Debug, Clone, PartialEq)]
pub struct GruState {
    /// h.
    pub state: Box<[f32]>,
    /// r, z and n, one after the other.
    pub gates: Box<[f32]>,
    /// U h + c of all gates, of the state before.
    pub recurrent: Box<[f32]>,
}

impl GruState {
    /// Before the first step.
    pub fn start(units: usize) -> Self {
        let zeros = |count| vec![0.0; count].into();
        Self {
            state: zeros(units),
            gates: zeros(3 * units),
            recurrent: zeros(3 * units),
        }
    }
}

impl<'a> GruWeights<'a> {
    pub fn of(inputs: usize, hidden: usize, parameters: &'a [f32]) -> Self {
        let gates = 3 * hidden;
        let (of_inputs, rest) = parameters.split_at(inputs * gates);
        let (of_hidden, rest) = rest.split_at(hidden * gates);
        let (input_biases, hidden_biases) = rest.split_at(gates);
        Self {
            of_inputs,
            of_hidden,
            input_biases,
            hidden_biases,
        }
    }

    pub fn step(self, x: &[f32], hidden: &mut GruState) {
        let GruState {
            state,
            gates,
            recurrent,
        } = hidden;
        let units = state.len();
        gates.copy_from_slice(self.input_biases);
        add_products(gates, self.of_inputs, x);
        recurrent.copy_from_slice(self.hidden_biases);
        add_products(recurrent, self.of_hidden, state);
        let (resets, rest) = gates.split_at_mut(units);
        let (updates, news) = rest.split_at_mut(units);
        let (to_reset, rest) = recurrent.split_at(units);
        let (to_update, to_new) = rest.split_at(units);
        for (gate, sum) in resets.iter_mut().zip(to_reset) {
            *gate = sigmoid(*gate + sum);
        }
        for (gate, sum) in updates.iter_mut().zip(to_update) {
            *gate = sigmoid(*gate + sum);
        }
        for ((gate, reset), sum) in news.iter_mut().zip(&*resets).zip(to_new) {
            *gate = tanh(*gate + reset * sum);
        }
        for ((state, update), new) in state.iter_mut().zip(&*updates).zip(&*news) {
            *state = (1.0 - update) * new + update * *state;
        }
    }
}

/// Adds the rows of `weights`, each times its factor.
pub fn add_products(sums: &mut [f32], weights: &[f32], factors: &[f32]) {
    for (row, factor) in weights.chunks_exact(sums.len()).zip(factors) {
        for (sum, weight) in sums.iter_mut().zip(row) {
            *sum += weight * factor;
        }
    }
}

impl Gru {
    /// Weights and biases together.
    pub const fn count(inputs: usize, hidden: usize) -> usize {
        3 * hidden * (inputs + hidden + 2)
    }

    /// `parameters`: weights of the first input to all gates (reset, update, new, each of all
    /// units), of the second, …, those of the units in the same way, the biases of the inputs, and
    /// those of the units.
    ///
    /// # Errors
    /// [`ShapeError`]: another number of them, or one that is not finite.
    pub fn new(inputs: usize, hidden: usize, parameters: &[f32]) -> Result<Self, ShapeError> {
        ShapeError::check(Self::count(inputs, hidden), parameters)?;
        Ok(Self {
            inputs,
            hidden,
            parameters: parameters.into(),
        })
    }

    pub const fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// The state after all `steps`, whose inputs are concatenated.
    pub fn follow(&self, steps: &[f32]) -> GruState {
        let weights = GruWeights::of(self.inputs, self.hidden, &self.parameters);
        let mut hidden = GruState::start(self.hidden);
        for x in steps.chunks_exact(self.inputs) {
            weights.step(x, &mut hidden);
        }
        hidden
    }
}
