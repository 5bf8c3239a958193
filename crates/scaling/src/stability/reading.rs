//! A measured value or an answer, and whether it says anything about the last step.

use jiff::{SignedDuration, Timestamp};

use super::verdict::CheckVerdict;

/// A value that was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckReading {
    /// The value, in thousandths of its unit.
    pub milli: i64,
    /// The begin of what it speaks of.
    pub since: Timestamp,
    /// The end of it, from which its age counts.
    pub at: Timestamp,
}

/// Which measurements count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Freshness {
    pub now: Timestamp,
    /// The age above which a measurement is no longer believed.
    pub oldest: SignedDuration,
    /// The moment of the last step: what was measured before says nothing about it.
    pub after: Option<Timestamp>,
}

impl Freshness {
    /// The value of a reading that counts.
    ///
    /// # Errors
    /// In words, why there is none.
    pub(super) fn take(&self, reading: Option<CheckReading>) -> Result<FreshReading, String> {
        let Some(CheckReading { milli, since, at }) = reading else {
            return Err("not measured".to_owned());
        };
        self.holds(at, "measured")?;
        Ok(FreshReading {
            milli,
            is_after: self.after.is_none_or(|after| after <= since),
        })
    }

    /// Checks that a measurement or answer, `done` at a moment, counts.
    ///
    /// # Errors
    /// The reason in words, if it does not.
    pub(super) fn holds(&self, at: Timestamp, done: &str) -> Result<(), String> {
        let Self { now, oldest, after } = *self;
        let age = now.duration_since(at);
        if age > oldest {
            let age = age.as_secs();
            return Err(format!("last {done} {age} s ago, which is too old"));
        }
        if after.is_some_and(|after| at < after) {
            return Err(format!("not {done} since the last step"));
        }
        Ok(())
    }
}

/// A value that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FreshReading {
    pub(super) milli: i64,
    /// True where it speaks of nothing from before the last step. What was well until then says nothing of the step; what is ill
    /// is ill.
    pub(super) is_after: bool,
}

impl FreshReading {
    /// That all is well, as far as it can say that.
    pub(super) fn pass(self, words: String) -> CheckVerdict {
        if self.is_after {
            CheckVerdict::Pass(words)
        } else {
            CheckVerdict::Unknown(format!("{words}, measured partly before the last step"))
        }
    }
}

/// Thousandths as people write them: `1.25`.
pub(super) fn decimal(milli: i64) -> String {
    let sign = if milli < 0 { "-" } else { "" };
    let (whole, rest) = (milli.unsigned_abs() / 1000, milli.unsigned_abs() % 1000);
    let text = format!("{sign}{whole}.{rest:03}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
