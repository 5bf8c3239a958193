//! Questions to an external endpoint about a running change of replicas, and its answers. The
//! check's name and spec identify a question; the stage is sent but does not count. So after a step
//! the previous answer is still found, with its age.

mod answer;
mod body;

use std::sync::Arc;

use jiff::Timestamp;

use crate::specs::ihpa::ExternalCheck;

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
    pub autoscaler: Arc<str>,
    pub check: Arc<str>,
    pub asked: Arc<ExternalCheck>,
}
