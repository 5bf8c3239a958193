use evenkeel_units::Amount;
use evenkeel_units::cpu_memory::{CpuMemory, TunedResource};
use evenkeel_units::request_and_limit::RequestAndLimit;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::*;

fn samples(values: [u64; SAMPLES]) -> MinuteSamples {
    MinuteSamples(values.map(Amount::new))
}

fn container(resource: TunedResource, request: u64, limit: u64) -> TuningInput {
    TuningInput {
        resource,
        current: RequestAndLimit {
            request: Some(Amount::new(request)),
            limit: Some(Amount::new(limit)),
        },
        original: None,
        was_killed: false,
        guaranteed: false,
        scaled_by: false,
        working_set: None,
        bounds: TuningBounds::default(),
    }
}

/// For a Guaranteed Pod's container with original limit 600.
fn next(resource: TunedResource, limit: u64, values: [u64; SAMPLES]) -> u64 {
    let mut one = container(resource, limit, limit);
    one.guaranteed = true;
    one.original = Some(Amount::new(600));
    let decision = decide(&one, Some(&samples(values)), Elasticity::default());
    decision.map_or(limit, |decision| decision.values.limit.unwrap().get())
}

#[test]
fn a_container_that_idles_keeps_a_tenth_and_gets_all_back_when_it_is_held_at_it() {
    let mut limit = 600;
    for turn in 0..12 {
        limit = next(
            TunedResource::Cpu,
            limit,
            [1, 1, 1, 1, 0].map(|used| used * (turn % 3)),
        );
        limit = next(TunedResource::Cpu, limit, [1, 1, 1, 1, 0]);
    }
    assert_eq!(limit, 60, "whole millicores jitter by more than 5 %");
    assert_eq!(next(TunedResource::Cpu, limit, [60; SAMPLES]), 600);
    // One that has only just come to its limit takes a step.
    assert_eq!(next(TunedResource::Cpu, limit, [10, 20, 30, 40, 60]), 63);
}

#[test]
fn a_container_below_what_it_uses_gets_that_in_one_step() {
    // Kubelet enforces no less than 10m, so use may exceed the limit.
    assert_eq!(next(TunedResource::Cpu, 5, [2, 4, 8, 9, 10]), 11);
    let mut one = container(TunedResource::Cpu, 5, 5);
    let bursts = samples([1, 2, 20, 30, 40]);
    one.guaranteed = true;
    let decision = decide(&one, Some(&bursts), Elasticity::default()).unwrap();
    assert_eq!(decision.values.limit, Some(Amount::new(42)));
}

#[test]
fn a_limit_outside_of_what_its_owner_allows_comes_in_by_steps_and_use_comes_first() {
    let steady = samples([100; SAMPLES]);
    let mut one = container(TunedResource::Cpu, 100, 2000);
    one.bounds.allowed.most = Some(Amount::new(500));
    let mut limits = Vec::new();
    while let Ok(decision) = decide(&one, Some(&steady), Elasticity::default()) {
        one.current = decision.values;
        limits.push(decision.values.limit.unwrap().get());
    }
    assert_eq!(limits, [1000, 500]);
    one.current.limit = Some(Amount::new(600));
    let used = samples([550; SAMPLES]);
    let refused = decide(&one, Some(&used), Elasticity::default());
    let both = [Bound::HighestSample, Bound::MaxAllowed];
    assert_eq!(refused, Err(TuningSkipReason::Contradiction(both)));
    // A step that the API server would refuse is not requested.
    one.current.limit = Some(Amount::new(2000));
    one.bounds.limit_range.most = Some(Amount::new(600));
    let refused = decide(&one, Some(&steady), Elasticity::default());
    let both = [Bound::Step, Bound::LimitRange];
    assert_eq!(refused, Err(TuningSkipReason::Contradiction(both)));
}

#[test]
fn memory_of_a_container_that_was_killed_is_not_below_what_it_was_made_with() {
    let mut one = container(TunedResource::Memory, 200 << 20, 200 << 20);
    one.guaranteed = true;
    one.original = Some(Amount::new(512 << 20));
    one.was_killed = true;
    let falling = samples([150, 140, 130, 120, 100].map(|mebibytes| mebibytes << 20));
    let decision = decide(&one, Some(&falling), Elasticity::default()).unwrap();
    assert_eq!(decision.values.limit, Some(Amount::new(512 << 20)));
    assert_eq!(decision.limited_by, Some(Bound::MadeWith));
    // A later rule of its owner comes first.
    one.bounds.allowed.most = Some(Amount::new(300 << 20));
    let decision = decide(&one, Some(&falling), Elasticity::default()).unwrap();
    assert_eq!(decision.values.limit, Some(Amount::new(300 << 20)));
}

#[test]
fn the_target_is_the_mean_widened_where_usage_rises_and_narrowed_where_it_falls() {
    for (values, trend, wanted) in [
        ([100, 110, 120, 130, 140], Trend::Rising, Some(144)),
        ([140, 130, 120, 110, 100], Trend::Falling, Some(100)),
        ([100, 100, 100, 100, 105], Trend::Steady, None),
        ([100, 100, 100, 100, 95], Trend::Steady, None),
        ([100, 100, 100, 100, 106], Trend::Rising, Some(121)),
        ([0, 0, 0, 0, 0], Trend::Steady, None),
        ([0, 0, 0, 0, 50], Trend::Rising, Some(12)),
    ] {
        let samples = samples(values);
        assert_eq!(Trend::of(&samples), trend, "{values:?}");
        let target = target(&samples, trend, Elasticity::default());
        assert_eq!(target, wanted.map(Amount::new), "{values:?}");
    }
}

#[test]
fn each_bound_holds_and_is_named() {
    let falling = [500, 400, 300, 200, 100];
    let rising = [300, 320, 340, 360, 380];
    let amount = |value| Some(Amount::new(value));
    let with = |change: fn(&mut TuningInput)| {
        let mut container = container(TunedResource::Cpu, 100, 600);
        change(&mut container);
        container
    };
    for (container, values, limit, bound) in [
        // 300 / 1.2 = 250 is below what it has just used.
        (with(|_| {}), falling, 525, Some(Bound::HighestSample)),
        (with(|_| {}), rising, 408, None),
        (
            with(|one| one.current.request = Some(Amount::new(550))),
            rising,
            550,
            Some(Bound::Request),
        ),
        (
            with(|one| one.bounds.allowed.least = Some(Amount::new(580))),
            rising,
            580,
            Some(Bound::MinAllowed),
        ),
        (
            with(|one| one.bounds.allowed.most = Some(Amount::new(405))),
            rising,
            405,
            Some(Bound::MaxAllowed),
        ),
        (
            with(|one| one.bounds.limit_range.most = Some(Amount::new(400))),
            rising,
            400,
            Some(Bound::LimitRange),
        ),
        (
            with(|one| one.working_set = Some(Amount::new(500))),
            rising,
            550,
            Some(Bound::WorkingSet),
        ),
        (
            with(|one| one.current.limit = Some(Amount::new(1000))),
            rising,
            500,
            Some(Bound::Step),
        ),
    ] {
        let decision = decide(&container, Some(&samples(values)), Elasticity::default());
        let decision = decision.unwrap();
        assert_eq!(decision.values.limit, amount(limit), "{container:?}");
        assert_eq!(decision.limited_by, bound, "{container:?}");
        assert_eq!(decision.values.request, container.current.request);
    }
}

#[test]
fn a_limit_grows_only_as_far_as_quota_and_node_leave_room_and_falls_whatever_they_leave() {
    let rising = samples([500, 520, 540, 560, 580]);
    let mut one = container(TunedResource::Cpu, 100, 600);
    one.bounds.quota_limits = Some(Amount::new(20));
    let decision = decide(&one, Some(&rising), Elasticity::default()).unwrap();
    assert_eq!(decision.values.limit, Some(Amount::new(620)));
    assert_eq!(decision.limited_by, Some(Bound::Quota));
    one.bounds.quota_limits = None;
    one.bounds.node = Some(Amount::new(30));
    let decision = decide(&one, Some(&rising), Elasticity::default()).unwrap();
    assert_eq!(decision.values.limit, Some(Amount::new(610)));
    assert_eq!(decision.limited_by, Some(Bound::NodeHeadroom));
    one.bounds.node = Some(Amount::ZERO);
    let falling = samples([400, 350, 300, 250, 200]);
    let decision = decide(&one, Some(&falling), Elasticity::default()).unwrap();
    assert_eq!(decision.values.limit, Some(Amount::new(420)));
}

#[test]
fn what_stays_as_it_is_says_why() {
    let rising = samples([500, 520, 540, 560, 580]);
    let lambda = Elasticity::default();
    let mut one = container(TunedResource::Cpu, 100, 600);
    assert_eq!(
        decide(&one, None, lambda),
        Err(TuningSkipReason::FewSamples)
    );
    let steady = samples([500; SAMPLES]);
    assert_eq!(
        decide(&one, Some(&steady), lambda),
        Err(TuningSkipReason::Steady)
    );
    one.bounds.allowed.most = Some(Amount::new(500));
    let both = [Bound::HighestSample, Bound::MaxAllowed];
    let contradiction = TuningSkipReason::Contradiction(both);
    assert_eq!(decide(&one, Some(&rising), lambda), Err(contradiction));
    one.current.limit = None;
    assert_eq!(
        decide(&one, Some(&rising), lambda),
        Err(TuningSkipReason::NoLimit)
    );
    let mut starved = container(TunedResource::Cpu, 100, 600);
    let full = samples([600; SAMPLES]);
    let decision = decide(&starved, Some(&full), lambda).unwrap();
    assert_eq!(
        (decision.trend, decision.values.limit),
        (Trend::AtLimit, Some(Amount::new(720)))
    );
    starved.current.limit = Some(Amount::new(640));
    assert_eq!(
        decide(&starved, Some(&full), lambda),
        Err(TuningSkipReason::Steady)
    );
    let mut guaranteed = container(TunedResource::Cpu, 600, 600);
    guaranteed.guaranteed = true;
    guaranteed.scaled_by = true;
    let refused = decide(&guaranteed, Some(&rising), lambda);
    assert_eq!(refused, Err(TuningSkipReason::ScaledByRequest));
    let mut burstable = container(TunedResource::Cpu, 600, 600);
    burstable.scaled_by = true;
    let decision = decide(&burstable, Some(&rising), lambda).unwrap();
    assert_eq!(decision.values.request, Some(Amount::new(600)));
}

#[test]
fn a_window_takes_each_sample_once_and_begins_anew_after_a_gap() {
    let at = |second| Timestamp::from_second(second).unwrap();
    let minute = SignedDuration::from_mins(1);
    let age = SignedDuration::from_mins(2);
    let mut window = SampleWindow::default();
    for second in [0, 15, 30, 60, 75, 120, 180] {
        window.push(at(second), second, minute);
    }
    assert_eq!(window.samples(at(180), age), None, "there are four");
    window.push(at(240), 240, minute);
    assert_eq!(window.samples(at(250), age), Some([0, 60, 120, 180, 240]));
    assert_eq!(window.samples(at(361), age), None, "they are old");
    window.push(at(300), 300, minute);
    assert_eq!(window.samples(at(300), age), Some([60, 120, 180, 240, 300]));
    window.push(at(460), 460, minute);
    assert_eq!(window.samples(at(460), age), None, "a gap");
}

#[test]
fn samples_of_a_clock_that_runs_ahead_count_for_nothing_and_go_when_it_is_set() {
    let at = |second| Timestamp::from_second(second).unwrap();
    let minute = SignedDuration::from_mins(1);
    let age = SignedDuration::from_mins(2);
    let mut window = SampleWindow::default();
    for second in [3600, 3660, 3720, 3780, 3840] {
        window.push(at(second), second, minute);
    }
    assert_eq!(window.samples(at(240), age), None);
    for second in [300, 360, 420, 480, 540] {
        window.push(at(second), second, minute);
    }
    assert_eq!(
        window.samples(at(540), age),
        Some([300, 360, 420, 480, 540])
    );
    // Another replica of the source is a little behind.
    window.push(at(525), 525, minute);
    assert_eq!(
        window.samples(at(540), age),
        Some([300, 360, 420, 480, 540])
    );
}

#[test]
fn a_fresh_or_foreseen_scaling_comes_first() {
    let at = |second| Timestamp::from_second(second).unwrap();
    let fresh = SignedDuration::from_mins(5);
    let scaled = |second| HpaActivity {
        scaled: Some(at(second)),
        is_called_for: false,
    };
    assert!(HpaActivity::default().allows(at(0), fresh));
    assert!(!scaled(0).allows(at(299), fresh));
    assert!(scaled(0).allows(at(300), fresh));
    let called = HpaActivity {
        is_called_for: true,
        ..HpaActivity::default()
    };
    assert!(!called.allows(at(0), fresh));
}

#[test]
fn the_highest_of_each_node_are_those_of_a_sort() {
    let capacity = CpuMemory {
        cpu: Amount::new(4000),
        memory: Amount::new(1000),
    };
    let mut highest = HighestPods::new(vec![capacity; 2]);
    let mut all = Vec::new();
    for pod in 0..40_u64 {
        let used = CpuMemory {
            cpu: Amount::new(pod * 7919 % 400),
            memory: Amount::new(pod * 104_729 % 100),
        };
        highest.see(1, pod, used);
        let share = (used.cpu.get() * 250).max(used.memory.get() * 1000);
        all.push((std::cmp::Reverse(share), pod));
    }
    highest.see(7, 99, CpuMemory::default());
    all.sort_unstable();
    let nodes = highest.into_nodes();
    assert!(nodes[0].is_empty());
    let found: Vec<u64> = nodes[1].iter().map(|one| one.pod).collect();
    let sorted: Vec<u64> = all.iter().take(PER_NODE).map(|(_, pod)| *pod).collect();
    assert_eq!(found, sorted);
}

fn amount(most: u64) -> impl Strategy<Value = Amount> {
    (0..=most).prop_map(Amount::new)
}

fn range(most: u64) -> impl Strategy<Value = Range> {
    (
        proptest::option::of(amount(most)),
        proptest::option::of(amount(most)),
    )
        .prop_map(|(least, most)| Range { least, most })
}

prop_compose! {
    fn bounds(most: u64)(
        allowed in range(most),
        limit_range in range(most),
        quota_limits in proptest::option::of(amount(most)),
        quota_requests in proptest::option::of(amount(most)),
        node in proptest::option::of(amount(most)),
    ) -> TuningBounds {
        TuningBounds { allowed, limit_range, quota_limits, quota_requests, node }
    }
}

prop_compose! {
    fn any_container()(
        is_memory in any::<bool>(),
        scale in prop_oneof![Just(1_u64), Just(1 << 22)],
    )(
        resource in Just(if is_memory { TunedResource::Memory } else { TunedResource::Cpu }),
        limit in proptest::option::of((1..4000_u64).prop_map(move |value| Amount::new(value * scale))),
        request in proptest::option::of((0..4000_u64).prop_map(move |value| Amount::new(value * scale))),
        guaranteed in any::<bool>(),
        scaled_by in any::<bool>(),
        original in proptest::option::of((0..8000_u64).prop_map(move |value| Amount::new(value * scale))),
        was_killed in any::<bool>(),
        held in amount(4000 * scale),
        bounds in bounds(6000 * scale),
        values in proptest::array::uniform5((0..5000_u64).prop_map(move |value| Amount::new(value * scale))),
    ) -> (TuningInput, MinuteSamples) {
        let request = match (guaranteed, limit, request) {
            (true, limit, _) => limit,
            (false, Some(limit), Some(request)) => Some(request.min(limit)),
            (false, _, request) => request,
        };
        let container = TuningInput {
            resource,
            current: RequestAndLimit { request, limit },
            original,
            was_killed,
            guaranteed,
            scaled_by,
            working_set: (resource == TunedResource::Memory).then_some(held),
            bounds,
        };
        (container, MinuteSamples(values))
    }
}

fn at_least_share(amount: Amount, of: Amount, percent: u64) -> bool {
    u128::from(amount.get()) * 100 >= u128::from(of.get()) * u128::from(percent)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn no_decision_goes_past_a_bound((container, samples) in any_container()) {
        let Ok(decision) = decide(&container, Some(&samples), Elasticity::default()) else {
            return Ok(());
        };
        let limit = decision.values.limit.unwrap();
        let current = container.current.limit.unwrap();
        prop_assert!(at_least_share(limit, samples.highest(), 105));
        if let Some(held) = container.working_set {
            prop_assert!(at_least_share(limit, held, 110));
        }
        prop_assert!(!container.bounds.limit_range.excludes(limit));
        let grown = limit.saturating_sub(current);
        prop_assert!(container.bounds.quota_limits.is_none_or(|left| grown <= left));
        // Outside of its owner's bounds it comes nearer by a whole step.
        let Range { least, most } = container.bounds.allowed;
        let half = current.get() / 2;
        prop_assert!(most.is_none_or(|most| limit <= most || limit.get() == current.get() - half));
        prop_assert!(least.is_none_or(|least| limit >= least || limit.get() >= current.get() + half));
        prop_assert!(at_least_share(limit, current, 50));
        // More than a step is the original limit or recent use.
        let used = samples.highest().max(container.working_set.unwrap_or_default());
        let known = container.original.unwrap_or_default().max(Amount::new(used.get() / 10 * 11 + 11));
        prop_assert!(limit.get() * 2 <= current.get() * 3 || limit <= known);
        let request = decision.values.request;
        prop_assert!(request.is_none_or(|request| request <= limit));
        // Absent values are not added, and present ones are not removed.
        prop_assert_eq!(request.is_some(), container.current.request.is_some());
        if container.guaranteed {
            prop_assert_eq!(request, Some(limit));
            prop_assert!(container.bounds.quota_requests.is_none_or(|left| grown <= left));
            prop_assert!(container.bounds.node.is_none_or(|left| grown <= left));
            prop_assert!(!container.scaled_by);
        } else {
            prop_assert_eq!(request, container.current.request);
            let room = |left| samples.newest().saturating_add(left).max(current);
            prop_assert!(container.bounds.node.is_none_or(|left| limit <= room(left)));
        }
    }

    #[test]
    fn the_target_is_between_the_mean_and_a_fifth_off(values in proptest::array::uniform5(0..100_000_u64)) {
        let samples = samples(values);
        let trend = Trend::of(&samples);
        if let Some(target) = target(&samples, trend, Elasticity::default()) {
            let mean = samples.mean();
            prop_assert!(target.as_f64() <= mean * 1.2 + 1.0);
            prop_assert!(target.as_f64() >= mean / 1.2 - 1.0);
        }
    }
}
