//! Recommendations: the replicas that a provider asks for, beside the user, and for how long.
//!
//! A prediction raises the minimum of an object, a schedule raises or replaces it for a while, and the portraits of
//! a target ask for counts. [`merge`](crate::merge::merge) brings them together.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use evenkeel_objects::bounds::ObjectBounds;
use jiff::Timestamp;

/// The maker of a recommendation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Provider {
    /// A CronHPA, by its name.
    Cron(String),
    /// The prediction of the load.
    Prediction,
    /// A portrait, or a provider of another version of the program, by its name.
    Other(Arc<str>),
}

/// The priority of a minimum that only raises that of others.
const RAISES: i32 = 0;

/// The lowest priority of a minimum that replaces the user's.
const REPLACES: i32 = 1;

const PREDICTION: &str = "prediction";
const CRON: &str = "cron/";

impl Provider {
    /// The priority of contributions that do not say one: 0 for those that only raise, 1 for those
    /// that stand in for the user's own bounds.
    pub(crate) const fn default_priority(&self) -> i32 {
        match self {
            Self::Cron(_) => REPLACES,
            Self::Prediction | Self::Other(_) => RAISES,
        }
    }
}

impl fmt::Display for Provider {
    /// `prediction`, `cron/NAME`, or the name of another provider.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cron(name) => write!(f, "{CRON}{name}"),
            Self::Prediction => f.write_str(PREDICTION),
            Self::Other(name) => f.write_str(name),
        }
    }
}

impl From<&str> for Provider {
    fn from(name: &str) -> Self {
        match name.strip_prefix(CRON) {
            Some(cron) => Self::Cron(cron.to_owned()),
            None if name == PREDICTION => Self::Prediction,
            None => Self::Other(name.into()),
        }
    }
}

/// The replicas that one provider asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recommendation {
    pub by: Provider,
    /// Of several requests the highest priority holds, of equal ones the larger value. A minimum stands in for the
    /// user's from 1 on, and only raises it with 0.
    pub priority: i32,
    pub ask: Ask,
    /// When it ends, or when an absent provider will have a request; `None` if that is not known.
    pub until: Option<Timestamp>,
}

/// The request of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// Bounds within which others scale.
    AtLeast {
        /// The fewest replicas; `None` leaves them to others.
        min: Option<i32>,
        /// The most replicas, which can only be raised; `None` leaves them to others.
        max: Option<i32>,
    },
    /// This count.
    Exactly(i32),
    /// Nothing, for a reason.
    Unavailable(Unavailable),
}

/// The reason why a provider asks for nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unavailable {
    /// It asks for nothing at present, as outside of its windows or before its first point.
    Absent,
    /// Its request has expired and was not renewed.
    Expired,
    /// It could not be had.
    Failed {
        /// The reason, one word of a closed set.
        reason: &'static str,
        /// The reason in words.
        message: Cow<'static, str>,
        /// Since when it has failed without a break.
        since: Timestamp,
    },
}

impl Ask {
    /// The kind of request in one word, for status and metrics.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::AtLeast { .. } | Self::Exactly(_) => "Value",
            Self::Unavailable(Unavailable::Absent) => "Absent",
            Self::Unavailable(Unavailable::Expired) => "Expired",
            Self::Unavailable(Unavailable::Failed { .. }) => "Failed",
        }
    }
}

impl Recommendation {
    /// A floor of `min` replicas by prediction, until `until`.
    pub const fn of_prediction(min: i32, until: Timestamp) -> Self {
        Self {
            by: Provider::Prediction,
            priority: RAISES,
            ask: Ask::AtLeast {
                min: Some(min),
                max: None,
            },
            until: Some(until),
        }
    }

    /// The minimum `min` of a schedule until `until`, in place of the minimum of the `user`. It
    /// raises the user's maximum if that is smaller.
    pub(crate) fn of_cron(
        by: Provider,
        min: i32,
        user: ObjectBounds,
        until: Option<Timestamp>,
    ) -> Self {
        Self {
            priority: by.default_priority(),
            by,
            ask: Ask::AtLeast {
                min: Some(min),
                max: Some(min).filter(|min| *min > user.max),
            },
            until,
        }
    }

    /// The same where its least only raises the user's: one that the user sets later and that is larger
    /// holds.
    pub(crate) fn raising_only(self) -> Self {
        Self {
            priority: RAISES,
            ..self
        }
    }

    /// The fewest replicas that it asks for; `None` if it leaves them to others.
    pub const fn min(&self) -> Option<i32> {
        match self.ask {
            Ask::AtLeast { min, .. } => min,
            Ask::Exactly(_) | Ask::Unavailable(_) => None,
        }
    }

    /// True where everything that it asks for is a count of replicas.
    pub(crate) fn makes_sense(&self) -> bool {
        let counts = match self.ask {
            Ask::AtLeast { min, max } => [min, max],
            Ask::Exactly(replicas) => [Some(replicas), None],
            Ask::Unavailable(_) => [None; 2],
        };
        counts.into_iter().flatten().all(|count| count >= 0)
    }

    /// True where its least stands in for the user's.
    pub(crate) const fn replaces(&self) -> bool {
        self.priority >= REPLACES
    }

    /// When it ends.
    pub(crate) fn end(&self) -> Timestamp {
        self.until.unwrap_or(Timestamp::MAX)
    }

    pub(crate) fn counts(&self, now: Timestamp) -> bool {
        now < self.end()
    }

    /// True if this contribution may stay in place of `new` by the same provider: both ask for
    /// the same, and more than half of the time to the new end is left.
    ///
    /// An earlier end is a change, for example if a schedule's window was cut short. It is none for
    /// a prediction: prediction withdraws its contributions, and a new leader may know an older
    /// end.
    pub(crate) fn stands_for(&self, new: &Self, now: Timestamp) -> bool {
        let left = self.end().duration_since(now);
        let shortened = new.end() < self.end() && new.by != Provider::Prediction;
        self.asks_as(new) && !shortened && left > new.end().duration_since(now) / 2
    }

    /// True where both ask for the same, whatever their ends.
    pub(crate) fn asks_as(&self, other: &Self) -> bool {
        (&self.by, self.priority, &self.ask) == (&other.by, other.priority, &other.ask)
    }
}
