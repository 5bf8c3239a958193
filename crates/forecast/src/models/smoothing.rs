//! Triple exponential smoothing (`[Brown]`, `[DS-HPA]` (2) to (10)): `tes` with a fixed α, and
//! `s-hpa` with an α that follows the movement of the load.

mod adaptive;
mod brown;

pub use adaptive::{AdaptiveAlpha, SHpa, window_forecast};
pub use brown::{Alpha, AlphaError, BrownSmoothing, Coefficients, Tes, Variant};
