//! The record of an object's bounds as the JSON of the annotation `evenkeel.dev/bounds`. Fields of
//! other versions are kept as text. A contribution of an unknown contributor counts by its known
//! fields until its end; an unreadable or invalid contribution is kept without effect. Any user who
//! may write the object can write the annotation, and every tick reads it. So a record is refused,
//! before parsing, if it is too long, and afterwards if no object can have its bounds. The managed
//! fields ([`evenkeel_objects::managed_fields`]) show if Evenkeel wrote it.

mod raw_values;

use std::collections::BTreeMap;

use evenkeel_objects::annotations::BOUNDS;
use evenkeel_objects::bounds::{BoundsError, ObjectBounds};
use evenkeel_objects::managed_fields::MANAGER;
use evenkeel_objects::meta::Meta;
use jiff::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Serialize};

use self::raw_values::{RawBoundsValue, RawFields, take};
use super::BoundsRecord;
use super::contest::{Contest, ContestPause};
use crate::merge::recommendation::{Ask, Provider, Recommendation};

/// The most bytes of a record. Sixteen contributions of 100 bytes fit, by contributors with names
/// of 150; Kubernetes allows 253, and few are longer than 60.
const LONGEST: usize = 4096;

/// The most contributions in a record. A schedule is one, and an object has a handful of them.
const MOST_CONTRIBUTIONS: usize = 16;

/// An annotation that holds no record of bounds.
#[derive(Debug, thiserror::Error)]
pub enum BoundsAnnotationError {
    /// The text is not what a record is written as.
    #[error("the record of the bounds does not parse: {0}")]
    Json(#[from] serde_json::Error),
    /// The text has this many bytes.
    #[error("the record of the bounds has {0} bytes, more than the {LONGEST} that are read")]
    TooLong(usize),
    #[error("the record of the bounds has {0} contributions, more than {MOST_CONTRIBUTIONS}")]
    TooMany(usize),
    #[error("the record of the bounds is invalid: {0}")]
    Nonsense(#[from] BoundsError),
    /// Another writer wrote the record, by the object's managed fields.
    #[error("the record of the bounds was not written by {MANAGER}")]
    Foreign,
}

impl BoundsAnnotationError {
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Json(_) | Self::TooLong(_) | Self::TooMany(_) => "OwnershipRecord",
            Self::Nonsense(_) => "SenselessRecord",
            Self::Foreign => "ForeignRecord",
        }
    }
}

/// The record of an object's bounds, with everything beside it that the annotation holds.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundsAnnotation {
    pub record: BoundsRecord,
    unknown: UnknownBoundsFields,
}

/// The parts of an annotation that are not known here.
#[derive(Debug, Clone, Default, PartialEq)]
struct UnknownBoundsFields {
    record: RawFields,
    user: RawFields,
    written: RawFields,
    /// The fields that are not known of contributions of known contributors.
    fields: BTreeMap<Provider, RawFields>,
    /// The contributions of contributors that are not known, and those that cannot be read.
    contributions: BTreeMap<Provider, RawBoundsValue>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RecordJson<'a> {
    user: WithUnknown<'a, BoundsJson>,
    written: WithUnknown<'a, BoundsJson>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    contributions: BTreeMap<String, RawBoundsValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    undone: Option<Timestamp>,
    contested: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    left_for: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left_until: Option<Timestamp>,
    #[serde(flatten)]
    unknown: &'a RawFields,
}

#[derive(Serialize)]
struct WithUnknown<'a, T> {
    #[serde(flatten)]
    known: T,
    #[serde(flatten)]
    unknown: &'a RawFields,
}

#[derive(Serialize, Deserialize)]
struct BoundsJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    min: Option<i32>,
    max: i32,
}

#[derive(Serialize, Deserialize)]
struct ContributionJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    min: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<i32>,
    until: Timestamp,
}

impl BoundsAnnotation {
    pub fn of_user(user: ObjectBounds) -> Self {
        Self {
            record: BoundsRecord::of_user(user),
            unknown: UnknownBoundsFields::default(),
        }
    }

    /// The record on an object; `None` if it has none.
    ///
    /// # Errors
    /// A record that another writer wrote, and those of [`Self::parse`].
    pub fn of(metadata: &Meta) -> Option<Result<Self, BoundsAnnotationError>> {
        let text = metadata.annotation(BOUNDS)?;
        Some(if metadata.own_records.bounds {
            Self::parse(text)
        } else {
            Err(BoundsAnnotationError::Foreign)
        })
    }

    /// The record in the text of an annotation.
    ///
    /// # Errors
    /// Text that is too long, is no such record, has too many contributions, or bounds that no
    /// object can have.
    pub fn parse(text: &str) -> Result<Self, BoundsAnnotationError> {
        if text.len() > LONGEST {
            return Err(BoundsAnnotationError::TooLong(text.len()));
        }
        let mut fields: RawFields = serde_json::from_str(text)?;
        let (user, user_fields) = take_bounds(&mut fields, "user")?;
        let (written, written_fields) = take_bounds(&mut fields, "written")?;
        let contributions: BTreeMap<String, RawBoundsValue> = take(&mut fields, "contributions");
        if contributions.len() > MOST_CONTRIBUTIONS {
            return Err(BoundsAnnotationError::TooMany(contributions.len()));
        }
        let mut annotation = Self::of_user(user);
        annotation.record.written = written;
        let left_for: Option<i64> = take(&mut fields, "leftFor");
        let rest = left_for.zip(take(&mut fields, "leftUntil"));
        annotation.record.contest = Contest {
            undone: take(&mut fields, "undone"),
            rest: rest.and_then(|(seconds, until)| ContestPause::written(seconds, until)),
        };
        annotation.record.contested = take(&mut fields, "contested");
        annotation.take_contributions(contributions);
        let unknown = &mut annotation.unknown;
        (unknown.user, unknown.written) = (user_fields, written_fields);
        unknown.record = fields;
        annotation.record.check()?;
        Ok(annotation)
    }

    /// The record, with counts of at least `least`. The HPA may use other metrics since, which no
    /// longer allow the user's former 0.
    pub(crate) fn with_least(mut self, least: i32) -> Self {
        let min = &mut self.record.user.min;
        *min = min.map(|min| min.max(least));
        self
    }

    /// The end of the last contribution. `None` without contributions, or if one is unreadable.
    pub fn held_until(&self) -> Option<Timestamp> {
        let until = self.record.held_until();
        until.filter(|_| self.unreadable().next().is_none())
    }

    fn take_contributions(&mut self, contributions: BTreeMap<String, RawBoundsValue>) {
        let mut readable = Vec::new();
        for (name, raw) in contributions {
            let who = Provider::from(name.as_str());
            let contribution = ContributionJson::read(&raw, who.clone());
            match (&who, &contribution) {
                // A tick that wants one contributes anew.
                (Provider::Prediction, None) => {}
                (Provider::Other(_), _) | (_, None) => {
                    self.unknown.contributions.insert(who, raw);
                }
                (_, Some(_)) => {
                    let rest = ContributionJson::unknown(&raw);
                    if !rest.is_empty() {
                        self.unknown.fields.insert(who, rest);
                    }
                }
            }
            readable.extend(contribution);
        }
        self.record.contributions = readable.into_iter().collect();
    }

    /// The text of the annotation; `None` if there is nothing to keep, and the annotation goes.
    ///
    /// # Errors
    /// A record that would not be read again: it is too long, has too many contributions, or
    /// invalid bounds.
    ///
    /// # Panics
    /// Never: the record has nothing that JSON cannot hold.
    pub fn to_text(&self) -> Result<Option<String>, BoundsAnnotationError> {
        let contributions = self.record.contributions.iter().count() + self.unreadable().count();
        if !self.record.is_needed() && contributions == 0 {
            return Ok(None);
        }
        if contributions > MOST_CONTRIBUTIONS {
            return Err(BoundsAnnotationError::TooMany(contributions));
        }
        self.record.check()?;
        let text = serde_json::to_string(&self.json()).expect("the keys are texts");
        if text.len() > LONGEST {
            return Err(BoundsAnnotationError::TooLong(text.len()));
        }
        Ok(Some(text))
    }

    pub(crate) fn differs_in_time_only(&self, other: &Self) -> bool {
        self.record.differs_in_time_only(&other.record) && self.unknown == other.unknown
    }

    /// Removes the contributions that have ended ([`BoundsRecord::settle`]), with their unknown
    /// fields.
    pub fn settle(&mut self, now: Timestamp) -> ObjectBounds {
        let before = self.record.contributions.clone();
        let bounds = self.record.settle(now);
        let after = &self.record.contributions;
        let UnknownBoundsFields {
            fields,
            contributions,
            ..
        } = &mut self.unknown;
        fields.retain(|who, _| after.of(who).is_some());
        contributions.retain(|who, _| after.of(who).is_some() || before.of(who).is_none());
        bounds
    }

    pub(crate) fn forget_others(&mut self) {
        let prediction = self.record.contributions.of(&Provider::Prediction);
        self.record.contributions = prediction.cloned().into_iter().collect();
        self.unknown.contributions.clear();
        let is_prediction = |who: &Provider| *who == Provider::Prediction;
        self.unknown.fields.retain(|who, _| is_prediction(who));
    }

    /// The contributors with contributions that cannot be read. These have no effect and no end here, and
    /// stay as they are.
    fn unreadable(&self) -> impl Iterator<Item = &Provider> {
        let all = self.unknown.contributions.keys();
        all.filter(|who| self.record.contributions.of(who).is_none())
    }

    fn json(&self) -> RecordJson<'_> {
        let Self { record, unknown } = self;
        let unreadable = self.unreadable();
        let mut contributions: BTreeMap<_, _> = unreadable
            .map(|who| (who.to_string(), unknown.contributions[who].clone()))
            .collect();
        let readable = record.contributions.iter();
        contributions.extend(readable.map(|one| (one.by.to_string(), self.contribution(one))));
        RecordJson {
            user: BoundsJson::of(record.user, &unknown.user),
            written: BoundsJson::of(record.written, &unknown.written),
            contributions,
            undone: record.contest.undone,
            contested: record.contested,
            left_for: record.contest.rest.map(|rest| rest.length.as_secs()),
            left_until: record.contest.rest.map(|rest| rest.until),
            unknown: &unknown.record,
        }
    }

    /// A contribution as it is written: to the letter where its contributor is not known, but for an
    /// end that has been brought nearer.
    fn contribution(&self, one: &Recommendation) -> RawBoundsValue {
        let Recommendation { by: who, until, .. } = one;
        let kept = self.unknown.contributions.get(who);
        if let (Provider::Other(_), Some(kept)) = (who, kept) {
            let as_read = ContributionJson::read(kept, who.clone());
            if as_read.is_some_and(|read| read.until == *until) {
                return kept.clone();
            }
            let mut fields: RawFields = kept.read().unwrap_or_default();
            fields.insert("until".to_owned(), RawBoundsValue::of(until));
            return RawBoundsValue::of(&fields);
        }
        let none = RawFields::new();
        let unknown = self.unknown.fields.get(who).unwrap_or(&none);
        let known = ContributionJson::of(one);
        RawBoundsValue::of(&WithUnknown { known, unknown })
    }
}

fn take_bounds(
    fields: &mut RawFields,
    name: &'static str,
) -> Result<(ObjectBounds, RawFields), serde_json::Error> {
    let raw = fields.remove(name);
    let raw = raw.ok_or_else(|| serde_json::Error::missing_field(name))?;
    let BoundsJson { min, max } = raw.read()?;
    Ok((
        ObjectBounds { min, max },
        raw.fields_without(&["min", "max"]),
    ))
}

impl BoundsJson {
    fn of(ObjectBounds { min, max }: ObjectBounds, unknown: &RawFields) -> WithUnknown<'_, Self> {
        let known = Self { min, max };
        WithUnknown { known, unknown }
    }
}

impl ContributionJson {
    const KNOWN: [&str; 4] = ["min", "max", "priority", "until"];

    /// The contribution of this contributor, from its JSON; `None` if it cannot be read.
    fn read(raw: &RawBoundsValue, who: Provider) -> Option<Recommendation> {
        let Self {
            min,
            max,
            priority,
            until,
        } = raw.read().ok()?;
        let contribution = Recommendation {
            priority: priority.unwrap_or_else(|| who.default_priority()),
            by: who,
            ask: Ask::AtLeast { min, max },
            until: Some(until),
        };
        Some(contribution).filter(Recommendation::makes_sense)
    }

    fn unknown(raw: &RawBoundsValue) -> RawFields {
        raw.fields_without(&Self::KNOWN)
    }

    fn of(contribution: &Recommendation) -> Self {
        let Recommendation {
            by,
            priority,
            ask,
            until,
        } = contribution;
        let (min, max) = match *ask {
            Ask::AtLeast { min, max } => (min, max),
            // A record holds bounds alone.
            Ask::Exactly(_) | Ask::Unavailable(_) => (None, None),
        };
        Self {
            min,
            max,
            priority: Some(*priority).filter(|given| *given != by.default_priority()),
            until: until.unwrap_or(Timestamp::MAX),
        }
    }
}

#[cfg(test)]
mod tests;
