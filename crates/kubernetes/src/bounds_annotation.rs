//! The record of an object's bounds as the JSON of the annotation `evenkeel.dev/bounds`.
//!
//! Another version of the program may have written more than this one knows. Contributions of
//! contributors that are not known are kept as they are, and so are fields that are not known, so
//! that going back and forth between versions loses nobody's bounds. A contribution of an unknown
//! contributor counts as far as it has the known fields, until its own end.

use std::collections::BTreeMap;

use evenkeel_core::scaling::ObjectBounds;
use evenkeel_core::scaling::bounds_record::BoundsRecord;
use evenkeel_core::scaling::contribution::{Contribution, Contributor};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The fields of a JSON object that are not known here.
type Fields = Map<String, Value>;

/// An annotation that holds no record of bounds.
#[derive(Debug, thiserror::Error)]
#[error("the record of the bounds does not parse: {0}")]
pub struct BoundsAnnotationError(#[from] serde_json::Error);

impl BoundsAnnotationError {
    /// The kind of error, for conditions, Events and metrics.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        "OwnershipRecord"
    }
}

/// The record of an object's bounds, with everything beside it that the annotation holds.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundsAnnotation {
    /// The record itself, see [`BoundsRecord`].
    pub record: BoundsRecord,
    unknown: Unknown,
}

/// The parts of an annotation that are not known here.
#[derive(Debug, Clone, Default, PartialEq)]
struct Unknown {
    record: Fields,
    user: Fields,
    written: Fields,
    /// By contributor: all fields of a contributor that is not known, else the fields that are not.
    contributions: BTreeMap<Contributor, Fields>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordJson {
    user: BoundsJson,
    written: BoundsJson,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    contributions: BTreeMap<String, Fields>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    undone: Option<Timestamp>,
    #[serde(default)]
    contested: bool,
    #[serde(flatten)]
    unknown: Fields,
}

#[derive(Serialize, Deserialize)]
struct BoundsJson {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    min: Option<i32>,
    max: i32,
    #[serde(flatten)]
    unknown: Fields,
}

#[derive(Serialize, Deserialize)]
struct ContributionJson {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    min: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replicas: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    priority: Option<i32>,
    until: Timestamp,
    #[serde(flatten)]
    unknown: Fields,
}

impl BoundsAnnotation {
    /// The record of an object that only its user has written so far.
    #[must_use]
    pub fn of_user(user: ObjectBounds) -> Self {
        Self {
            record: BoundsRecord::of_user(user),
            unknown: Unknown::default(),
        }
    }

    /// The record in the text of an annotation.
    ///
    /// # Errors
    /// Text that is no such record, and contributions of a known contributor that do not parse.
    pub fn parse(text: &str) -> Result<Self, BoundsAnnotationError> {
        let RecordJson {
            user,
            written,
            contributions,
            undone,
            contested,
            unknown,
        } = serde_json::from_str(text)?;
        let (mut known, mut unknown_parts) = (Vec::new(), BTreeMap::new());
        for (name, fields) in contributions {
            let who = Contributor::from(name.as_str());
            let is_known = !matches!(who, Contributor::Other(_));
            match ContributionJson::deserialize(Value::Object(fields.clone())) {
                Ok(json) => {
                    let rest = if is_known {
                        json.unknown.clone()
                    } else {
                        fields
                    };
                    known.push(json.contribution(who.clone()));
                    if !rest.is_empty() {
                        unknown_parts.insert(who, rest);
                    }
                }
                Err(error) if is_known => return Err(error.into()),
                Err(_) => {
                    unknown_parts.insert(who, fields);
                }
            }
        }
        Ok(Self {
            record: BoundsRecord {
                user: user.bounds(),
                written: written.bounds(),
                contributions: known.into_iter().collect(),
                undone,
                contested,
            },
            unknown: Unknown {
                record: unknown,
                user: user.unknown,
                written: written.unknown,
                contributions: unknown_parts,
            },
        })
    }

    /// The text of the annotation; `None` where the record says nothing that has to be kept, and the
    /// annotation goes.
    ///
    /// # Panics
    /// Never: the record has nothing that JSON cannot hold.
    #[must_use]
    pub fn to_text(&self) -> Option<String> {
        let needed = self.record.is_needed() || self.unreadable().next().is_some();
        let text = || serde_json::to_string(&self.json()).expect("the keys are texts");
        needed.then(text)
    }

    /// True where both say the same and differ at most in the ends of contributions.
    #[must_use]
    pub fn differs_in_time_only(&self, other: &Self) -> bool {
        self.record.differs_in_time_only(&other.record) && self.unknown == other.unknown
    }

    /// Removes the contributions that have ended, as [`BoundsRecord::settle`], with all that was
    /// kept of them.
    pub fn settle(&mut self, now: Timestamp) -> ObjectBounds {
        let unreadable: Vec<_> = self.unreadable().cloned().collect();
        let bounds = self.record.settle(now);
        let kept = |who: &Contributor| {
            self.record.contributions.of(who).is_some() || unreadable.contains(who)
        };
        self.unknown.contributions.retain(|who, _| kept(who));
        bounds
    }

    /// The unknown contributors whose contributions cannot be read: they have no effect and no end
    /// here, and stay as they are.
    fn unreadable(&self) -> impl Iterator<Item = &Contributor> {
        let all = self.unknown.contributions.keys();
        all.filter(|who| {
            matches!(who, Contributor::Other(_)) && self.record.contributions.of(who).is_none()
        })
    }

    fn json(&self) -> RecordJson {
        let Self { record, unknown } = self;
        let mut contributions: BTreeMap<_, _> = self
            .unreadable()
            .map(|who| (who.to_string(), unknown.contributions[who].clone()))
            .collect();
        for contribution in record.contributions.iter() {
            let rest = unknown.contributions.get(&contribution.who).cloned();
            let fields = match (&contribution.who, rest) {
                (Contributor::Other(_), Some(fields)) => fields,
                (_, rest) => ContributionJson::of(contribution, rest.unwrap_or_default()).fields(),
            };
            contributions.insert(contribution.who.to_string(), fields);
        }
        RecordJson {
            user: BoundsJson::of(record.user, &unknown.user),
            written: BoundsJson::of(record.written, &unknown.written),
            contributions,
            undone: record.undone,
            contested: record.contested,
            unknown: unknown.record.clone(),
        }
    }
}

impl BoundsJson {
    fn of(ObjectBounds { min, max }: ObjectBounds, unknown: &Fields) -> Self {
        let unknown = unknown.clone();
        Self { min, max, unknown }
    }

    const fn bounds(&self) -> ObjectBounds {
        ObjectBounds {
            min: self.min,
            max: self.max,
        }
    }
}

impl ContributionJson {
    fn of(contribution: &Contribution, unknown: Fields) -> Self {
        let Contribution {
            who,
            min,
            max,
            replicas,
            priority,
            until,
        } = contribution;
        Self {
            min: *min,
            max: *max,
            replicas: *replicas,
            priority: Some(*priority).filter(|given| *given != who.default_priority()),
            until: *until,
            unknown,
        }
    }

    fn contribution(&self, who: Contributor) -> Contribution {
        Contribution {
            priority: self.priority.unwrap_or_else(|| who.default_priority()),
            who,
            min: self.min,
            max: self.max,
            replicas: self.replicas,
            until: self.until,
        }
    }

    fn fields(&self) -> Fields {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields,
            _ => unreachable!("a contribution is a JSON object"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    const fn bounds(min: i32, max: i32) -> ObjectBounds {
        ObjectBounds {
            min: Some(min),
            max,
        }
    }

    /// A floor of 6 above a least of 2, until second 600.
    fn floored() -> BoundsAnnotation {
        let mut annotation = BoundsAnnotation::of_user(bounds(2, 10));
        let floor = Contribution::of_prediction(6, at(600));
        annotation.record.contribute(floor, at(0));
        annotation.settle(at(0));
        annotation
    }

    #[test]
    fn the_record_is_what_it_was_written_as() {
        let mut annotation = floored();
        let cron = Contribution {
            who: Contributor::Cron("a/b".to_owned()),
            min: None,
            max: Some(12),
            priority: 1,
            ..Contribution::of_prediction(0, at(9))
        };
        annotation.record.contribute(cron, at(0));
        let text = annotation.to_text().unwrap();
        assert_eq!(
            text,
            concat!(
                r#"{"user":{"min":2,"max":10},"written":{"min":6,"max":10},"contributions":{"#,
                r#""cron/a/b":{"max":12,"until":"1970-01-01T00:00:09Z"},"#,
                r#""prediction":{"min":6,"until":"1970-01-01T00:10:00Z"}},"contested":false}"#
            )
        );
        assert_eq!(BoundsAnnotation::parse(&text).unwrap(), annotation);
        let damaged = text.replace(r#"{"min":6,"until""#, r#"{"min":"6","until""#);
        for refused in ["", "{}", &damaged] {
            let error = BoundsAnnotation::parse(refused).unwrap_err();
            assert_eq!(error.reason(), "OwnershipRecord", "{refused}");
        }
    }

    #[test]
    fn a_record_that_says_nothing_goes() {
        let mut annotation = floored();
        assert_eq!(annotation.record.restore(), bounds(2, 10));
        assert_eq!(annotation.to_text(), None);
    }

    /// A record of a later version: another contributor, other fields everywhere.
    const LATER: &str = concat!(
        r#"{"user":{"min":2,"max":10,"step":3},"written":{"min":8,"max":10},"contributions":{"#,
        r#""plan/x":{"how":[1,2]},"#,
        r#""portrait/web":{"min":8,"until":"1970-01-01T00:20:00.000Z","stage":"canary"},"#,
        r#""prediction":{"min":6,"until":"1970-01-01T00:10:00Z","model":"trees"}},"#,
        r#""contested":false,"version":2}"#
    );

    fn json(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn all_that_a_later_version_wrote_is_kept_as_it_is() {
        let mut annotation = BoundsAnnotation::parse(LATER).unwrap();
        let mut expected = json(LATER);
        assert_eq!(json(&annotation.to_text().unwrap()), expected);
        annotation.record.withdraw(&Contributor::Prediction);
        assert_eq!(annotation.settle(at(0)), bounds(8, 10), "it counts as well");
        let contributions = expected["contributions"].as_object_mut().unwrap();
        contributions.remove("prediction");
        assert_eq!(json(&annotation.to_text().unwrap()), expected);
        assert_eq!(annotation.settle(at(1200)), bounds(2, 10), "it has ended");
        expected["written"]["min"] = 2.into();
        expected["contributions"]
            .as_object_mut()
            .unwrap()
            .remove("portrait/web");
        assert_eq!(json(&annotation.to_text().unwrap()), expected);
    }

    #[test]
    fn who_renews_a_floor_keeps_the_fields_of_others() {
        let mut annotation = BoundsAnnotation::parse(LATER).unwrap();
        let floor = Contribution::of_prediction(6, at(1500));
        annotation.record.contribute(floor, at(900));
        let renewed = LATER.replace("00:10:00Z", "00:25:00Z");
        assert_eq!(json(&annotation.to_text().unwrap()), json(&renewed));
        let before = BoundsAnnotation::parse(LATER).unwrap();
        assert!(annotation.differs_in_time_only(&before));
    }

    proptest! {
        #[test]
        fn any_record_is_read_as_it_was_written(
            user in prop::option::of(0..9_i32),
            who in prop_oneof![Just("prediction".to_owned()), "cron/[a-z]{1,5}", "[a-z]{1,5}/x"],
            (min, max, replicas) in (
                prop::option::of(0..9_i32),
                prop::option::of(0..9_i32),
                prop::option::of(0..9_i32),
            ),
            priority in -2..3_i32,
            until in 0..1000_i64,
        ) {
            let mut annotation = BoundsAnnotation::of_user(ObjectBounds { min: user, max: 9 });
            let who = Contributor::from(who.as_str());
            let one = Contribution { who, min, max, replicas, priority, until: at(until) };
            annotation.record.contribute(one, at(0));
            let read = BoundsAnnotation::parse(&annotation.to_text().unwrap()).unwrap();
            prop_assert_eq!(&read.record, &annotation.record);
            prop_assert_eq!(read.to_text(), annotation.to_text());
        }
    }
}
