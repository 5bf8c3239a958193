//! JSON of the dashboard's listener (`/api/v1/...`), read only. The server writes answers with
//! these types, and `forecast plot --url` and the view of `dev` read them, so a field cannot be
//! renamed on one side alone. The field names are public: users' programs read them.

pub mod explain;
pub mod history;
pub mod scaling;

/// Path of the explanation why a Pod went where it is.
pub const EXPLAIN: &str = "/api/v1/explain";

/// Path of the targets of scaling: a [`scaling::TargetList`].
pub const SCALING: &str = "/api/v1/scaling";

/// Path of the recent past of one target: a [`history::History`].
pub const SCALING_HISTORY: &str = "/api/v1/scaling/history";
