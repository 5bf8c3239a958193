//! Placement without an extender: the leader writes a balance score for each shape of Pods on the
//! nodes as labels, and admission gives new Pods preferred node terms that read them. The stock
//! kube-scheduler then does the rest. A shape is a profile with size classes of the demand, so that
//! few labels serve all Pods.

pub mod kept_shapes;
pub mod level;
pub mod pod_shape;
pub mod shape;
pub mod shape_totals;
pub mod terms;

pub(crate) use kept_shapes::KeptShapes;
pub use kept_shapes::shared_counts;
pub use level::{ExactLevel, ScoreLevel, ScorePools};
pub use shape::Shape;
pub use shape_totals::ShapeTotals;
pub use terms::{ScoreTerm, node_affinity_sum, score_terms};
