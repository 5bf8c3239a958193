//! Neural networks: the forward pass on weights that a [`Trainer`](super::Trainer) found.
//!
//! Weights and values between layers are 32-bit floats; every function here is made of sums, products and
//! quotients alone, so that the same weights give the same bits on any machine. Which models ask which network
//! stands elsewhere.

mod activation;
mod corrector;
mod dense;
mod gru;
mod swish;
mod windowed;

pub(super) use corrector::{Corrector, Example};
pub use dense::Dense;
pub use gru::{Gru, GruWeights, Hidden, add_products};
pub use swish::{SWISH_STEPS, SwishInput, SwishNet, SwishPass, SwishShape, SwishWeights};
pub use windowed::{GruNetwork, NetworkShape, ShapeError, WindowRows};
