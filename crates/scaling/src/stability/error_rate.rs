//! The share of requests that fail.

use evenkeel_units::{Ratio, i64_as_f64};

use super::reading::{CheckReading, FreshReading, Freshness};
use super::verdict::CheckVerdict;

/// The largest share of requests that may fail.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ErrorRate {
    pub most: Ratio,
}

impl ErrorRate {
    /// The verdict on the errors and on all requests, in one unit. Where there are no requests, none fails.
    pub fn judge(
        self,
        errors: Option<CheckReading>,
        requests: Option<CheckReading>,
        freshness: &Freshness,
    ) -> CheckVerdict {
        let requests = match freshness.take(requests) {
            Ok(requests) if requests.milli >= 0 => requests,
            Ok(_) => return CheckVerdict::Unknown("requests: the value is negative".to_owned()),
            Err(why) => return CheckVerdict::Unknown(format!("requests: {why}")),
        };
        if requests.milli == 0 {
            return requests.pass("there are no requests".to_owned());
        }
        let errors = match freshness.take(errors) {
            Ok(errors) if errors.milli >= 0 => errors,
            Ok(_) => return CheckVerdict::Unknown("errors: the value is negative".to_owned()),
            Err(why) => return CheckVerdict::Unknown(format!("errors: {why}")),
        };
        let rate = i64_as_f64(errors.milli) / i64_as_f64(requests.milli);
        let most = self.most.get();
        let (rate_shown, most_shown) = (rate * 100.0, most * 100.0);
        if rate > most {
            CheckVerdict::Fail(format!(
                "{rate_shown:.2} % of requests fail, above {most_shown:.2} %"
            ))
        } else {
            let taken = FreshReading {
                is_after: errors.is_after && requests.is_after,
                ..errors
            };
            taken.pass(format!(
                "{rate_shown:.2} % of requests fail, at most {most_shown:.2} % may"
            ))
        }
    }
}
