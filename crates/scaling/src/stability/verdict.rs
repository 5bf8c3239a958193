//! A check, and what it comes to.

use jiff::SignedDuration;

use super::hold::Action;

/// The verdict of a check, with the reason in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckVerdict {
    /// All is well.
    Pass(String),
    /// It does not know: neither well nor ill.
    Unknown(String),
    /// Something is wrong.
    Fail(String),
}

impl CheckVerdict {
    /// The word in status and metrics.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Pass(_) => "Pass",
            Self::Unknown(_) => "Unknown",
            Self::Fail(_) => "Fail",
        }
    }

    /// The reason in words.
    pub fn message(&self) -> &str {
        let (Self::Pass(message) | Self::Unknown(message) | Self::Fail(message)) = self;
        message
    }

    /// The verdict of several: that of the worst, with the words of all that are as bad. Of none, nothing is known.
    pub fn of_all(verdicts: impl IntoIterator<Item = Self>) -> Self {
        let joined = |worst: Self, next: Self| match (worst, next) {
            (Self::Pass(a), Self::Pass(b)) => Self::Pass(format!("{a}; {b}")),
            (Self::Unknown(a), Self::Unknown(b)) => Self::Unknown(format!("{a}; {b}")),
            (Self::Fail(a), Self::Fail(b)) => Self::Fail(format!("{a}; {b}")),
            (fail @ Self::Fail(_), _) | (_, fail @ Self::Fail(_)) => fail,
            (unknown @ Self::Unknown(_), _) | (_, unknown @ Self::Unknown(_)) => unknown,
        };
        let all = verdicts.into_iter().reduce(joined);
        all.unwrap_or_else(|| Self::Unknown("nothing is checked".to_owned()))
    }
}

/// A check of a target: what follows where it fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checker {
    /// The name, unique among the checks of one target.
    pub name: String,
    pub action: Action,
    /// The time for which it has to pass before a change that it has held goes on.
    pub cool_down: SignedDuration,
}

/// A check with its verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckResult {
    pub checker: Checker,
    pub verdict: CheckVerdict,
}
