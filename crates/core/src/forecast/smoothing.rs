//! Brown's triple exponential smoothing: `tes` with a fixed α, and `s-hpa`, whose α follows how
//! much the load has moved of late (DS-HPA, equations 2 to 10).

mod adaptive;
mod brown;

pub use adaptive::{AdaptiveAlpha, SHpa, window_forecast};
pub use brown::{Alpha, AlphaError, Brown, Coefficients, Tes, Variant};
