//! Size that the view is laid out for.

/// Columns.
pub(in crate::dev) const WIDTH: usize = 100;
/// Rows.
pub(in crate::dev) const HEIGHT: usize = 30;
