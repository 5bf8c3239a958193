//! Which kubelets are to be asked, and when again.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::INTERVAL;

/// The pause after a first failure; it doubles with each one, up to the usual interval.
const FIRST_PAUSE: SignedDuration = SignedDuration::from_mins(1);

/// The turns of all nodes.
#[derive(Debug, Default)]
pub(super) struct KubeletSchedule {
    turns: BTreeMap<Box<str>, KubeletTurn>,
    under_way: BTreeSet<Box<str>>,
}

#[derive(Debug, Default)]
struct KubeletTurn {
    next: Option<Timestamp>,
    failures: u32,
}

impl KubeletSchedule {
    /// The nodes to ask at `now`, longest wait first; `nodes` are all there are, and new ones are
    /// asked at once.
    pub(super) fn due<'n>(
        &mut self,
        nodes: impl IntoIterator<Item = &'n str>,
        now: Timestamp,
    ) -> Vec<Box<str>> {
        let mut before = std::mem::take(&mut self.turns);
        self.turns = nodes
            .into_iter()
            .map(|name| (name.into(), before.remove(name).unwrap_or_default()))
            .collect();
        let waiting = self.turns.iter().filter(|(name, turn)| {
            !self.under_way.contains(*name) && turn.next.is_none_or(|next| next <= now)
        });
        let mut due: Vec<(Option<Timestamp>, Box<str>)> = waiting
            .map(|(name, turn)| (turn.next, name.clone()))
            .collect();
        due.sort();
        due.into_iter().map(|(_, name)| name).collect()
    }

    pub(super) fn begin(&mut self, name: &str) {
        self.under_way.insert(name.into());
    }

    /// Takes note of the end of a question.
    pub(super) fn end(&mut self, name: &str, now: Timestamp, answered: bool) {
        self.under_way.remove(name);
        let Some(turn) = self.turns.get_mut(name) else {
            return;
        };
        turn.failures = if answered { 0 } else { turn.failures + 1 };
        let pause = match turn.failures {
            0 => INTERVAL,
            failures => FIRST_PAUSE
                .saturating_mul(1 << (failures - 1).min(8))
                .min(INTERVAL),
        };
        turn.next = now.checked_add(pause).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_second(60 * minutes).unwrap()
    }

    #[test]
    fn each_node_is_asked_every_five_minutes_and_a_new_one_at_once() {
        let mut agenda = KubeletSchedule::default();
        let due = |agenda: &mut KubeletSchedule, nodes: &[&str], minute| {
            let due = agenda.due(nodes.iter().copied(), at(minute));
            due.join(" ")
        };
        assert_eq!(due(&mut agenda, &["a", "b"], 0), "a b");
        agenda.begin("a");
        assert_eq!(due(&mut agenda, &["a", "b"], 0), "b");
        agenda.end("a", at(1), true);
        agenda.begin("b");
        agenda.end("b", at(0), true);
        assert_eq!(due(&mut agenda, &["a", "b"], 4), "");
        assert_eq!(due(&mut agenda, &["a", "b", "c"], 6), "c b a");
        // One that was deleted while it was asked, and is there again.
        agenda.begin("a");
        assert_eq!(due(&mut agenda, &["b"], 6), "b");
        agenda.end("a", at(6), true);
        assert_eq!(due(&mut agenda, &["a"], 6), "a");
    }

    #[test]
    fn one_that_fails_is_asked_again_sooner_and_never_later_than_the_others() {
        let mut agenda = KubeletSchedule::default();
        let mut pauses = Vec::new();
        let mut minute = 0;
        for answered in [false, false, false, false, true, false] {
            assert_eq!(agenda.due(["a"], at(minute)).len(), 1);
            agenda.end("a", at(minute), answered);
            let begun = minute;
            while agenda.due(["a"], at(minute)).is_empty() {
                minute += 1;
            }
            pauses.push(minute - begun);
        }
        assert_eq!(pauses, [1, 2, 4, 5, 5, 1]);
    }
}
