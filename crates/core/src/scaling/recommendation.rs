//! Contributions to the bounds of an object, and the bounds that they add up to.
//!
//! Beside the user, several contributors may ask for other bounds. A prediction raises the minimum;
//! a schedule raises or replaces it for a while. Each contribution expires, so none outlives the
//! contributor that could withdraw it. The result of [`merge`] depends on neither the order of the
//! contributions nor on repetitions.

use std::collections::BTreeMap;
use std::fmt;

use jiff::{SignedDuration, Timestamp};

use super::bounds::ObjectBounds;
use super::replica_priority::PrioritizedReplicas;

/// A writer of an object's bounds beside its user.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Contributor {
    /// A CronHPA, by its name.
    Cron(String),
    /// The prediction of the load.
    Prediction,
    /// A contributor of another version of the program, by the name that it goes by.
    Other(String),
}

/// The longest time for which a contribution stands without being renewed.
///
/// A contributor that needs more time renews its contribution. Without renewal the contributor is
/// gone, such as a later version before a rollback. Six hours leave a shift of work to upgrade
/// again without a change of bounds, and end every request by the next morning.
const LONGEST: SignedDuration = SignedDuration::from_hours(6);

/// The priority of a contribution that only raises the minimum of others.
const RAISES: i32 = 0;

/// The lowest priority of a contribution that replaces the user's minimum.
const REPLACES: i32 = 1;

const PREDICTION: &str = "prediction";
const CRON: &str = "cron/";

impl Contributor {
    /// The priority of contributions that do not say one: 0 for those that only raise, 1 for those
    /// that stand in for the user's own bounds.
    pub const fn default_priority(&self) -> i32 {
        match self {
            Self::Cron(_) => REPLACES,
            Self::Prediction | Self::Other(_) => RAISES,
        }
    }
}

impl fmt::Display for Contributor {
    /// `prediction`, `cron/NAME`, or the name of another contributor.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cron(name) => write!(f, "{CRON}{name}"),
            Self::Prediction => f.write_str(PREDICTION),
            Self::Other(name) => f.write_str(name),
        }
    }
}

impl From<&str> for Contributor {
    fn from(name: &str) -> Self {
        match name.strip_prefix(CRON) {
            Some(cron) => Self::Cron(cron.to_owned()),
            None if name == PREDICTION => Self::Prediction,
            None => Self::Other(name.to_owned()),
        }
    }
}

/// The bounds that one contributor asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaRecommendation {
    /// The contributor that asks for them.
    pub who: Contributor,
    /// The fewest replicas; `None` leaves them to others.
    pub min: Option<i32>,
    /// The most replicas, which can only be raised; `None` leaves them to others.
    pub max: Option<i32>,
    /// The count that the target itself is to be set to; `None` leaves it alone.
    pub replicas: Option<i32>,
    /// From 1 on, `min` and `replicas` stand in for the user's, and of several contributions the
    /// highest priority holds, of equal ones the larger value. With 0, `min` only raises.
    pub priority: i32,
    /// When the contribution ends.
    pub until: Timestamp,
}

impl ReplicaRecommendation {
    /// A floor of `min` replicas by prediction, until `until`.
    pub const fn of_prediction(min: i32, until: Timestamp) -> Self {
        Self {
            who: Contributor::Prediction,
            min: Some(min),
            max: None,
            replicas: None,
            priority: RAISES,
            until,
        }
    }

    /// The minimum `min` of a schedule until `until`, in place of the minimum of the `user`. It
    /// raises the user's maximum if that is smaller.
    #[must_use]
    pub fn of_cron(who: Contributor, min: i32, user: ObjectBounds, until: Timestamp) -> Self {
        Self {
            priority: who.default_priority(),
            who,
            min: Some(min),
            max: Some(min).filter(|min| *min > user.max),
            replicas: None,
            until,
        }
    }

    /// The same where its least only raises the user's: one that the user sets later and that is larger
    /// holds.
    #[must_use]
    pub fn raising_only(self) -> Self {
        Self {
            priority: RAISES,
            ..self
        }
    }

    /// True where everything that it asks for is a count of replicas.
    #[must_use]
    pub fn makes_sense(&self) -> bool {
        let Self {
            who: _,
            min,
            max,
            replicas,
            priority: _,
            until: _,
        } = self;
        let mut counts = [min, max, replicas].into_iter().flatten();
        counts.all(|count| *count >= 0)
    }

    /// True where its least stands in for the user's.
    pub(super) const fn replaces(&self) -> bool {
        self.priority >= REPLACES
    }

    /// A count of its own with its priority.
    const fn ranked(&self, replicas: i32) -> PrioritizedReplicas {
        PrioritizedReplicas {
            priority: self.priority,
            replicas,
        }
    }

    fn counts(&self, now: Timestamp) -> bool {
        now < self.until
    }

    /// True if this contribution may stay in place of `new` by the same contributor: both ask for
    /// the same, and more than half of the time to the new end is left.
    ///
    /// An earlier end is a change, for example if a schedule's window was cut short. It is none for
    /// a prediction: prediction withdraws its contributions, and a new leader may know an older
    /// end.
    fn stands_for(&self, new: &Self, now: Timestamp) -> bool {
        let left = self.until.duration_since(now);
        let shortened = new.until < self.until && new.who != Contributor::Prediction;
        self.asks_as(new) && !shortened && left > new.until.duration_since(now) / 2
    }

    /// True where both ask for the same, whatever their ends.
    fn asks_as(&self, other: &Self) -> bool {
        let until = self.until;
        *self
            == Self {
                until,
                ..other.clone()
            }
    }
}

/// The bounds that follow from the user's and all contributions, and the count that the target is to
/// be set to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MergedBounds {
    pub bounds: ObjectBounds,
    /// The count that the target is to be set to, if a contribution asks for one.
    pub replicas: Option<i32>,
}

/// The bounds of an object at `now`: those of the `user`, changed by the contributions that have not
/// ended.
///
/// The maximum is the largest of the user's and the contributed ones. A minimum of priority 1 or
/// more replaces the user's; one of priority 0 raises it. Neither exceeds the maximum: the user may
/// have lowered it, and the API server refuses crossed bounds. Bounds without contributions stay as
/// the user set them, crossed or not.
#[must_use]
pub fn merge<'a>(
    user: ObjectBounds,
    contributions: impl IntoIterator<Item = &'a ReplicaRecommendation>,
    now: Timestamp,
) -> MergedBounds {
    let mut max = user.max;
    let (mut base, mut replicas, mut floor) = (None, None, None);
    for one in contributions.into_iter().filter(|one| one.counts(now)) {
        max = max.max(one.max.unwrap_or(max));
        replicas = replicas.max(one.replicas.map(|count| one.ranked(count)));
        if one.replaces() {
            base = base.max(one.min.map(|min| one.ranked(min)));
        } else {
            floor = floor.max(one.min);
        }
    }
    let base = base.map(|base| base.replicas).or(user.min);
    let min = base.max(floor.map(|floor| floor.min(max)));
    let changed = ObjectBounds { min, max };
    MergedBounds {
        bounds: if changed == user {
            user
        } else {
            changed.with_min_within_max()
        },
        replicas: replicas.map(|asked| asked.replicas),
    }
}

/// The contributions to the bounds of one object, at most one by each contributor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contributions(BTreeMap<Contributor, ReplicaRecommendation>);

impl Contributions {
    /// All contributions, ended ones among them until [`Self::expire`], in the order of their
    /// contributors.
    pub fn iter(&self) -> impl Iterator<Item = &ReplicaRecommendation> {
        self.0.values()
    }

    /// True if there is no contribution.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The contribution of one contributor, ended or not.
    pub fn of(&self, who: &Contributor) -> Option<&ReplicaRecommendation> {
        self.0.get(who)
    }

    /// Replaces the contributor's former contribution. A repeated one moves the end only once half
    /// of the time to the new end is over. So a request at every tick does not cause a write at
    /// every tick.
    pub fn contribute(&mut self, mut new: ReplicaRecommendation, now: Timestamp) {
        new.until = new.until.min(latest_end(now));
        let old = self.0.get(&new.who);
        if !old.is_some_and(|old| old.stands_for(&new, now)) {
            self.0.insert(new.who.clone(), new);
        }
    }

    /// Removes the contribution of one contributor; without one nothing changes.
    pub fn withdraw(&mut self, who: &Contributor) {
        self.0.remove(who);
    }

    /// Removes the contributions that have ended at `now`, and shortens ends that are too far away:
    /// a live contributor renews them.
    pub fn expire(&mut self, now: Timestamp) {
        self.0.retain(|_, contribution| contribution.counts(now));
        for contribution in self.0.values_mut() {
            contribution.until = contribution.until.min(latest_end(now));
        }
    }

    /// True where both ask for the same and differ at most in their ends.
    pub(super) fn ask_as(&self, other: &Self) -> bool {
        let pairs = self.iter().zip(other.iter());
        self.0.len() == other.0.len() && pairs.into_iter().all(|(a, b)| a.asks_as(b))
    }
}

/// The latest end that a contribution may have at `now`.
fn latest_end(now: Timestamp) -> Timestamp {
    now.checked_add(LONGEST).unwrap_or(Timestamp::MAX)
}

impl FromIterator<ReplicaRecommendation> for Contributions {
    /// Of several by one contributor, the last.
    fn from_iter<I: IntoIterator<Item = ReplicaRecommendation>>(all: I) -> Self {
        let named = all.into_iter().map(|one| (one.who.clone(), one));
        Self(named.collect())
    }
}

#[cfg(test)]
mod tests;
