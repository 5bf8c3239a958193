//! The choice that a scheduler has made for a Pod.

/// Where a Pod goes, and why.
#[derive(Debug)]
pub(super) struct PlacementChoice {
    pub(super) node: String,
    pub(super) score: Option<i64>,
    pub(super) why: String,
}
