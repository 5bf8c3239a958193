//! The one writer of the statuses of objects: the status of the plan before, and whether a new one is worth a write.
//!
//! A written status comes back by the watch. Until then the one that was planned counts.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::{Map, json};

use super::context::PlanContext;
use crate::condition::Condition;
use crate::json::merge_patch;
use crate::kinds::Kind;
use crate::meta::Meta;
use crate::object_ref::ObjectRef;
use crate::plan::event::{EventContent, RegardingObject};
use crate::plan::write::{Purpose, Write, WriteOperation};

/// The longest pause between two plans over which the memory of the former counts.
const REMEMBERED: SignedDuration = SignedDuration::from_mins(1);

/// The least time between two Events of one reason on one object.
const QUIET: SignedDuration = SignedDuration::from_mins(5);

/// A status that Evenkeel keeps on an object.
pub trait Status: Clone + PartialEq {
    /// The least time between two writes of statuses that differ in figures only.
    const FIGURES_EVERY: SignedDuration = SignedDuration::ZERO;

    fn conditions(&self) -> &[Condition];

    /// True if both differ at most in figures: numbers, moments and texts that change without a new decision.
    fn differs_in_figures_only(&self, _other: &Self) -> bool {
        false
    }

    /// The condition of the given type.
    fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions()
            .iter()
            .find(|condition| condition.kind == kind)
    }
}

/// An object with the status that it has at present.
#[derive(Debug)]
pub struct StatusSubject<'a, S> {
    pub kind: Kind,
    pub metadata: &'a Meta,
    /// `None` if the object has no readable status.
    pub held: Option<&'a S>,
}

impl<S: Serialize> StatusSubject<'_, S> {
    /// The write of another status, down to what it no longer has; `None` if they are the same.
    pub fn write(&self, after: &S) -> Option<Write> {
        let Self {
            kind,
            metadata,
            held,
        } = self;
        let (namespace, name) = (metadata.namespace.as_deref()?, metadata.name.as_deref()?);
        let before = serde_json::to_value(held).ok()?;
        let changes = merge_patch(&before, &serde_json::to_value(after).ok()?);
        if changes.as_object().is_none_or(Map::is_empty) {
            return None;
        }
        let body = json!({
            "metadata": {"resourceVersion": metadata.resource_version},
            "status": changes,
        });
        let target = ObjectRef::in_namespace(*kind, namespace, name).status();
        let operation = WriteOperation::Merge(body);
        Some(Write::new(Purpose::ScalingStatus, target, operation))
    }
}

/// The memory of one object's status and Events.
#[derive(Debug, Clone, PartialEq)]
pub struct StatusWriter<S> {
    uid: Option<String>,
    /// The status of the last plan, with its time.
    planned: Option<(Timestamp, S)>,
    /// The time of the last write.
    written: Option<Timestamp>,
    /// The time of the last Event of each reason.
    events: BTreeMap<&'static str, Timestamp>,
}

impl<S> Default for StatusWriter<S> {
    fn default() -> Self {
        Self {
            uid: None,
            planned: None,
            written: None,
            events: BTreeMap::new(),
        }
    }
}

impl<S: Status> StatusWriter<S> {
    /// The status of the plan before: the planned one, or else the one that the object has.
    pub fn before<'a>(&'a mut self, on: &StatusSubject<'a, S>, now: Timestamp) -> Option<&'a S> {
        self.recall(on, now);
        self.planned().or(on.held)
    }

    /// The same, taken out of the memory: the caller plans the next status.
    pub fn take_before(&mut self, on: &StatusSubject<'_, S>, now: Timestamp) -> Option<S> {
        self.recall(on, now);
        let planned = self.planned.take().map(|(_, status)| status);
        planned.or_else(|| on.held.cloned())
    }

    /// Forgets everything if the object is another one, and the planned status if it is too old: another replica
    /// may have planned since. The times of Events stay. Only those that lie ahead go, after a clock was set back:
    /// they would silence all until then.
    fn recall(&mut self, on: &StatusSubject<'_, S>, now: Timestamp) {
        if self.uid != on.metadata.uid {
            *self = Self {
                uid: on.metadata.uid.clone(),
                ..Self::default()
            };
        }
        let is_old = |(at, _): &(Timestamp, S)| now.duration_since(*at).abs() > REMEMBERED;
        if self.planned.as_ref().is_some_and(is_old) {
            self.forget_planned();
        }
        self.written = self.written.filter(|at| *at <= now);
        self.events.retain(|_, at| *at <= now);
    }

    /// The status of the last plan.
    pub fn planned(&self) -> Option<&S> {
        self.planned.as_ref().map(|(_, status)| status)
    }

    /// True if `new` is to be written in place of `held`.
    pub fn is_due(&self, held: Option<&S>, new: &S, now: Timestamp) -> bool {
        let Some(held) = held else { return true };
        let is_early = |at| now.duration_since(at) < S::FIGURES_EVERY;
        let waits = self.written.is_some_and(is_early) && new.differs_in_figures_only(held);
        new != held && !waits
    }

    /// Takes note of the status that was planned, if any, and whether it is written.
    pub fn note(&mut self, status: Option<S>, is_written: bool, now: Timestamp) {
        self.planned = status.map(|status| (now, status));
        if is_written {
            self.written = Some(now);
        }
    }

    /// Counts the figures of a found status as new, so that a new leader does not write all statuses at once.
    pub fn spare_figures(&mut self, now: Timestamp) {
        self.written.get_or_insert(now);
    }

    /// Forgets the planned status: another replica plans, and its status counts. The last write goes with it, so
    /// that a replica that leads again does not write the figures of all objects at once.
    pub fn forget_planned(&mut self) {
        self.planned = None;
        self.written = None;
    }

    /// True if an Event of `reason` may be written at `now`, which is then noted.
    pub fn allows_event(&mut self, reason: &'static str, now: Timestamp) -> bool {
        let last = self.events.get(reason).copied();
        let is_quiet = last.is_some_and(|last| now.duration_since(last) < QUIET);
        if !is_quiet {
            self.events.insert(reason, now);
        }
        !is_quiet
    }
}

impl<S: Status + Serialize> StatusWriter<S> {
    /// The write of a status that is due, and those of its Events.
    pub fn plan(
        &mut self,
        on: &StatusSubject<'_, S>,
        new: S,
        events: &[EventContent<'_>],
        context: &PlanContext<'_>,
    ) -> Vec<Write> {
        let now = context.now;
        let is_due = self.is_due(on.held, &new, now);
        let status = is_due.then(|| on.write(&new));
        self.note(Some(new), is_due, now);
        let regarding = RegardingObject::of(on.kind, on.metadata);
        let events = context.writes_of(events, &regarding);
        status.flatten().into_iter().chain(events).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct HoldSettings {
        hold: Option<i32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        inner: Option<Inner>,
    }

    #[derive(Serialize)]
    struct Inner {
        name: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        hold: Option<i32>,
    }

    #[derive(Debug, Clone, PartialEq, Serialize)]
    struct Figures {
        decided: i32,
        load: i32,
    }

    impl Status for Figures {
        const FIGURES_EVERY: SignedDuration = SignedDuration::from_secs(30);

        fn conditions(&self) -> &[Condition] {
            &[]
        }

        fn differs_in_figures_only(&self, other: &Self) -> bool {
            self.decided == other.decided
        }
    }

    fn metadata(uid: &str) -> Meta {
        let metadata = json!({"namespace": "shop", "name": "web", "uid": uid});
        serde_json::from_value(metadata).unwrap()
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    const fn figures(decided: i32, load: i32) -> Figures {
        Figures { decided, load }
    }

    #[test]
    fn the_planned_status_counts_for_a_minute_on_the_same_object() {
        let (web, other) = (metadata("u"), metadata("v"));
        let held = figures(1, 1);
        let on = |metadata| StatusSubject {
            kind: Kind::Ihpa,
            metadata,
            held: Some(&held),
        };
        let mut writer = StatusWriter::default();
        assert_eq!(writer.before(&on(&web), at(0)), Some(&held));
        for (now, metadata, known) in [
            (60, &web, figures(2, 2)),
            (61, &web, figures(1, 1)),
            (-61, &web, figures(1, 1)),
            (10, &other, figures(1, 1)),
        ] {
            writer.before(&on(&web), at(0));
            writer.note(Some(figures(2, 2)), false, at(0));
            assert_eq!(writer.before(&on(metadata), at(now)), Some(&known), "{now}");
        }
    }

    #[test]
    fn figures_wait_for_their_turn_and_a_decision_does_not() {
        let mut writer = StatusWriter::default();
        let held = figures(1, 1);
        assert!(writer.is_due(Some(&held), &figures(1, 2), at(0)));
        writer.note(None, true, at(0));
        for (new, second, is_due) in [
            (figures(1, 2), 29, false),
            (figures(1, 2), 30, true),
            (figures(2, 1), 1, true),
            (figures(1, 1), 99, false),
        ] {
            assert_eq!(writer.is_due(Some(&held), &new, at(second)), is_due);
        }
        assert!(writer.is_due(None, &held, at(1)), "there is none yet");
        let mut leader = StatusWriter::default();
        leader.spare_figures(at(0));
        assert!(!leader.is_due(Some(&held), &figures(1, 2), at(29)));
    }

    /// The harm: after a break of the API server, the leader wrote the figures of all targets in one tick.
    #[test]
    fn a_leader_that_returns_spares_figures_and_goes_by_the_status_of_the_object() {
        let web = metadata("u");
        let held = figures(1, 1);
        let on = StatusSubject {
            kind: Kind::Ihpa,
            metadata: &web,
            held: Some(&held),
        };
        for follows in [true, false] {
            let mut writer = StatusWriter::default();
            writer.before(&on, at(0));
            writer.note(Some(figures(2, 2)), true, at(0));
            if follows {
                writer.forget_planned();
            }
            let now = if follows { 40 } else { 600 };
            assert_eq!(writer.before(&on, at(now)), Some(&held));
            writer.spare_figures(at(now));
            assert!(!writer.is_due(Some(&held), &figures(1, 3), at(now)));
            assert!(writer.is_due(Some(&held), &figures(1, 3), at(now + 30)));
        }
    }

    /// The harm: a leader that was away for a minute repeated its warnings.
    #[test]
    fn an_event_pauses_over_a_break_and_not_after_a_clock_was_set_back() {
        let (web, other) = (metadata("u"), metadata("v"));
        let on = |metadata| StatusSubject {
            kind: Kind::Ihpa,
            metadata,
            held: None,
        };
        let allowed = |metadata, second| {
            let mut writer = StatusWriter::<Figures>::default();
            writer.before(&on(&web), at(1000));
            assert!(writer.allows_event("Late", at(1000)));
            assert!(!writer.allows_event("Late", at(1010)));
            writer.note(Some(figures(1, 1)), true, at(1010));
            writer.before(&on(metadata), at(second));
            writer.allows_event("Late", at(second))
        };
        assert!(!allowed(&web, 1080));
        assert!(allowed(&web, 1300));
        assert!(allowed(&web, 900));
        assert!(allowed(&other, 1080));
    }

    #[test]
    fn a_status_is_written_down_to_what_is_in_it_no_more() {
        let metadata: Meta = serde_json::from_value(
            json!({"namespace": "shop", "name": "web", "resourceVersion": "7"}),
        )
        .unwrap();
        let told = |hold, inner: Option<Option<i32>>| HoldSettings {
            hold,
            inner: inner.map(|hold| Inner { name: "a", hold }),
        };
        let all = [
            told(Some(1), Some(Some(2))),
            told(Some(1), Some(None)),
            told(None, Some(Some(3))),
            told(None, None),
        ];
        let subject = |held| StatusSubject {
            kind: Kind::Ihpa,
            metadata: &metadata,
            held,
        };
        for (before, after) in all
            .iter()
            .flat_map(|one| all.iter().map(move |other| (one, other)))
        {
            let is = json!(before);
            let write = subject(Some(before)).write(after);
            assert_eq!(write.is_some(), is != json!(after), "{is} {}", json!(after));
            let Some(write) = write else { continue };
            let WriteOperation::Merge(body) = write.operation else {
                panic!("{write:?}");
            };
            assert_eq!(body["metadata"], json!({"resourceVersion": "7"}));
            let mut status = is;
            json_patch::merge(&mut status, &body["status"]);
            let mut wanted = json!(after);
            for one in [&mut status, &mut wanted] {
                let fields = one.as_object_mut().unwrap();
                fields.retain(|_, value| !value.is_null());
            }
            assert_eq!(status, wanted);
        }
        assert!(subject(None).write(&all[1]).is_some());
    }
}
