//! The order in which portraits have their hours ahead computed: namespaces take turns, and in a namespace the portrait
//! with the oldest series comes first. So a namespace with many portraits delays its own alone.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use evenkeel_api::horizontal_portrait::hours_ahead::HoursAhead;
use evenkeel_forecast::HOURS_AHEAD_STEP;
use jiff::{SignedDuration, Timestamp};

use super::hours_ahead::{HoursAheadProblem, forecast_workload, last_computed};
use crate::specs::horizontal_portrait::HorizontalPortrait;
use crate::targets::reference::TargetRef;

/// The time after which a write that does not show is made again, and a missing workload looked for again.
const RETRY: SignedDuration = SignedDuration::from_mins(2);

/// The last computations and turns.
#[derive(Debug, Default)]
pub struct HoursAheadAgenda {
    /// By the UIDs of portraits.
    attempts: HashMap<String, HoursAheadAttempt>,
    /// The number of its last turn, by namespace.
    turns: HashMap<String, u64>,
    turn: u64,
}

#[derive(Debug, Clone, Copy)]
struct HoursAheadAttempt {
    /// The version of the spec that it was for.
    generation: Option<i64>,
    at: Timestamp,
    /// When it is worth another.
    again: Timestamp,
}

impl HoursAheadAgenda {
    /// The next portrait that is due, with its workload; its namespace has had its turn then.
    pub fn next<'a>(
        &mut self,
        portraits: impl Iterator<Item = &'a Arc<HorizontalPortrait>>,
        now: Timestamp,
    ) -> Option<(Arc<HorizontalPortrait>, TargetRef)> {
        let asking = portraits.filter_map(|one| Some((one, forecast_workload(one)?)));
        let due = asking.filter(|(one, _)| self.is_due(one, now));
        let (portrait, workload) = due.min_by_key(|(portrait, workload)| {
            let turn = self.turns.get(workload.namespace()).copied();
            (
                turn,
                last_computed(portrait),
                portrait.metadata.name.clone(),
            )
        })?;
        self.turn += 1;
        self.turns
            .insert(workload.namespace().to_owned(), self.turn);
        Some((Arc::clone(portrait), workload))
    }

    /// True once ten minutes are over that its status does not know, and after a change of its spec.
    fn is_due(&self, portrait: &HorizontalPortrait, now: Timestamp) -> bool {
        let generation = portrait.metadata.generation;
        let status = portrait.status.as_ref();
        let is_shown = status.is_some_and(|status| status.observed_generation == generation)
            && last_computed(portrait).is_some_and(|at| step(at) == step(now));
        let uid = portrait.metadata.uid.as_deref().unwrap_or_default();
        let is_tried = self.attempts.get(uid).is_some_and(|tried| {
            // A clock that was set back begins anew.
            tried.generation == generation && (tried.at..tried.again).contains(&now)
        });
        !is_shown && !is_tried
    }

    /// Takes note of a computation.
    pub fn tried(
        &mut self,
        portrait: &HorizontalPortrait,
        computed: &Result<HoursAhead, HoursAheadProblem>,
        now: Timestamp,
    ) {
        let next_step = (step(now) + 1) * HOURS_AHEAD_STEP.as_secs();
        let again = match computed {
            // Another fit on the same past would come to the same.
            Err(problem) if !problem.is_without_fit() => Timestamp::from_second(next_step),
            _ => now.checked_add(RETRY),
        };
        let attempt = HoursAheadAttempt {
            generation: portrait.metadata.generation,
            at: now,
            again: again.unwrap_or(Timestamp::MAX),
        };
        let uid = portrait.metadata.uid.clone().unwrap_or_default();
        self.attempts.insert(uid, attempt);
    }

    /// Forgets portraits and namespaces that are gone.
    pub fn retain<'a>(&mut self, portraits: impl Iterator<Item = &'a Arc<HorizontalPortrait>>) {
        let metadata = portraits.map(|portrait| &portrait.metadata);
        let (uids, namespaces): (HashSet<_>, HashSet<_>) = metadata
            .map(|metadata| (metadata.uid.as_deref(), metadata.namespace.as_deref()))
            .unzip();
        self.attempts
            .retain(|uid, _| uids.contains(&Some(uid.as_str())));
        self.turns
            .retain(|namespace, _| namespaces.contains(&Some(namespace.as_str())));
    }
}

/// The number of the ten minutes that hold a time.
fn step(time: Timestamp) -> i64 {
    time.as_second().div_euclid(HOURS_AHEAD_STEP.as_secs())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NOW: i64 = 1_800_000_000;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// A portrait with a series of this time.
    fn portrait(namespace: &str, name: &str, computed: Option<i64>) -> Arc<HorizontalPortrait> {
        let hours = computed.map_or(
            Value::Null,
            |second| json!({"time": at(second).to_string(), "stepSeconds": 600, "metrics": []}),
        );
        let object = json!({
            "metadata": {"name": name, "namespace": namespace, "uid": format!("{namespace}/{name}"),
                "generation": 1},
            "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"},
                "portraitType": "Predictive", "algorithm": {"type": "Forecast"}},
            "status": {"observedGeneration": 1, "hoursAhead": hours},
        });
        Arc::new(serde_json::from_value(object).unwrap())
    }

    #[test]
    fn namespaces_take_turns_and_the_oldest_series_comes_first() {
        let portraits = [
            portrait("many", "a", None),
            portrait("many", "b", Some(NOW - 900)),
            portrait("many", "c", Some(NOW - 1800)),
            portrait("few", "d", Some(NOW - 700)),
            portrait("few", "fresh", Some(NOW)),
        ];
        let mut agenda = HoursAheadAgenda::default();
        let mut order = Vec::new();
        while let Some((next, _)) = agenda.next(portraits.iter(), at(NOW)) {
            order.push(next.metadata.name.clone().unwrap());
            agenda.tried(&next, &Ok(HoursAhead::default()), at(NOW));
        }
        assert_eq!(order, ["a", "d", "c", "b"]);
        agenda.retain([].iter());
        assert!(agenda.attempts.is_empty() && agenda.turns.is_empty());
    }

    #[test]
    fn an_attempt_is_repeated_when_it_can_come_to_something_else() {
        let new = portrait("shop", "web", None);
        let shown = portrait("shop", "web", Some(NOW));
        let failed = Err(HoursAheadProblem::Failed);
        let missing = Err(HoursAheadProblem::NoTarget(String::new()));
        let made = Ok(HoursAhead::default());
        for (portrait, computed, now, is_due) in [
            (&new, &made, NOW + 119, false),
            // The write did not show.
            (&new, &made, NOW + 120, true),
            (&shown, &made, NOW + 599, false),
            (&shown, &made, NOW + 600, true),
            (&new, &failed, NOW + 599, false),
            (&new, &failed, NOW + 600, true),
            (&new, &missing, NOW + 119, false),
            (&new, &missing, NOW + 120, true),
            // The clock was set back.
            (&new, &failed, NOW - 1, true),
        ] {
            let mut agenda = HoursAheadAgenda::default();
            agenda.tried(portrait, computed, at(NOW));
            assert_eq!(
                agenda.is_due(portrait, at(now)),
                is_due,
                "{computed:?} {now}"
            );
        }
        let mut agenda = HoursAheadAgenda::default();
        agenda.tried(&shown, &made, at(NOW));
        let mut changed = HorizontalPortrait::clone(&shown);
        changed.metadata.generation = Some(2);
        assert!(agenda.is_due(&changed, at(NOW + 1)));
    }
}
