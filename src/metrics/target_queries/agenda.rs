//! Chooses the question that is asked next.
//!
//! Each endpoint has places of its own, so that one that hangs delays no other. It also has a lane
//! for fast questions. A question begins on the lane of trial, with fewer places, and goes back
//! there for a while after it was slow. So questions that hang delay only each other. In a lane
//! namespaces take turns; one alone may take half of the places. A failed question rests for longer
//! each time, up to two minutes. An answered one is asked again when it is wanted again.

mod lane;

use std::collections::HashMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use self::lane::TargetQueryLane;
use super::question::TargetQuery;

/// For each two of these places, one for those on trial.
const TRIAL: usize = 2;

/// The longest that an answer may take which is soon.
const SOON: Duration = Duration::from_secs(2);
/// The answers in a row that must come soon of one that was slow, before it leaves the lane of trial. One
/// that hangs every now and then is so kept out of the other lane most of the time.
const TRIALS: u8 = 4;

/// The first rest, of a question that has failed twice in a row; it doubles with each further one.
const REST: SignedDuration = SignedDuration::from_secs(15);
/// The longest rest.
const LONGEST_REST: SignedDuration = SignedDuration::from_mins(2);

/// The end of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TargetQueryTiming {
    pub(super) answered: bool,
    pub(super) took: Duration,
}

/// The wanted questions, and the order of their turns.
#[derive(Debug)]
pub(super) struct TargetQuerySchedule<Q> {
    turns: HashMap<Q, TargetQueryTurn>,
    /// The lanes of each endpoint.
    lanes: Vec<[TargetQueryLane<Q>; 2]>,
}

/// The state of one question.
#[derive(Debug, Clone, Copy)]
struct TargetQueryTurn {
    state: TargetQueryState,
    wanted: bool,
    /// The answers that have to come soon before it is known to be answered soon.
    trials: u8,
    /// The failures in a row.
    failures: u32,
    rests_until: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TargetQueryState {
    Idle,
    /// For a place of a lane, since then.
    Waiting(Speed, Timestamp),
    /// On a place of a lane.
    UnderWay(Speed),
}

/// The lanes of one endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speed {
    /// Of questions that are answered soon.
    Soon,
    /// Of those that were slow of late, or are new.
    Trial,
}

impl Speed {
    pub(super) const ALL: [Self; 2] = [Self::Soon, Self::Trial];

    /// The name in metrics.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Soon => "soon",
            Self::Trial => "trial",
        }
    }
}

impl Default for TargetQueryTurn {
    fn default() -> Self {
        Self {
            state: TargetQueryState::Idle,
            wanted: false,
            trials: 1,
            failures: 0,
            rests_until: None,
        }
    }
}

impl<Q: TargetQuery> Default for TargetQuerySchedule<Q> {
    fn default() -> Self {
        let respondents = Q::RESPONDENTS.iter();
        let lanes = respondents.map(|one| {
            [
                TargetQueryLane::new(one.at_once),
                TargetQueryLane::new(one.at_once / TRIAL),
            ]
        });
        Self {
            turns: HashMap::new(),
            lanes: lanes.collect(),
        }
    }
}

impl<Q: TargetQuery> TargetQuerySchedule<Q> {
    /// Takes note of all that is wanted at `now`. What was wanted before and is not any more is asked
    /// no more.
    pub(super) fn want<'a>(&mut self, wanted: impl Iterator<Item = &'a Q>, now: Timestamp) {
        for turn in self.turns.values_mut() {
            turn.wanted = false;
        }
        for question in wanted {
            let turn = self.turns.entry(question.clone()).or_default();
            turn.wanted = true;
            let rests = turn.rests_until.is_some_and(|until| now < until);
            if turn.state == TargetQueryState::Idle && !rests {
                let speed = turn.speed();
                turn.state = TargetQueryState::Waiting(speed, now);
                self.lanes[question.respondent()][speed as usize].wait(question.clone());
            }
        }
        self.turns
            .retain(|_, turn| turn.wanted || matches!(turn.state, TargetQueryState::UnderWay(_)));
    }

    /// The next question, which is under way from here on; `None` while all places are taken or
    /// nothing waits.
    pub(super) fn next(&mut self) -> Option<Q> {
        for lanes in &mut self.lanes {
            for speed in Speed::ALL {
                let lane = &mut lanes[speed as usize];
                while let Some(question) = lane.take() {
                    // A question that is not wanted any more, or waits elsewhere, is dropped at its turn.
                    let turn = self.turns.get_mut(&question);
                    if let Some(turn) = turn.filter(|turn| turn.waits_on(speed)) {
                        turn.state = TargetQueryState::UnderWay(speed);
                        return Some(question);
                    }
                    lane.end(question.namespace());
                }
            }
        }
        None
    }

    /// Takes note of the end of a question.
    pub(super) fn ended(&mut self, question: &Q, now: Timestamp, ending: TargetQueryTiming) {
        let Some(turn) = self.turns.get_mut(question) else {
            return;
        };
        if let TargetQueryState::UnderWay(speed) = turn.state {
            self.lanes[question.respondent()][speed as usize].end(question.namespace());
        }
        turn.state = TargetQueryState::Idle;
        turn.trials = if ending.took > SOON {
            TRIALS
        } else {
            turn.trials.saturating_sub(1)
        };
        if ending.answered {
            (turn.failures, turn.rests_until) = (0, None);
        } else {
            turn.failures = turn.failures.saturating_add(1);
            turn.rests_until = now.checked_add(rest(turn.failures)).ok();
        }
        if !turn.wanted {
            self.turns.remove(question);
        }
    }

    /// The longest wait for a place at `now`, for each lane of each endpoint.
    pub(super) fn waits(&self, now: Timestamp) -> Vec<[SignedDuration; 2]> {
        let mut longest = vec![[SignedDuration::ZERO; 2]; self.lanes.len()];
        for (question, turn) in &self.turns {
            if let TargetQueryState::Waiting(speed, since) = turn.state {
                let known = &mut longest[question.respondent()][speed as usize];
                *known = now.duration_since(since).max(*known);
            }
        }
        longest
    }
}

impl TargetQueryTurn {
    const fn speed(&self) -> Speed {
        if self.trials == 0 {
            Speed::Soon
        } else {
            Speed::Trial
        }
    }

    fn waits_on(&self, lane: Speed) -> bool {
        matches!(self.state, TargetQueryState::Waiting(speed, _) if speed == lane)
    }
}

/// The rest after so many failures in a row: none after the first.
fn rest(failures: u32) -> SignedDuration {
    let doubled = 1_i32 << failures.saturating_sub(1).min(16);
    REST.saturating_mul(doubled - 1).min(LONGEST_REST)
}

#[cfg(test)]
mod tests;
