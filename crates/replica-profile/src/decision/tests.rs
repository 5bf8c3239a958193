use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use evenkeel_api::replica_profile::direction::Direction;
use jiff::Timestamp;
use proptest::prelude::*;

use super::*;

const DRAIN: SignedDuration = SignedDuration::from_secs(30);

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + second).unwrap()
}

fn counts(online: i32, cutoff: i32, standby: i32) -> ReplicaCounts {
    ReplicaCounts {
        online,
        cutoff,
        standby,
    }
}

fn rules(wanted: ReplicaCounts) -> ProfileRules {
    ProfileRules {
        wanted,
        paused: false,
        direction: Direction::Both,
        drain: DRAIN,
    }
}

fn count(pods: impl IntoIterator) -> i32 {
    i32::try_from(pods.into_iter().count()).unwrap()
}

/// A cluster that does at once what is planned; new Pods are ready after ten seconds. Its controller
/// goes by the costs of the round before, and takes of equals the one that it should leave.
#[derive(Debug, Clone)]
struct Played {
    pods: Vec<(i32, ProfilePod)>,
    replicas: i32,
    limits: DisruptionLimits,
    ordinals: bool,
    second: i64,
    /// The rounds that its controller takes to follow the count.
    lag: i64,
    next: i32,
    /// The deletion costs of the marked Pods, by their numbers.
    costs: BTreeMap<i32, Option<Timestamp>>,
    /// The Pods that have gone, each as it was.
    gone: Vec<ProfilePod>,
    waits_since: Option<Timestamp>,
    progress: RolloutProgress,
    min_ready: SignedDuration,
}

impl Played {
    fn new(online: i32, ordinals: bool) -> Self {
        let mut played = Self {
            pods: Vec::new(),
            replicas: online,
            limits: DisruptionLimits::default(),
            ordinals,
            second: 0,
            lag: 0,
            next: 0,
            costs: BTreeMap::new(),
            gone: Vec::new(),
            waits_since: None,
            progress: RolloutProgress::Complete,
            min_ready: SignedDuration::ZERO,
        };
        played.follow_count();
        for (_, pod) in &mut played.pods {
            pod.containers_ready = true;
            pod.ready_since = Some(at(-100));
        }
        played
    }

    /// Makes what is missing, and deletes as a ReplicaSet or a StatefulSet does.
    fn follow_count(&mut self) {
        while count(&self.pods) < self.replicas {
            let taken = |ordinal: &u32| {
                self.pods
                    .iter()
                    .any(|(_, pod)| pod.ordinal == Some(*ordinal))
            };
            let ordinal = (0..=u32::MAX).find(|ordinal| !taken(ordinal));
            let pod = ProfilePod {
                is_gated: true,
                takes_mark: !self.ordinals,
                ordinal: ordinal.filter(|_| self.ordinals),
                ..ProfilePod::default()
            };
            self.pods.push((self.next, pod));
            self.next += 1;
        }
        while count(&self.pods) > self.replicas {
            let order = |(number, pod): &(i32, ProfilePod)| {
                (self.key(*number, pod), Reverse(pod.off_since))
            };
            let first = if self.ordinals {
                (0..self.pods.len()).max_by_key(|&at| self.pods[at].1.ordinal)
            } else {
                (0..self.pods.len()).min_by_key(|&at| order(&self.pods[at]))
            };
            let (_, pod) = self.pods.remove(first.unwrap());
            self.gone.push(pod);
        }
    }

    /// The order of deletion of its controller: Pods that are not ready first, of them the marked ones.
    fn key(&self, number: i32, pod: &ProfilePod) -> (bool, bool, Option<Timestamp>) {
        let cost = self.costs.get(&number);
        (pod.serves(), cost.is_none(), cost.copied().flatten())
    }

    fn seen(&self) -> Vec<ProfilePod> {
        let mut pods = self.pods.clone();
        let key = |number: i32, pod: &ProfilePod| {
            let (_, is_free, cost) = self.key(number, pod);
            (is_free, cost)
        };
        let keys: BTreeSet<_> = pods.iter().map(|(number, pod)| key(*number, pod)).collect();
        for (number, pod) in &mut pods {
            let key = key(*number, pod);
            let turn = keys.iter().position(|one| *one == key).unwrap();
            pod.turn = u32::try_from(turn).unwrap();
        }
        pods.sort_by_key(|(number, pod)| (std::cmp::Reverse(pod.ordinal), *number));
        pods.into_iter().map(|(_, pod)| pod).collect()
    }

    fn counts(&self) -> ReplicaCounts {
        let of = |state| count(self.pods.iter().filter(|(_, pod)| pod.state == state));
        counts(
            of(PodState::Online),
            of(PodState::Cutoff),
            of(PodState::Standby),
        )
    }

    fn serving(&self) -> i32 {
        let serving = self.pods.iter().filter(|(_, pod)| pod.serves());
        count(serving)
    }

    fn round(&mut self, rules: &ProfileRules) -> ProfilePlan {
        let pods = self.seen();
        let plan = decide(
            rules,
            &ProfileInput {
                replicas: self.replicas,
                pods: &pods,
                limits: &self.limits,
                is_rolling: false,
                progress: self.progress,
                min_ready: self.min_ready,
                waits_since: self.waits_since,
                now: at(self.second),
            },
        );
        self.pods
            .sort_by_key(|(number, pod)| (std::cmp::Reverse(pod.ordinal), *number));
        let marked = plan.victims.iter();
        let marked = marked.filter(|&&at| self.pods[at].1.takes_mark);
        let marked = marked.map(|&at| (self.pods[at].0, self.pods[at].1.off_since));
        let marked = marked.collect();
        for StateChange { pod, to } in &plan.changes {
            let pod = &mut self.pods[*pod].1;
            let distance = (pod.state as i32 - *to as i32).abs();
            assert_eq!(distance, 1, "{:?} became {to:?}", pod.state);
            match (pod.state, *to) {
                (PodState::Online, _) => {
                    pod.off_since = Some(at(self.second));
                    pod.ready_since = None;
                }
                (_, PodState::Online) => {
                    assert_eq!(pod.resources, PodResources::Full);
                    pod.off_since = None;
                    pod.ready_since = Some(at(self.second));
                }
                (_, PodState::Standby) => pod.resources = PodResources::Lowered,
                (PodState::Standby, _) | (PodState::Cutoff, PodState::Cutoff) => {}
            }
            pod.state = *to;
        }
        self.waits_since = plan
            .waits
            .then(|| self.waits_since.unwrap_or(at(self.second)));
        self.replicas = plan.replicas;
        if self.lag == 0 || self.second % self.lag == 0 {
            self.follow_count();
        }
        self.costs = marked;
        plan
    }

    /// A second passes: resources are back, and what was made ten seconds ago is ready.
    fn pass(&mut self) {
        self.second += 1;
        for (number, pod) in &mut self.pods {
            if pod.state != PodState::Standby {
                pod.resources = PodResources::Full;
            }
            let is_made = (self.second + i64::from(*number)) % 10 == 0;
            if !pod.containers_ready && is_made {
                pod.containers_ready = true;
                pod.ready_since = Some(at(self.second));
            }
        }
    }

    fn play(&mut self, rules: &ProfileRules, seconds: i32) -> ProfilePlan {
        let mut last = ProfilePlan::default();
        for _ in 0..seconds {
            last = self.round(rules);
            self.pass();
        }
        last
    }
}

#[test]
fn more_traffic_is_taken_by_cut_off_pods_at_once_and_by_new_ones_only_for_the_rest() {
    let mut played = Played::new(6, false);
    played.play(&rules(counts(3, 2, 1)), 60);
    assert_eq!(played.counts(), counts(3, 2, 1));
    let plan = played.round(&rules(counts(5, 0, 1)));
    assert_eq!((plan.replicas, played.serving()), (6, 5), "{plan:?}");
    // The one that stands by first gets its resources, and takes traffic when it has them.
    let plan = played.round(&rules(counts(8, 0, 0)));
    assert_eq!((plan.replicas, played.serving()), (8, 5));
    assert_eq!(played.counts(), counts(7, 1, 0));
    assert!(played.round(&rules(counts(8, 0, 0))).changes.is_empty());
    played.pass();
    played.round(&rules(counts(8, 0, 0)));
    assert_eq!(
        played.serving(),
        6 + count(
            played
                .pods
                .iter()
                .filter(|(number, pod)| *number > 5 && pod.containers_ready)
        )
    );
}

#[test]
fn what_is_cut_off_stays_so_until_new_pods_take_traffic() {
    let mut played = Played::new(5, false);
    played.play(&rules(counts(3, 2, 0)), 60);
    let plan = played.round(&rules(counts(5, 2, 0)));
    assert_eq!((plan.replicas, played.serving()), (7, 5));
    played.play(&rules(counts(5, 2, 0)), 60);
    assert_eq!(played.counts(), counts(5, 2, 0));
    assert_eq!(played.serving(), 5);
}

#[test]
fn a_scale_in_deletes_what_has_been_out_of_traffic_for_the_drain() {
    for ordinals in [false, true] {
        let mut played = Played::new(6, ordinals);
        played.play(&rules(counts(4, 2, 0)), 60);
        let (shrunk, before) = (rules(counts(3, 1, 0)), played.second);
        for _ in 0..90 {
            let was = played.gone.len();
            played.round(&shrunk);
            for pod in &played.gone[was..] {
                let since = pod.off_since.expect("it was taken out of traffic first");
                assert!(at(played.second).duration_since(since) >= DRAIN);
            }
            assert!(played.serving() >= 3);
            played.pass();
        }
        assert!(played.second > before);
        assert_eq!(played.counts(), counts(3, 1, 0), "ordinals: {ordinals}");
        if ordinals {
            let top = played.seen();
            assert_eq!(top[0].state, PodState::Cutoff, "the highest goes next");
        }
    }
}

#[test]
fn victims_that_come_one_by_one_are_each_drained() {
    let mut played = Played::new(8, false);
    let mut online = 8;
    for second in 0..900 {
        if second % 15 == 0 && online > 3 {
            online -= 1;
        }
        let rules = ProfileRules {
            drain: SignedDuration::from_secs(300),
            ..rules(counts(online, 0, 0))
        };
        let was = played.gone.len();
        played.round(&rules);
        for pod in &played.gone[was..] {
            let since = pod.off_since.expect("it was taken out of traffic first");
            assert!(at(played.second).duration_since(since) >= rules.drain);
        }
        played.pass();
    }
    assert_eq!(played.counts(), counts(3, 0, 0));
}

#[test]
fn the_highest_ordinal_does_not_go_for_a_lower_one_that_is_not_ready() {
    for is_ready_again in [true, false] {
        let mut played = Played::new(5, true);
        played.pods[1].1.ready_since = None;
        played.play(&rules(counts(4, 0, 0)), 30);
        assert_eq!((played.replicas, played.counts()), (5, counts(5, 0, 0)));
        if is_ready_again {
            for (_, pod) in &mut played.pods {
                pod.ready_since.get_or_insert(at(30));
            }
        }
        played.play(&rules(counts(4, 0, 0)), 60);
        assert_eq!(played.replicas, 4);
        // An endless wait is given up after a minute.
        assert_eq!(played.gone[0].state.is_off(), is_ready_again);
    }
}

#[test]
fn a_victim_with_a_cost_of_its_user_goes_once_no_harm_is_done_to_others() {
    let mut played = Played::new(4, false);
    played.play(&rules(counts(2, 2, 0)), 60);
    for (_, pod) in &mut played.pods {
        pod.takes_mark = false;
    }
    played.play(&rules(counts(2, 1, 0)), 60);
    assert_eq!(played.counts(), counts(2, 1, 0));
    assert!(played.gone[0].off_since.is_some());
}

#[test]
fn limits_refuse_what_is_beyond_them_and_scale_in_goes_on() {
    let mut played = Played::new(4, false);
    played.limits.max_unavailable = Some(1);
    let plan = played.play(&rules(counts(2, 2, 0)), 60);
    assert_eq!(played.counts(), counts(3, 1, 0));
    let refused = ProfileRefusal::MaxUnavailable {
        wanted: 2,
        allowed: 1,
    };
    assert_eq!(plan.refusals, [refused]);
    // Nothing may be taken out of traffic, and Pods go as they are.
    played.limits.max_unavailable = Some(0);
    let plan = played.round(&rules(counts(2, 2, 0)));
    assert_eq!(played.counts(), counts(4, 0, 0), "{plan:?}");
    played.play(&rules(counts(2, 0, 0)), 60);
    assert_eq!(played.counts(), counts(2, 0, 0));
}

#[test]
fn a_budget_without_disruptions_left_holds_its_own_pods() {
    let mut played = Played::new(4, false);
    played.limits.budgets = vec![Budget {
        name: "web".to_owned(),
        allowed: 1,
        is_absolute: false,
        covers: vec![0, 1, 2],
    }];
    let plan = played.round(&rules(counts(1, 3, 0)));
    let changed: Vec<usize> = plan.changes.iter().map(|change| change.pod).collect();
    assert_eq!(changed, [0, 3]);
    let refused = ProfileRefusal::DisruptionBudget {
        name: "web".to_owned(),
    };
    assert_eq!(plan.refusals, [refused]);
}

/// Ten Pods under a budget that lets one go at a time, and sees `lag` seconds late that Pods have gone.
fn scaled_in_under_a_budget(lag: i64, is_absolute: bool) -> Played {
    let mut played = Played::new(10, false);
    let mut off: Vec<i32> = Vec::new();
    for second in 0..600 {
        let allowed = i32::from(!is_absolute && second >= 20);
        let seen_late = off.len().checked_sub(1 + usize::try_from(lag).unwrap());
        let late = seen_late.map_or(0, |at| off[at]);
        off.push(played.counts().parked());
        let parked = late.max(played.counts().parked());
        played.limits.budgets = vec![Budget {
            name: "web".to_owned(),
            allowed: (allowed - parked).max(0),
            is_absolute,
            covers: (0..played.pods.len()).collect(),
        }];
        played.round(&rules(counts(7, 0, 0)));
        played.pass();
    }
    played
}

#[test]
fn a_budget_that_is_used_up_for_a_moment_is_waited_for() {
    for lag in [0, 1, 5, 15] {
        let played = scaled_in_under_a_budget(lag, false);
        assert_eq!(played.counts(), counts(7, 0, 0), "{lag}");
        assert!(played.gone.iter().all(|pod| pod.state.is_off()), "{lag}");
    }
    let played = scaled_in_under_a_budget(0, true);
    assert_eq!(
        played.counts(),
        counts(7, 0, 0),
        "one that never lets any go"
    );
}

#[test]
fn a_limit_that_is_used_up_for_long_lets_one_pod_go_at_a_time() {
    let mut played = Played::new(10, false);
    let mut ordered = Played::new(10, true);
    for played in [&mut played, &mut ordered] {
        played.limits.budgets = vec![Budget {
            name: "web".to_owned(),
            allowed: 0,
            is_absolute: false,
            covers: (0..10).collect(),
        }];
        let mut fell = Vec::new();
        for _ in 0..200 {
            let before = played.replicas;
            let plan = played.round(&rules(counts(7, 0, 0)));
            assert!(before - played.replicas <= 1, "{plan:?}");
            if before > played.replicas {
                fell.push(played.second);
            }
            played.pass();
        }
        assert_eq!(played.replicas, 7);
        assert!(fell[0] >= 60 && fell[1] - fell[0] >= 60, "{fell:?}");
    }
}

#[test]
fn a_pod_whose_resources_are_withheld_takes_no_traffic_and_another_one_does() {
    let mut played = Played::new(4, false);
    played.play(&rules(counts(2, 0, 2)), 60);
    let off: Vec<usize> = (0..4)
        .filter(|&at| played.pods[at].1.state.is_off())
        .collect();
    let [one, other] = off[..] else {
        panic!("{off:?}")
    };
    played.pods[one].1.state = PodState::Cutoff;
    played.pods[one].1.resources = PodResources::Withheld;
    let plan = played.round(&rules(counts(3, 0, 1)));
    let to = PodState::Cutoff;
    assert_eq!(plan.changes, [StateChange { pod: other, to }]);
    let plan = played.round(&rules(counts(4, 0, 0)));
    assert!(
        plan.refusals
            .contains(&ProfileRefusal::Withheld { pods: 1 }),
        "{plan:?}"
    );
}

#[test]
fn pods_without_a_gate_stay_in_traffic_and_say_so() {
    let mut played = Played::new(4, false);
    for (_, pod) in &mut played.pods {
        pod.is_gated = false;
    }
    let plan = played.play(&rules(counts(2, 2, 0)), 20);
    assert_eq!(plan.refusals, [ProfileRefusal::NoGate { pods: 2 }]);
    assert_eq!(played.counts(), counts(4, 0, 0));
    played.play(&rules(counts(2, 0, 0)), 20);
    assert_eq!(played.counts(), counts(2, 0, 0));
}

#[test]
fn a_pod_that_something_else_keeps_from_traffic_is_stood_in_for() {
    let mut played = Played::new(4, false);
    played.play(&rules(counts(3, 1, 0)), 30);
    assert_eq!(played.counts(), counts(3, 1, 0));
    // Its containers are ready, and a further gate of it is shut.
    let online = played.pods.iter_mut().find(|(_, pod)| !pod.state.is_off());
    let (_, online) = online.unwrap();
    online.ready_since = None;
    let plan = played.round(&rules(counts(3, 1, 0)));
    assert_eq!(plan.changes.len(), 1, "{plan:?}");
    assert_eq!(plan.changes[0].to, PodState::Online);
}

#[test]
fn paused_and_a_direction_that_is_not_allowed_change_nothing() {
    for (case, paused, direction, wanted, moves) in [
        ("paused", true, Direction::Both, counts(6, 0, 0), false),
        ("neither", false, Direction::Neither, counts(6, 0, 0), false),
        (
            "neither, with the same online",
            false,
            Direction::Neither,
            counts(4, 1, 0),
            true,
        ),
        (
            "down, and up is wanted",
            false,
            Direction::Down,
            counts(6, 0, 0),
            false,
        ),
        (
            "down, and down is wanted",
            false,
            Direction::Down,
            counts(3, 1, 0),
            true,
        ),
        (
            "up, and down is wanted",
            false,
            Direction::Up,
            counts(3, 1, 0),
            false,
        ),
        (
            "up, and up is wanted",
            false,
            Direction::Up,
            counts(5, 0, 0),
            true,
        ),
    ] {
        let mut played = Played::new(4, false);
        let rules = ProfileRules {
            paused,
            direction,
            ..rules(wanted)
        };
        let plan = played.round(&rules);
        let moved = plan.replicas != 4 || !plan.changes.is_empty();
        assert_eq!(moved, moves, "{case}: {plan:?}");
        assert_eq!(plan.refusals.is_empty(), moves, "{case}");
    }
}

#[test]
fn while_its_pods_are_replaced_none_is_chosen() {
    let pods = Played::new(4, false).seen();
    let situation = ProfileInput {
        replicas: 4,
        pods: &pods,
        limits: &DisruptionLimits::default(),
        is_rolling: true,
        progress: RolloutProgress::Complete,
        min_ready: SignedDuration::ZERO,
        waits_since: None,
        now: at(0),
    };
    let plan = decide(&rules(counts(2, 1, 0)), &situation);
    assert_eq!(
        (plan.replicas, plan.changes.len(), plan.victims.len()),
        (3, 0, 0)
    );
}

#[test]
fn a_workload_that_waits_for_each_pod_has_one_out_of_traffic_and_none_while_it_grows() {
    let mut played = Played::new(4, true);
    played.limits.is_ordered = true;
    let plan = played.play(&rules(counts(2, 2, 0)), 40);
    assert_eq!(plan.refusals, [ProfileRefusal::Ordered { wanted: 2 }]);
    assert_eq!(played.counts(), counts(3, 1, 0));
    let plan = played.round(&rules(counts(4, 1, 0)));
    assert_eq!((plan.replicas, played.counts()), (4, counts(4, 0, 0)));
    let plan = played.round(&rules(counts(4, 1, 0)));
    assert_eq!(plan.replicas, 5);
}

#[test]
fn a_rollout_that_waits_for_all_pods_has_none_out_of_traffic() {
    for is_ordered in [true, false] {
        let mut played = Played::new(4, is_ordered);
        played.limits.is_ordered = is_ordered;
        let wanted = rules(counts(3, 1, 0));
        // None is taken out of traffic before the first version is out.
        played.progress = RolloutProgress::UnderWay;
        played.play(&wanted, 60);
        assert_eq!(played.counts(), counts(4, 0, 0), "{is_ordered}");
        played.progress = RolloutProgress::Complete;
        played.play(&wanted, 20);
        assert_eq!(played.counts(), counts(3, 1, 0), "{is_ordered}");
        // A spec that has not been seen yet changes nothing.
        played.progress = RolloutProgress::Unseen;
        played.play(&wanted, 20);
        assert_eq!(played.counts(), counts(3, 1, 0), "{is_ordered}");
        played.progress = RolloutProgress::UnderWay;
        played.play(&wanted, 20);
        assert_eq!(played.counts(), counts(4, 0, 0), "{is_ordered}");
        // One that never is out does not keep its Pods for ever.
        played.play(&rules(counts(2, 0, 0)), 200);
        assert_eq!(played.counts(), counts(2, 0, 0), "{is_ordered}");
    }
}

#[test]
fn a_pod_is_cut_off_once_the_others_are_available() {
    let mut played = Played::new(4, false);
    for (_, pod) in &mut played.pods {
        pod.ready_since = Some(at(0));
    }
    played.min_ready = SignedDuration::from_secs(30);
    played.play(&rules(counts(3, 1, 0)), 30);
    assert_eq!(played.counts(), counts(4, 0, 0));
    played.play(&rules(counts(3, 1, 0)), 2);
    assert_eq!(played.counts(), counts(3, 1, 0));
}

#[test]
fn who_goes_next_is_not_put_on_standby_in_its_last_moment() {
    for (first, second) in [
        (counts(6, 1, 0), counts(4, 0, 1)),
        (counts(3, 2, 1), counts(0, 1, 2)),
    ] {
        let mut played = Played::new(first.total(), false);
        played.lag = 4;
        played.play(&rules(first), 200);
        for _ in 0..100 {
            let was = played.gone.len();
            played.round(&rules(second));
            for pod in &played.gone[was..] {
                let since = pod.off_since.expect("it was taken out of traffic first");
                assert!(
                    at(played.second).duration_since(since) >= DRAIN,
                    "{played:?}"
                );
            }
            played.pass();
        }
        assert_eq!(played.counts(), second);
    }
}

prop_compose! {
    fn any_counts()(online in 0i32..7, cutoff in 0i32..4, standby in 0i32..3) -> ReplicaCounts {
        counts(online, cutoff, standby)
    }
}

proptest! {
    /// From any counts to any others: it ends where it is wanted, takes no Pod out of traffic that is needed
    /// or beyond the limit, and deletes none in traffic.
    #[test]
    fn every_way_ends_where_it_is_wanted(first in any_counts(), second in any_counts(),
        ordinals: bool, most in prop::option::of(0i32..7), lag in 0i64..5) {
        let mut played = Played::new(first.total(), ordinals);
        played.lag = lag;
        played.limits.max_unavailable = most;
        played.play(&rules(first), 200);
        for _ in 0..300 {
            let (serving, off, gone) = (played.serving(), played.counts().parked(), played.gone.len());
            played.round(&rules(second));
            prop_assert!(played.serving() >= serving.min(second.online), "{played:?}");
            if let Some(most) = most {
                prop_assert!(played.counts().parked() <= most.max(off));
                // If those that stay out of traffic take all the room, no other Pod can be taken out of it.
                let has_room = most > second.parked();
                prop_assert!(!has_room || played.gone[gone..].iter().all(|pod| pod.state.is_off() || !pod.containers_ready),
                    "{played:?}");
            }
            let drained = |pod: &&ProfilePod| pod.off_since.is_none_or(|since| at(played.second).duration_since(since) >= DRAIN);
            prop_assert!(played.gone[gone..].iter().filter(|pod| !drained(pod)).count() == 0, "{played:?}");
            played.pass();
        }
        let off = second.parked().min(most.unwrap_or(i32::MAX));
        prop_assert_eq!(count(&played.pods), second.total());
        prop_assert_eq!(played.counts().parked(), off);
        prop_assert_eq!(played.replicas, second.total());
        if most.is_none() {
            prop_assert_eq!(played.counts(), second);
        }
    }
}

#[test]
fn what_is_being_deleted_is_left_alone() {
    let mut played = Played::new(8, false);
    played.limits.max_unavailable = Some(4);
    let shrunk = rules(counts(3, 2, 0));
    played.play(&shrunk, 20);
    assert_eq!(played.counts(), counts(4, 4, 0), "as many as may be");
    played.pods.sort_by_key(|(number, _)| *number);
    // The count has fallen, and its controller has not deleted a Pod yet.
    let pods = played.seen();
    let limits = DisruptionLimits {
        max_unavailable: Some(2),
        ..DisruptionLimits::default()
    };
    let situation = ProfileInput {
        replicas: 5,
        pods: &pods,
        limits: &limits,
        is_rolling: false,
        progress: RolloutProgress::Complete,
        min_ready: SignedDuration::ZERO,
        waits_since: None,
        now: at(100),
    };
    let plan = decide(&shrunk, &situation);
    assert_eq!((plan.replicas, &plan.changes[..]), (5, &[][..]));
    assert!(!plan.victims.is_empty(), "they are still marked");
}
