//! JSON of the dashboard's listener (`/api/v1/...`), read only.
//!
//! One set of types: the server writes its answers with them, and `explain` and the view
//! of `dev` read the answers with them, so that a field cannot be renamed on one side alone. The names of the fields are public; people's own programs read them.

pub mod calendar;
pub mod explain;
pub mod history;
pub mod hpas;
pub mod nodes;
pub mod placements;
pub mod replay;
pub mod scaling;
pub mod stream;

/// Path of the list of paths.
pub(crate) const INDEX: &str = "/api/v1";

/// Path of the calendar: a [`calendar::Calendar`].
pub const CALENDAR: &str = "/api/v1/calendar";

/// Path of the explanation why a Pod went where it is.
pub const EXPLAIN: &str = "/api/v1/explain";

/// Path of the targets of scaling: a [`scaling::TargetList`].
pub const SCALING: &str = "/api/v1/scaling";

/// Path of the recent past of one target: a [`history::ScalingHistory`].
pub(crate) const SCALING_HISTORY: &str = "/api/v1/scaling/history";

/// Path of the HPAs: a [`hpas::HpaList`].
pub(crate) const HPAS: &str = "/api/v1/hpas";

/// Path of the explanation of one HPA: an [`evenkeel_hpa::explanation::HpaExplanation`].
pub(crate) const HPA_EXPLANATION: &str = "/api/v1/hpas/explain";

/// Path of the load of each node: a [`nodes::NodeUsageList`].
pub(crate) const NODES: &str = "/api/v1/nodes";

/// Path of the newest placements: a [`placements::PlacementList`].
pub(crate) const PLACEMENTS: &str = "/api/v1/placements";

/// Path of the server-sent events, each a [`stream::ClusterChange`].
pub(crate) const STREAM: &str = "/api/v1/stream";
