use super::*;
use jiff::SignedDuration;

/// Four days that rise by a half and fall again, with noise of 8 %, a sample a minute.
fn waves(resource: TunedResource) -> ContainerDemand {
    let unit = match resource {
        TunedResource::Cpu => 1000.0,
        TunedResource::Memory => 2e9,
    };
    let minute = |minute: usize| {
        let phase = count_as_f64(minute) / 1440.0 * std::f64::consts::TAU;
        let noise = count_as_f64(minute * 7919 % 17) / 8.0 - 1.0;
        unit * (1.0 - 0.5 * phase.cos()) * (1.0 + 0.08 * noise)
    };
    ContainerDemand {
        resource,
        start: Timestamp::UNIX_EPOCH,
        step: SignedDuration::from_mins(1),
        values: (0..4 * 1440).map(minute).collect(),
        limit: Amount::from_f64(unit * 3.0),
        skipped: 1440,
    }
}

const RHYTHM: Rhythm = Rhythm { turn: 10 };

#[test]
fn a_fixed_limit_leaves_what_it_leaves() {
    let wanted = ContainerDemand {
        values: vec![50.0, 150.0, 100.0],
        limit: Amount::new(100),
        skipped: 0,
        ..waves(TunedResource::Cpu)
    };
    let outcome = run(&wanted, PolicyName::Fixed, RHYTHM, 1.0);
    assert_eq!(outcome.limits, [100.0; 3]);
    assert!((outcome.slack - 0.2).abs() < 1e-12, "{outcome:?}");
    assert!((outcome.throttled_share - 1.0 / 3.0).abs() < 1e-12);
    assert!((outcome.unserved_share - 50.0 / 300.0).abs() < 1e-12);
    let memory = ContainerDemand {
        resource: TunedResource::Memory,
        ..wanted
    };
    assert_eq!(run(&memory, PolicyName::Fixed, RHYTHM, 1.0).oom_kills, 1);
}

#[test]
fn evenkeel_follows_a_day_without_holding_anything_back() {
    let wanted = waves(TunedResource::Cpu);
    let outcome = run(&wanted, PolicyName::Evenkeel, RHYTHM, 1.0);
    let fixed = run(&wanted, PolicyName::Fixed, RHYTHM, 1.0);
    assert!(outcome.slack < 0.3 && fixed.slack > 1.5, "{outcome:?}");
    assert!(outcome.unserved_share < 0.01, "{outcome:?}");
    assert!(outcome.resizes > 10);
}

#[test]
fn memory_that_jumps_by_more_than_what_is_kept_free_is_killed_once_and_left_alone() {
    let wanted = ContainerDemand {
        skipped: 0,
        ..waves(TunedResource::Memory)
    };
    let outcome = run(&wanted, PolicyName::Evenkeel, RHYTHM, 1.0);
    assert_eq!(outcome.oom_kills, 1);
    assert!(*outcome.limits.last().unwrap() >= wanted.limit.as_f64());
    let thesis = run(&wanted, PolicyName::Thesis, RHYTHM, 1.0);
    assert!(thesis.oom_kills > 1);
}

#[test]
fn the_rule_alone_cuts_what_falls_below_what_it_just_used() {
    let wanted = waves(TunedResource::Cpu);
    let thesis = run(&wanted, PolicyName::Thesis, RHYTHM, 1.0);
    let own = run(&wanted, PolicyName::Evenkeel, RHYTHM, 1.0);
    assert!(
        thesis.throttled_share > own.throttled_share + 0.1,
        "{}",
        thesis.throttled_share
    );
}

#[test]
fn vpa_settles_above_nine_tenths_of_what_is_used() {
    let outcome = run(&waves(TunedResource::Cpu), PolicyName::Vpa, RHYTHM, 1.0);
    let last = outcome.limits.last().unwrap();
    // The 90th percentile of the wave is about 1490, and 15 % above it is more than its peak.
    assert!((1650.0..1850.0).contains(last), "{last}");
    assert!(outcome.throttled_share < 0.01);
}

/// Memory that falls for an hour, and is wanted again at once.
fn starts_again() -> ContainerDemand {
    let falling = (0..60).map(|minute| 4e8 * 0.97_f64.powi(minute));
    ContainerDemand {
        values: falling.chain([1.5e9; 30]).collect(),
        limit: Amount::new(2_000_000_000),
        skipped: 0,
        ..waves(TunedResource::Memory)
    }
}

#[test]
fn a_container_that_is_killed_below_what_it_was_made_with_gets_that_back_at_once() {
    let outcome = run(&starts_again(), PolicyName::Evenkeel, RHYTHM, 1.0);
    assert!(outcome.limits[60] < 1.5e9, "it was lowered");
    assert!(
        outcome.limits[61..].iter().all(|limit| *limit >= 2e9),
        "{:?}",
        outcome.limits
    );
    assert_eq!(outcome.oom_kills, 1);
    // The rule alone does not see kills.
    let thesis = run(&starts_again(), PolicyName::Thesis, RHYTHM, 1.0);
    assert!(*thesis.limits.last().unwrap() < 1.5e9);
}

#[test]
fn a_container_that_is_killed_at_what_it_was_made_with_gets_more_from_vpa_alone() {
    let wanted = ContainerDemand {
        values: vec![1e9; 1440],
        limit: Amount::new(500_000_000),
        skipped: 0,
        ..waves(TunedResource::Memory)
    };
    let last = |policy| *run(&wanted, policy, RHYTHM, 1.0).limits.last().unwrap();
    assert!(last(PolicyName::Vpa) > 1e9);
    // Without a measurement: a template must be changed, as `tune recommend` says.
    assert!((last(PolicyName::Evenkeel) - 5e8).abs() < 1.0);
}

#[test]
fn vpa_leaves_a_young_pod_alone_within_its_bounds_and_an_old_one_within_a_tenth() {
    let steady = |limit: u64, hours: usize| {
        let wanted = ContainerDemand {
            values: vec![1000.0; 60 * hours],
            limit: Amount::new(limit),
            skipped: 0,
            ..waves(TunedResource::Cpu)
        };
        run(&wanted, PolicyName::Vpa, RHYTHM, 1.0).resizes
    };
    // All percentiles of a constant use are equal, and 15 % above it is about 1200.
    assert_eq!(
        steady(1400, 11),
        0,
        "little is known, and the upper bound is far"
    );
    assert_eq!(steady(1400, 13), 1);
    assert_eq!(steady(1250, 48), 0, "less than a tenth");
    assert_eq!(steady(1000, 2), 1, "below the lower bound");
}

#[test]
fn a_margin_is_found_for_any_slack() {
    let wanted = waves(TunedResource::Cpu);
    for policy in [PolicyName::Fixed, PolicyName::Vpa, PolicyName::Evenkeel] {
        let margin = margin_for(&wanted, policy, RHYTHM, 0.4);
        let slack = run(&wanted, policy, RHYTHM, margin).slack;
        assert!((slack - 0.4).abs() < 0.05, "{policy} {margin} {slack}");
    }
}
