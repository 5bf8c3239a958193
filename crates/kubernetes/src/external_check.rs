//! Questions to an external endpoint about a running change of replicas, and its answers. The
//! check's name and spec identify a question; the stage is sent but does not count. So after a step
//! the previous answer is still found, with its age.

mod answer;
mod body;

use std::sync::Arc;

use crate::ihpa::ExternalCheck;

pub use self::answer::{AnswerError, CheckAnswer};
pub use self::body::ChangeAsked;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CheckQuestion {
    pub namespace: Arc<str>,
    pub autoscaler: Arc<str>,
    pub check: Arc<str>,
    pub asked: Arc<ExternalCheck>,
}
