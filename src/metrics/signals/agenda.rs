//! Which question is asked next.
//!
//! Each API has places of its own, so that one that hangs holds up no other. In an API namespaces take
//! turns; one alone may take all places but the last, which is for whoever comes next. A question that
//! failed rests for longer each time, up to two minutes; one that was answered is asked again when it
//! is wanted again.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use evenkeel_core::scaling::hpa::MetricsApi;
use evenkeel_kubernetes::metric_query::MetricQuery;

/// Questions to one API that are under way at once.
pub(super) const AT_ONCE: usize = 4;

/// The first rest, of a question that has failed twice in a row; it doubles with each further one.
const REST: SignedDuration = SignedDuration::from_secs(15);
/// The longest rest.
const LONGEST_REST: SignedDuration = SignedDuration::from_mins(2);

/// The questions that are wanted, and whose turn it is.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    turns: HashMap<MetricQuery, Turn>,
    lanes: [Lane; 4],
}

/// The state of one question.
#[derive(Debug, Clone, Copy, Default)]
struct Turn {
    state: State,
    wanted: bool,
    /// The failures in a row.
    failures: u32,
    rests_until: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Idle,
    Waiting,
    UnderWay,
}

/// The questions to one API.
#[derive(Debug, Default)]
struct Lane {
    /// The namespaces with questions that wait, in the order of their turns.
    order: VecDeque<Arc<str>>,
    waiting: HashMap<Arc<str>, VecDeque<MetricQuery>>,
    under_way: HashMap<Arc<str>, usize>,
}

const fn lane_of(api: MetricsApi) -> usize {
    match api {
        MetricsApi::Resource => 0,
        MetricsApi::Custom => 1,
        MetricsApi::External => 2,
        MetricsApi::Prometheus => 3,
    }
}

impl Agenda {
    /// Takes note of all that is wanted at `now`. What was wanted before and is not any more is asked
    /// no more.
    pub(super) fn want(&mut self, wanted: &[MetricQuery], now: Timestamp) {
        for turn in self.turns.values_mut() {
            turn.wanted = false;
        }
        for query in wanted {
            let turn = self.turns.entry(query.clone()).or_default();
            turn.wanted = true;
            let rests = turn.rests_until.is_some_and(|until| now < until);
            if turn.state == State::Idle && !rests {
                turn.state = State::Waiting;
                self.lanes[lane_of(query.api())].wait(query.clone());
            }
        }
        self.turns
            .retain(|_, turn| turn.wanted || turn.state == State::UnderWay);
    }

    /// The next question, which is under way from here on; `None` while all places are taken or
    /// nothing waits.
    pub(super) fn next(&mut self) -> Option<MetricQuery> {
        for lane in &mut self.lanes {
            while let Some(query) = lane.take() {
                // What is not wanted any more is let go where its turn comes.
                let turn = self.turns.get_mut(&query);
                if let Some(turn) = turn.filter(|turn| turn.state == State::Waiting) {
                    turn.state = State::UnderWay;
                    return Some(query);
                }
                lane.end(&query.namespace);
            }
        }
        None
    }

    /// Takes note of the end of a question.
    pub(super) fn ended(&mut self, query: &MetricQuery, now: Timestamp, answered: bool) {
        self.lanes[lane_of(query.api())].end(&query.namespace);
        let Some(turn) = self.turns.get_mut(query) else {
            return;
        };
        turn.state = State::Idle;
        if answered {
            (turn.failures, turn.rests_until) = (0, None);
        } else {
            turn.failures = turn.failures.saturating_add(1);
            turn.rests_until = now.checked_add(rest(turn.failures)).ok();
        }
        if !turn.wanted {
            self.turns.remove(query);
        }
    }
}

/// The rest after so many failures in a row: none after the first.
fn rest(failures: u32) -> SignedDuration {
    let doubled = 1_i32 << failures.saturating_sub(1).min(16);
    REST.saturating_mul(doubled - 1).min(LONGEST_REST)
}

impl Lane {
    fn wait(&mut self, query: MetricQuery) {
        let namespace = Arc::clone(&query.namespace);
        let waiting = self.waiting.entry(Arc::clone(&namespace)).or_default();
        if waiting.is_empty() {
            self.order.push_back(namespace);
        }
        waiting.push_back(query);
    }

    /// Takes a place for the next question.
    fn take(&mut self) -> Option<MetricQuery> {
        let taken: usize = self.under_way.values().sum();
        if taken >= AT_ONCE {
            return None;
        }
        let has_room = |namespace: &Arc<str>| {
            let own = self.under_way.get(namespace).copied().unwrap_or(0);
            own + 1 < AT_ONCE
        };
        let place = self.order.iter().position(has_room)?;
        let namespace = self.order.remove(place)?;
        let waiting = self.waiting.get_mut(&namespace)?;
        let query = waiting.pop_front();
        if waiting.is_empty() {
            self.waiting.remove(&namespace);
        } else {
            self.order.push_back(Arc::clone(&namespace));
        }
        *self.under_way.entry(namespace).or_default() += 1;
        query
    }

    fn end(&mut self, namespace: &Arc<str>) {
        if let Some(count) = self.under_way.get_mut(namespace) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.under_way.remove(namespace);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_core::scaling::signal::MetricIdentifier;
    use evenkeel_kubernetes::metric_query::{MetricSubject, ServedMetric};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn external(namespace: &str, name: &str) -> MetricQuery {
        let metric = ServedMetric::External(MetricIdentifier::named(name));
        MetricQuery {
            namespace: namespace.into(),
            subject: MetricSubject::Served(metric),
        }
    }

    fn promql(namespace: &str) -> MetricQuery {
        MetricQuery {
            namespace: namespace.into(),
            subject: MetricSubject::PromQl("up".into()),
        }
    }

    fn under_way(agenda: &mut Agenda) -> Vec<MetricQuery> {
        std::iter::from_fn(|| agenda.next()).collect()
    }

    #[test]
    fn namespaces_take_turns_and_none_takes_the_last_place() {
        let mut agenda = Agenda::default();
        let a = ["1", "2", "3", "4", "5"].map(|name| external("a", name));
        agenda.want(&a, at(0));
        assert_eq!(under_way(&mut agenda), a[..3]);
        // One that comes later finds a place, and those that wait for longer none beside it.
        let b = ["1", "2"].map(|name| external("b", name));
        let both = [&a[..], &b[..]].concat();
        agenda.want(&both, at(15));
        assert_eq!(under_way(&mut agenda), b[..1]);
        agenda.ended(&a[0], at(16), true);
        assert_eq!(under_way(&mut agenda), a[3..4]);
        agenda.ended(&b[0], at(16), true);
        assert_eq!(under_way(&mut agenda), b[1..]);
        agenda.ended(&a[1], at(17), true);
        agenda.ended(&a[2], at(17), true);
        assert_eq!(under_way(&mut agenda), a[4..]);
    }

    #[test]
    fn an_api_that_hangs_holds_up_no_other() {
        let mut agenda = Agenda::default();
        let hanging: Vec<_> = (0..9).map(|n| external(&n.to_string(), "x")).collect();
        agenda.want(&hanging, at(0));
        assert_eq!(under_way(&mut agenda).len(), AT_ONCE);
        let all = [&hanging[..], &[promql("z")]].concat();
        agenda.want(&all, at(15));
        assert_eq!(under_way(&mut agenda), [promql("z")]);
    }

    #[test]
    fn what_is_under_way_or_waits_is_asked_once_and_what_is_not_wanted_never() {
        let mut agenda = Agenda::default();
        let query = external("a", "x");
        for second in [0, 15] {
            agenda.want(std::slice::from_ref(&query), at(second));
        }
        assert_eq!(under_way(&mut agenda), std::slice::from_ref(&query));
        agenda.want(&[], at(30));
        agenda.ended(&query, at(31), false);
        assert!(agenda.turns.is_empty(), "and its failure is forgotten");
        agenda.want(std::slice::from_ref(&query), at(45));
        agenda.want(&[], at(60));
        assert_eq!(under_way(&mut agenda), []);
        agenda.want(std::slice::from_ref(&query), at(75));
        assert_eq!(under_way(&mut agenda), [query]);
    }

    #[test]
    fn what_fails_rests_longer_each_time_and_an_answer_ends_it() {
        let mut agenda = Agenda::default();
        let query = external("a", "x");
        let mut asked = Vec::new();
        for second in (0..600).step_by(15) {
            agenda.want(std::slice::from_ref(&query), at(second));
            if agenda.next().is_some() {
                asked.push(second);
                agenda.ended(&query, at(second + 1), second == 360);
            }
        }
        assert_eq!(asked, [0, 15, 45, 105, 225, 360, 375, 390, 420, 480]);
    }
}
