//! Size that the view is laid out for.

/// Columns.
pub(in crate::cli::dev) const WIDTH: usize = 100;
/// Rows.
pub(in crate::cli::dev) const HEIGHT: usize = 30;
