//! Questions to somebody outside whether a change of replicas may go on, and what the answers say.
//!
//! A question is known by whose check it is and by the spec of that; where the change stands is told with it and does not
//! tell questions apart, so that the answer to the question before is found after a step, and its age is seen.

mod answer;
mod body;

use std::sync::Arc;

use crate::ihpa::ExternalCheck;

pub use self::answer::{AnswerError, CheckAnswer};
pub use self::body::ChangeAsked;

/// A question of one external check.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CheckQuestion {
    pub namespace: Arc<str>,
    /// The name of the IntelligentHorizontalPodAutoscaler.
    pub autoscaler: Arc<str>,
    /// The name of the check.
    pub check: Arc<str>,
    pub asked: Arc<ExternalCheck>,
}
