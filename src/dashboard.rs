//! The dashboard's listener: read-only JSON about scaling and placement, and a list of its paths.
//!
//! It reads the states that the loops and the handlers leave behind, and waits for neither.

mod explain;
mod index;
mod query;
mod scaling;

pub use explain::explanations;
pub use index::index;
pub use scaling::Scaling;
