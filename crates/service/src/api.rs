//! JSON of the dashboard's listener (`/api/v1/...`), read only.
//!
//! One set of types: the server writes its answers with them, and `explain` and the view
//! of `dev` read the answers with them, so that a field cannot be renamed on one side alone. The names of the fields are public; people's own programs read them.

pub mod explain;
pub mod history;
pub mod scaling;

/// Path of the explanation why a Pod went where it is.
pub const EXPLAIN: &str = "/api/v1/explain";

/// Path of the targets of scaling: a [`scaling::TargetList`].
pub const SCALING: &str = "/api/v1/scaling";

/// Path of the recent past of one target: a [`history::ScalingHistory`].
pub(crate) const SCALING_HISTORY: &str = "/api/v1/scaling/history";
