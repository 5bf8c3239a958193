//! A scheduler's choice for a Pod, with the reasons.

#[derive(Debug)]
pub(super) struct PlacementChoice {
    pub(super) node: String,
    pub(super) score: Option<i64>,
    pub(super) why: String,
}
