//! Questions to an external endpoint about a change of replicas that is under way, and its answers.
//!
//! The name of the check and its spec identify a question. The stage of the change is sent along, but two
//! stages are the same question. So after a step the answer from before is still found, and its age is seen.

mod answer;
mod body;

use std::sync::Arc;

use jiff::Timestamp;

use crate::ihpa::ExternalCheck;

pub use self::answer::{AnswerError, CheckAnswer};
pub use self::body::ChangeAsked;

/// An answer with the step that it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepCheckAnswer {
    pub answer: CheckAnswer,
    /// When the step was made that the question told of.
    pub stepped: Option<Timestamp>,
}

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
