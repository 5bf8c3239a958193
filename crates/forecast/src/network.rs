//! Neural networks: the forward pass on weights that a [`Trainer`](super::Trainer) found. Weights
//! and values are 32-bit floats, and functions consist of sums, products and quotients alone, so
//! that the same weights give the same bits on any machine.

mod activation;
mod dense;
mod gru;
mod shape_error;
mod swish;
mod window_network;

pub use dense::DenseLayer;
pub use gru::{Gru, GruState, GruWeights, add_products};
pub use shape_error::ShapeError;
pub use swish::{
    SWISH_STEPS, SwishInput, SwishLoad, SwishNet, SwishPass, SwishShape, SwishWeights,
};
pub use window_network::{GruNetwork, NetworkShape, WindowRows};
