//! The answer of an external check, and whether it says anything about the last step.

use jiff::Timestamp;

use super::reading::Freshness;
use super::verdict::CheckVerdict;

/// The answer of an external check to the question whether a change may go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalCheckAnswer {
    /// True where it may.
    pub passes: bool,
    /// The reason in words; empty where none was given.
    pub message: String,
    /// When it was asked for.
    pub at: Timestamp,
}

impl ExternalCheckAnswer {
    /// The verdict on the newest answer to a question about the last step. Where none counts it is `failure` that is
    /// told, the reason why there is no newer one.
    pub fn judge(
        answer: Option<&Self>,
        failure: Option<&str>,
        freshness: &Freshness,
    ) -> CheckVerdict {
        let held = answer.map_or_else(
            || Err("not asked since the last step".to_owned()),
            |answer| freshness.holds(answer.at, "asked").map(|()| answer),
        );
        let told = |answer: &Self, word: &str| match &*answer.message {
            "" => word.to_owned(),
            message => message.to_owned(),
        };
        match held {
            Ok(answer) if answer.passes => CheckVerdict::Pass(told(answer, "it passes")),
            Ok(answer) => CheckVerdict::Fail(told(answer, "it fails")),
            Err(why) => CheckVerdict::Unknown(failure.map_or(why, ToOwned::to_owned)),
        }
    }
}
