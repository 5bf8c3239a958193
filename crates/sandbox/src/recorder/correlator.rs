//! Which Events are the same, similar, or too many: rules and numbers of client-go's correlator.

use std::collections::{HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};

use super::event_note::{Note, NoteSeverity};

/// So many that differ only in text, within [`ALIKE_SPAN`], become one.
const ALIKE: usize = 10;
const ALIKE_SPAN: SignedDuration = SignedDuration::from_mins(10);
/// Prefix of a text that stands for many.
const COMBINED: &str = "(combined from similar events): ";
/// Events that an object may cause at once, with one more in each [`REFILL`].
const BURST: i64 = 25;
const REFILL: SignedDuration = SignedDuration::from_mins(5);
/// Most entries of each sort; beyond that all are forgotten.
const REMEMBERED: usize = 4_096;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CorrelatedEvent {
    pub(super) name: String,
    pub(super) count: i32,
    pub(super) message: String,
}

type EventObjectKey = (Option<String>, Option<String>, Option<String>);
type EventAggregateKey = (EventObjectKey, NoteSeverity, &'static str);

/// Texts of one kind since a time.
#[derive(Debug)]
struct SimilarEvents {
    since: Timestamp,
    messages: HashSet<String>,
}

#[derive(Debug, Default)]
pub(super) struct Correlator {
    written: HashMap<(EventAggregateKey, String), CorrelatedEvent>,
    alike: HashMap<EventAggregateKey, SimilarEvents>,
    /// Remaining Events of an object, and since when.
    budgets: HashMap<EventObjectKey, (i64, Timestamp)>,
}

impl Correlator {
    /// `None` if the object has caused too many.
    pub(super) fn correlate(&mut self, note: &Note) -> Option<CorrelatedEvent> {
        let about = &note.about;
        let object = (
            about.kind.clone(),
            about.namespace.clone(),
            about.uid.clone(),
        );
        let kind = (object.clone(), note.severity, note.reason);
        let combined = self.is_one_of_many(&kind, note);
        if !self.spend(object, note.at) {
            return None;
        }
        let key = if combined { COMBINED } else { &note.message };
        let key = (kind, key.to_owned());
        bound(&mut self.written);
        let name = about.name.as_deref().unwrap_or_default();
        let next = self.written.get(&key).map_or_else(
            || CorrelatedEvent {
                name: format!("{name}.{:x}", note.at.as_nanosecond()),
                count: 1,
                message: String::new(),
            },
            |before| CorrelatedEvent {
                count: before.count.saturating_add(1),
                ..before.clone()
            },
        );
        let outcome = CorrelatedEvent {
            message: if combined {
                format!("{COMBINED}{}", note.message)
            } else {
                note.message.clone()
            },
            ..next
        };
        self.written.insert(key, outcome.clone());
        Some(outcome)
    }

    fn is_one_of_many(&mut self, kind: &EventAggregateKey, note: &Note) -> bool {
        bound(&mut self.alike);
        let new = || SimilarEvents {
            since: note.at,
            messages: HashSet::new(),
        };
        let alike = self.alike.entry(kind.clone()).or_insert_with(new);
        if note.at.duration_since(alike.since) > ALIKE_SPAN {
            *alike = new();
        }
        alike.since = note.at;
        if alike.messages.len() < ALIKE {
            alike.messages.insert(note.message.clone());
        }
        alike.messages.len() >= ALIKE
    }

    fn spend(&mut self, object: EventObjectKey, now: Timestamp) -> bool {
        bound(&mut self.budgets);
        let (left, since) = self.budgets.entry(object).or_insert((BURST, now));
        let refills = now.duration_since(*since).as_secs() / REFILL.as_secs();
        if refills > 0 {
            *left = (*left + refills).min(BURST);
            *since = now;
        }
        *left -= 1;
        if *left < 0 {
            *left = 0;
            return false;
        }
        true
    }
}

fn bound<K, V>(map: &mut HashMap<K, V>) {
    if map.len() >= REMEMBERED {
        map.clear();
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ObjectReference;

    use super::*;

    fn note(message: &str, second: i64) -> Note {
        Note {
            about: ObjectReference {
                kind: Some("Pod".to_owned()),
                name: Some("web".to_owned()),
                uid: Some("u".to_owned()),
                ..ObjectReference::default()
            },
            severity: NoteSeverity::Normal,
            reason: "Tried",
            message: message.to_owned(),
            at: Timestamp::from_second(second).unwrap(),
        }
    }

    #[test]
    fn the_same_is_counted_and_what_is_alike_is_combined() {
        let mut correlator = Correlator::default();
        let first = correlator.correlate(&note("a", 0)).unwrap();
        let again = correlator.correlate(&note("a", 1)).unwrap();
        assert_eq!((first.count, again.count), (1, 2));
        assert_eq!(first.name, again.name);
        for index in 1..9 {
            let other = correlator.correlate(&note(&index.to_string(), 2)).unwrap();
            assert_eq!(other.count, 1);
        }
        let many = correlator.correlate(&note("x", 3)).unwrap();
        let more = correlator.correlate(&note("y", 4)).unwrap();
        assert_eq!((many.count, more.count), (1, 2));
        assert_eq!(more.message, format!("{COMBINED}y"));
    }

    #[test]
    fn an_object_that_causes_too_many_is_told_of_no_more_for_a_while() {
        let mut correlator = Correlator::default();
        let told = (0..100).filter(|_| correlator.correlate(&note("a", 0)).is_some());
        assert_eq!(told.count(), 25);
        assert_eq!(correlator.correlate(&note("a", 299)), None);
        assert_eq!(correlator.correlate(&note("a", 300)).unwrap().count, 26);
    }
}
