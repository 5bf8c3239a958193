//! The result of a check so far, as evidence on the last step of a change.

use evenkeel_core::scaling::CheckInput;
use evenkeel_core::scaling::stability::ExternalCheckAnswer;
use jiff::Timestamp;

use super::check_query::StepCheckAnswer;
use super::error::CheckError;
use crate::metrics::target_queries::CachedAnswer;

/// The newest answer about the step made at `stepped`. An answer about another step does not count,
/// even if asked later: this step was not yet reported then.
#[must_use]
pub fn evidence(
    known: Option<&CachedAnswer<StepCheckAnswer, CheckError>>,
    stepped: Option<Timestamp>,
) -> CheckInput {
    let answer = known.and_then(|known| known.answer.as_ref());
    let answer = answer.filter(|entry| entry.value.stepped == stepped);
    let error = known.and_then(CachedAnswer::error);
    CheckInput::External {
        answer: answer.map(|entry| ExternalCheckAnswer {
            passes: entry.value.answer.passes,
            message: entry.value.answer.message.clone(),
            at: entry.fetched_at,
        }),
        failure: error.map(ToString::to_string),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::metrics::{CachedValue, FailedRefresh};
    use evenkeel_kubernetes::external_check::CheckAnswer;
    use jiff::SignedDuration;

    #[test]
    fn a_word_on_another_step_says_nothing_of_the_last() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let known = CachedAnswer {
            answer: Some(CachedValue {
                value: Arc::new(StepCheckAnswer {
                    answer: CheckAnswer {
                        passes: true,
                        message: "well".to_owned(),
                    },
                    stepped: Some(at(10)),
                }),
                fetched_at: at(25),
            }),
            failed: Some(FailedRefresh {
                error: Arc::new(CheckError::Status(503)),
                attempted_at: at(40),
            }),
            look_back: SignedDuration::ZERO,
        };
        let failure = Some("HTTP 503; accepted: 200".to_owned());
        let answer = ExternalCheckAnswer {
            passes: true,
            message: "well".to_owned(),
            at: at(25),
        };
        for (stepped, answer) in [
            (Some(at(10)), Some(answer)),
            (Some(at(20)), None),
            (None, None),
        ] {
            let failure = failure.clone();
            let expected = CheckInput::External { answer, failure };
            assert_eq!(evidence(Some(&known), stepped), expected);
        }
        let nothing = CheckInput::External {
            answer: None,
            failure: None,
        };
        assert_eq!(evidence(None, None), nothing);
    }
}
