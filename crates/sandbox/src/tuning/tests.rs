use super::*;
use jiff::SignedDuration;

/// Days that rise by a half and fall again, with noise of 8 %, a sample a minute, for four days.
fn waves(resource: TunedResource) -> Wanted {
    let unit = match resource {
        TunedResource::Cpu => 1000.0,
        TunedResource::Memory => 2e9,
    };
    let minute = |minute: usize| {
        let phase = count_as_f64(minute) / 1440.0 * std::f64::consts::TAU;
        let noise = count_as_f64(minute * 7919 % 17) / 8.0 - 1.0;
        unit * (1.0 - 0.5 * phase.cos()) * (1.0 + 0.08 * noise)
    };
    Wanted {
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
    let wanted = Wanted {
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
    let memory = Wanted {
        resource: TunedResource::Memory,
        ..wanted
    };
    assert_eq!(run(&memory, PolicyName::Fixed, RHYTHM, 1.0).oom_kills, 1);
}

#[test]
fn evenkeel_follows_a_day_without_holding_anything_back() {
    for resource in TunedResource::ALL {
        let wanted = waves(resource);
        let outcome = run(&wanted, PolicyName::Evenkeel, RHYTHM, 1.0);
        let fixed = run(&wanted, PolicyName::Fixed, RHYTHM, 1.0);
        assert!(outcome.slack < 0.3 && fixed.slack > 1.5, "{outcome:?}");
        assert!(outcome.unserved_share < 0.01, "{outcome:?}");
        assert!(outcome.resizes > 10);
    }
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

#[test]
fn a_container_that_is_killed_gets_more_from_vpa_and_from_evenkeel() {
    let wanted = Wanted {
        values: vec![1e9; 1440],
        limit: Amount::new(500_000_000),
        skipped: 0,
        ..waves(TunedResource::Memory)
    };
    for policy in [PolicyName::Vpa, PolicyName::Evenkeel] {
        let outcome = run(&wanted, policy, RHYTHM, 1.0);
        assert!(*outcome.limits.last().unwrap() > 1e9, "{policy}");
    }
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
