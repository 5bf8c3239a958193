//! The bounds of one target's object, the record of the user's bounds, and the write that follows.
//!
//! The record and the bounds are written together, so every leader reads the same. A record that another
//! field manager wrote counts as none. While a record cannot be read, prediction is withdrawn and the record
//! stays. If a record disappears between two plans, its user bounds still count, because a client that
//! replaces the whole object removes annotations, too. Only `off` or opting out ends that.

mod update;

use std::cmp::Reverse;

use jiff::{SignedDuration, Timestamp};

use self::update::RecordChange;
pub(crate) use self::update::{BoundsUpdate, FloorChange};
use evenkeel_objects::bounds::ObjectBounds;
use evenkeel_objects::plan::conditional_patch::ConditionalPatch;

use super::owner::Owner;
use crate::bounds_record::annotation::{BoundsAnnotation, BoundsAnnotationError};
use crate::bounds_record::contributions::Contributions;
use crate::merge::recommendation::{Provider, Recommendation};
use crate::recommend::decision::Floor;
use crate::specs::scaling_policy::ScalingPolicy;

/// The longest pause between two plans over which the memory of the former counts, such as that of a
/// record that has gone from its object since.
pub(crate) const REMEMBERED: SignedDuration = SignedDuration::from_mins(1);

/// The number of characters of a parse error that are shown. It quotes the record, which any user may
/// have written, and stands in an annotation.
const QUOTED: usize = 300;

/// The most CronHPAs with contributions in a record, which has limited room. If there are more, those
/// that ask for the most replicas stay.
const MOST_CRONS: usize = 8;

/// The bounds of an object as they were found, with their record.
#[derive(Debug, Clone, PartialEq)]
pub struct ObservedBounds {
    found: ObjectBounds,
    /// The record as the annotation has it.
    written: Option<BoundsAnnotation>,
    /// The record with the edits since it was written.
    annotation: BoundsAnnotation,
    refused: Option<RefusedRecord>,
    /// True where the user's bounds are known from a record that was there before the refused one.
    is_remembered: bool,
}

/// Why the record of an object is taken for none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedRecord {
    /// The kind of error.
    pub reason: &'static str,
    /// The error, without a long quote of the record.
    pub error: String,
    is_foreign: bool,
}

impl From<BoundsAnnotationError> for RefusedRecord {
    fn from(error: BoundsAnnotationError) -> Self {
        Self {
            reason: error.reason(),
            error: error.to_string().chars().take(QUOTED).collect(),
            is_foreign: matches!(error, BoundsAnnotationError::Foreign),
        }
    }
}

impl ObservedBounds {
    /// Reads the bounds of `owner`; `None` where it has none. `remembered` is the record that it had
    /// a moment ago.
    pub fn read(
        owner: &Owner<'_>,
        remembered: Option<&BoundsAnnotation>,
        now: Timestamp,
    ) -> Option<Self> {
        let found = owner.bounds?;
        let (written, refused) = match owner.record() {
            None => (None, None),
            Some(Ok(written)) => (Some(written), None),
            Some(Err(error)) => (None, Some(RefusedRecord::from(error))),
        };
        // A damaged record was Evenkeel's own: no other record says what became of the bounds in it.
        let damaged = refused.as_ref().is_some_and(|refused| !refused.is_foreign);
        let remembered = remembered.filter(|_| written.is_none() && !damaged);
        let mut annotation = match (&written, remembered) {
            (Some(written), _) => written.clone(),
            (None, Some(remembered)) => {
                let mut annotation = remembered.clone();
                annotation.forget_others();
                annotation
            }
            (None, None) => BoundsAnnotation::of_user(found),
        };
        annotation.record.observe(found, now);
        Some(Self {
            found,
            written,
            annotation,
            refused,
            is_remembered: remembered.is_some(),
        })
    }

    /// The same where the user's bounds stand in annotations, so that Git can leave the fields out and
    /// still change them: they count before the fields. What the object could not have is left out. Of a workload
    /// they are the bounds of mode direct, and say nothing of its count.
    pub fn with_annotated(mut self, owner: &Owner<'_>) -> Self {
        if owner.has_count() {
            return self;
        }
        let (policy, _) = ScalingPolicy::parse(&owner.metadata.annotations);
        let user = &mut self.annotation.record.user;
        let min = policy.min_replicas.filter(|&min| min >= owner.least);
        let wanted = ObjectBounds {
            min: min.or(user.min),
            max: policy.max_replicas.unwrap_or(user.max),
        };
        if wanted.min.unwrap_or(1) <= wanted.max {
            *user = wanted;
        }
        self
    }

    /// The bounds as the object has them.
    pub const fn found(&self) -> ObjectBounds {
        self.found
    }

    /// The user's own bounds.
    pub const fn user(&self) -> ObjectBounds {
        self.annotation.record.user
    }

    /// The bounds within which prediction decides: the user's own, with the least that is left of them
    /// where a schedule lowers it. What raises it does not count: it may end before the next tick.
    pub(crate) fn predicted_within(&self, now: Timestamp) -> ObjectBounds {
        let record = &self.annotation.record;
        let replaced = record.beneath_floors(now).min;
        let ObjectBounds { min, max } = self.user();
        let lowered = replaced.filter(|replaced| *replaced < min.unwrap_or(1));
        ObjectBounds {
            min: lowered.or(min),
            max,
        }
    }

    /// True where the object has the user's own bounds.
    pub(crate) fn are_users(&self) -> bool {
        self.found == self.user()
    }

    /// The record as the annotation has it.
    pub const fn written(&self) -> Option<&BoundsAnnotation> {
        self.written.as_ref()
    }

    /// True where the field is left to another writer.
    pub(crate) const fn is_contested(&self) -> bool {
        self.annotation.record.contested
    }

    /// Until when the field is left to another writer; `None` where it is not.
    pub(crate) fn contested_until(&self, now: Timestamp) -> Option<Timestamp> {
        let record = &self.annotation.record;
        record.contest.until(now).filter(|_| record.contested)
    }

    /// Why the record is taken for none; `None` where it is one, there is none, or the one before
    /// it is remembered.
    pub const fn refused(&self) -> Option<&RefusedRecord> {
        if self.is_remembered {
            return None;
        }
        self.refused.as_ref()
    }

    /// True for a record of Evenkeel's that has been damaged since: the user's own bounds are not known any
    /// more.
    pub(crate) fn is_damaged(&self) -> bool {
        self.refused
            .as_ref()
            .is_some_and(|refused| !refused.is_foreign)
    }

    /// The floor that prediction holds at `now`.
    pub fn floor(&self, now: Timestamp) -> Option<Floor> {
        let contributions = &self.annotation.record.contributions;
        let contribution = contributions.of(&Provider::Prediction)?;
        let until = contribution.until?;
        let counts = now < until && !self.is_contested();
        Some(Floor {
            replicas: contribution.min().filter(|_| counts)?,
            until,
        })
    }

    /// The contribution of one contributor, ended or not.
    pub fn contribution(&self, who: &Provider) -> Option<&Recommendation> {
        self.annotation.record.contributions.of(who)
    }

    /// The bounds with these contributions of CronHPAs, and without those of all others.
    pub(crate) fn with_crons(mut self, mut wanted: Vec<Recommendation>, now: Timestamp) -> Self {
        // A record that is damaged is first written anew.
        if self.is_damaged() {
            return self;
        }
        wanted.sort_by_key(|one| Reverse(one.min()));
        wanted.truncate(MOST_CRONS);
        let contributions = &mut self.annotation.record.contributions;
        let gone: Vec<Provider> = crons(contributions)
            .filter(|one| !wanted.iter().any(|other| other.by == one.by))
            .map(|one| one.by.clone())
            .collect();
        for who in &gone {
            contributions.withdraw(who);
        }
        for one in wanted {
            self.annotation.record.contribute(one, now);
        }
        self
    }

    /// The replicas that CronHPAs ask for, in words, if they differ from the record or hold against another
    /// count; `None` if nothing has changed.
    pub(crate) fn cron_note(&self) -> Option<String> {
        let none = Contributions::default();
        let written = self.written.as_ref();
        let before = written.map_or(&none, |written| &written.record.contributions);
        let before = asked(before);
        let now = asked(&self.annotation.record.contributions);
        if now.is_empty() {
            return (!before.is_empty())
                .then(|| "no CronHPA asks for replicas any more".to_owned());
        }
        let holds = self.found.is_count() && !self.is_contested();
        (holds || before != now).then(|| now.join("; "))
    }

    /// The bounds with the contribution of prediction, or without any at present.
    pub(crate) fn contribute(&self, by: Option<&Recommendation>, now: Timestamp) -> BoundsUpdate {
        if self.is_damaged() {
            return self.withdraw(now);
        }
        let with = by.filter(|_| !self.is_contested()).and_then(|by| {
            let mut annotation = self.annotation.clone();
            if self.refused.is_some() {
                // A text that does not change stays that of its writer.
                let contributions = &mut annotation.record.contributions;
                contributions.withdraw(&Provider::Prediction);
            }
            annotation.record.contribute(by.clone(), now);
            // The others may have left no room for it.
            ReconciledBounds::new(annotation, now)
        });
        let settled = with.or_else(|| {
            let mut annotation = self.annotation.clone();
            // Prediction still takes part: a contest goes on.
            let contributions = &mut annotation.record.contributions;
            contributions.withdraw(&Provider::Prediction);
            ReconciledBounds::new(annotation, now)
        });
        self.update(settled)
    }

    /// The bounds once prediction no longer takes part: the user's own, and the contributions of all
    /// others.
    pub(crate) fn withdraw(&self, now: Timestamp) -> BoundsUpdate {
        let mut annotation = self.annotation.clone();
        annotation.record.withdraw(&Provider::Prediction);
        self.update(ReconciledBounds::new(annotation, now))
    }

    /// The bounds with every contribution up to its own end, that of prediction too.
    pub(crate) fn keep(&self, now: Timestamp) -> BoundsUpdate {
        self.update(ReconciledBounds::new(self.annotation.clone(), now))
    }

    /// The user's own bounds and no record, whatever contributes. `None` where the record is damaged:
    /// it stays, so that an operator can read from it what the user had.
    pub(crate) fn restore(&self) -> Option<BoundsUpdate> {
        (!self.is_damaged()).then(|| self.update(None))
    }

    /// The bounds as they are, and no record: the next owner of the count does not need the user's bounds. A
    /// count of 0 becomes the user's again, because an HPA leaves a workload without replicas alone. `None`
    /// where there is no record to remove.
    pub(crate) fn release(&self) -> Option<BoundsUpdate> {
        let none = self.found.min == Some(0);
        self.written.as_ref().map(|_| BoundsUpdate {
            found: self.found,
            bounds: if none { self.user() } else { self.found },
            record: RecordChange::Goes,
            only_renews: false,
        })
    }

    /// Puts the user's own bounds into the `patch` of their object, and takes the record away.
    pub fn put_back(&self, owner: &Owner<'_>, patch: &mut ConditionalPatch) {
        if let Some(update) = self.restore() {
            update.put(owner, patch);
        }
    }

    /// The change to what is settled; without that, to the user's own bounds and no record.
    fn update(&self, settled: Option<ReconciledBounds>) -> BoundsUpdate {
        let ReconciledBounds {
            annotation,
            bounds,
            text,
        } = settled.unwrap_or_else(|| ReconciledBounds::of_user(self.user()));
        let same_but_for_time = |written: &BoundsAnnotation| {
            text.is_some() && bounds == self.found && written.differs_in_time_only(&annotation)
        };
        let only_renews = self.written.as_ref().is_some_and(same_but_for_time);
        let unchanged = match &self.written {
            Some(written) => text.is_some() && *written == annotation,
            None => text.is_none(),
        };
        BoundsUpdate {
            found: self.found,
            bounds,
            record: match text {
                _ if unchanged && !self.is_damaged() => RecordChange::Stays,
                Some(text) => RecordChange::Written(text),
                None => RecordChange::Goes,
            },
            only_renews,
        }
    }
}

/// The contributions of CronHPAs.
fn crons(contributions: &Contributions) -> impl Iterator<Item = &Recommendation> {
    let is_cron = |one: &&Recommendation| matches!(one.by, Provider::Cron(_));
    contributions.iter().filter(is_cron)
}

/// The requests of CronHPAs, in words.
fn asked(contributions: &Contributions) -> Vec<String> {
    let asked = crons(contributions).filter_map(|one| match &one.by {
        Provider::Cron(name) => Some(format!("CronHPA {name} asks for {} replicas", one.min()?)),
        Provider::Prediction | Provider::Other(_) => None,
    });
    asked.collect()
}

/// A record with the bounds that follow from it.
struct ReconciledBounds {
    annotation: BoundsAnnotation,
    bounds: ObjectBounds,
    /// The text of the annotation; `None` where it goes.
    text: Option<String>,
}

impl ReconciledBounds {
    /// The bounds of a record at `now`; `None` where the record would not be read again.
    fn new(mut annotation: BoundsAnnotation, now: Timestamp) -> Option<Self> {
        let bounds = annotation.settle(now);
        let text = annotation.to_text().ok()?;
        Some(Self {
            annotation,
            bounds,
            text,
        })
    }

    fn of_user(user: ObjectBounds) -> Self {
        Self {
            annotation: BoundsAnnotation::of_user(user),
            bounds: user,
            text: None,
        }
    }
}
