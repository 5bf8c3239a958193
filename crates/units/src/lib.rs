//! Quantities of the five resources, with their units in the types.
//!
//! Amounts are integers (millicores, bytes, bytes per second); a value that is not known is an
//! `Option`, never a sentinel. Ratios are finite by construction.

#[macro_use]
mod words;

mod amount;
mod convert;
pub mod cpu_memory;
pub mod figure;
pub mod fnv;
pub mod max_age;
pub mod panic_error;
pub mod random;
mod rate;
mod ratio;
pub mod request_and_limit;
mod resource;
mod resource_set;

pub use amount::{Amount, Bytes, BytesPerSecond, MilliCpu};
pub use convert::{
    count_as_f64, i64_as_f64, i64_ceil, i64_nearest, narrowed, replicas_ceil, wrapped_i32,
};
pub use figure::figure;
pub use rate::RateError;
pub use ratio::{Ratio, RatioError};
pub use resource::{AmountError, Resource, Resources, UnknownResource};
pub use resource_set::ResourceSet;
pub use words::UnknownWord;
