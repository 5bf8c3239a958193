//! Status and Events: how often they are written, and each change once.

use evenkeel_forecast::{
    Cover, Distrust, ForecastStep, HorizonAccuracy, Interval, ModelTrust, Rival,
};
use evenkeel_metrics::signal::Signal;
use evenkeel_objects::condition::ConditionStatus;
use evenkeel_units::Ratio;

use super::*;
use crate::counterfactual::{CounterfactualResult, PolicyRunResult};
use crate::limits::LimitedBy;
use crate::load::hpa_aware::PodCapacity;
use crate::tracker::{LoadReport, ModelReport};

const TRUSTED: ModelTrust = ModelTrust::Trusted {
    ratio: 0.83,
    rival: Rival::LastValue,
};

fn distrusted(ratio: f64) -> ModelTrust {
    ModelTrust::Untrusted(Distrust::NotBetterThanNaive { ratio: Some(ratio) })
}

fn with_load(trust: ModelTrust, fresh: bool) -> TickReport {
    let interval = Interval {
        lower: 1.0,
        upper: 9000.0,
    };
    let load = LoadReport {
        signal: Signal::CPU,
        now: Some(4100.0),
        at: Some(at(0)),
        measured: Some(at(0)),
        fresh,
        estimate: None,
        is_estimated: false,
        is_forecast: true,
        expected: None,
        capacity: PodCapacity::new(1500.0, Ratio::new(0.8).unwrap()).unwrap(),
        model: Some(ModelReport {
            name: "s-hpa",
            at_horizon: Some(ForecastStep {
                mean: 7200.0,
                interval80: interval,
                interval95: interval,
            }),
            trust,
            accuracy: HorizonAccuracy {
                scored: 120,
                mae: 83.0,
                naive_mae: 100.0,
                mase: Some(1.0),
                coverage80: 0.8,
                coverage95: 0.95,
            },
        }),
        cover: None,
        tried: None,
        lacking: Vec::new(),
    };
    TickReport {
        loads: vec![load],
        ..report(None, 0)
    }
}

fn run(world: &mut World, report: &TickReport, second: i64) -> Vec<Purpose> {
    let writes = world.plan(Some(report), at(second));
    world.apply(&writes);
    assert_eq!(world.plan(Some(report), at(second)), []);
    writes.iter().map(|write| write.purpose).collect()
}

#[test]
fn the_status_says_what_was_decided() {
    let mut world = World::new();
    let mut report = with_load(TRUSTED, true);
    report.decision.limited_by = Some(LimitedBy::DefaultScaleUp);
    assert_eq!(run(&mut world, &report, 0), [Purpose::ScalingStatus]);
    let text = world.hpa()["metadata"]["annotations"][SCALING_STATUS]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        text,
        concat!(
            r#"{"mode":"floor","replicas":2,"limitedBy":"DefaultScaleUp","#,
            r#""reason":"the floor is to be 2","horizonSeconds":60,"#,
            r#""horizonParts":{"age":0,"halfWindow":0,"sync":0,"tick":0,"startUp":0},"#,
            r#""model":"s-hpa","conditions":["#,
            r#"{"type":"ForecastTrusted","status":"True","reason":"BetterThanNaive","#,
            r#""message":"cpu: s-hpa trusted (error 0.83 of naive)","#,
            r#""lastTransitionTime":"2027-01-15T08:00:00Z"},"#,
            r#"{"type":"MetricsAvailable","status":"True","reason":"Measured","#,
            r#""message":"every load has a fresh measurement","#,
            r#""lastTransitionTime":"2027-01-15T08:00:00Z"}]}"#,
        )
    );
}

#[test]
fn conditions_that_somebody_else_wrote_are_none() {
    let mut world = World::new();
    run(&mut world, &with_load(TRUSTED, true), 0);
    let mut status = world.status().unwrap();
    let own = status.conditions.clone();
    for number in 0..100 {
        let mut forged = own[0].clone();
        forged.kind = format!("Forged{number}");
        status.conditions.insert(0, forged);
    }
    status.conditions.extend(own.clone());
    let text = serde_json::to_string(&status).unwrap();
    let endless = " ".repeat(40_000) + &text;
    for (text, read) in [(text, own.len()), (endless, 0)] {
        world.annotate(SCALING_STATUS, json!(text));
        let observed = world.observed();
        let found = TargetStatus::held_by(Owner::of(&observed).unwrap().metadata);
        assert_eq!(found.map_or(0, |found| found.conditions.len()), read);
    }
}

/// The harm: a status with one condition for each of two signals that fail was never read as it was
/// written, so it was written at every tick.
#[test]
fn signals_that_fail_are_one_condition_which_is_written_once() {
    let mut world = World::new();
    let failing = |count: usize, answer: &str| {
        let of = |number: usize| TargetProblem::SignalUnknown {
            signal: Box::new(Signal::Resource(format!("queue-{number}").as_str().into())),
            why: format!("HTTP 503: {answer}"),
        };
        (0..count).map(of).collect::<Vec<_>>()
    };
    let mut tick = |second: i64, problems: &[TargetProblem]| {
        let observed = world.observed();
        let mut resolved = world.resolve(at(second));
        resolved.problems.extend_from_slice(problems);
        let context = context(at(second));
        let report = with_load(TRUSTED, true);
        let writes = plan(
            &observed,
            &resolved,
            Some(&report),
            &mut world.memory,
            &context,
        );
        world.apply(&writes);
        let statuses = writes.iter();
        let statuses = statuses.filter(|write| write.purpose == Purpose::ScalingStatus);
        (statuses.count(), world.status().unwrap())
    };
    let (written, status) = tick(0, &failing(2, "down"));
    assert_eq!(written, 1);
    let of_kind = |status: &TargetStatus| {
        let conditions = status.conditions.iter();
        let unknown = conditions.filter(|one| one.kind == "SignalUnknown");
        unknown.map(|one| one.message.clone()).collect::<Vec<_>>()
    };
    let both = "queue-0: HTTP 503: down; queue-1: HTTP 503: down";
    assert_eq!(of_kind(&status), [both]);
    assert_eq!(tick(15, &failing(2, "down")).0, 0, "it is there");
    for second in (30..300).step_by(15) {
        let another = format!("request {second}");
        assert_eq!(
            tick(second, &failing(2, &another)).0,
            0,
            "another text each time"
        );
    }
    assert_eq!(tick(300, &failing(2, "busy")).0, 1, "now and then");
    let (_, status) = tick(600, &failing(17, &"x".repeat(200)));
    let told = of_kind(&status);
    assert!(
        told.len() == 1 && told[0].chars().count() <= 1001,
        "{told:?}"
    );
    assert_eq!(tick(615, &failing(17, &"x".repeat(200))).0, 0);
}

#[test]
fn what_floors_are_worth_stands_in_a_condition_with_its_figures() {
    let outcome = |under, replicas| PolicyRunResult { under, replicas };
    let mut cover = Cover::new(0.01, 1.28);
    let told = |cover, floors, plain, rival, cost_more| {
        let mut report = with_load(TRUSTED, true);
        let load = &mut report.loads[0];
        load.cover = Some(cover);
        load.tried = Some(CounterfactualResult {
            floors,
            plain,
            rival,
            cost_more,
        });
        let mut world = World::new();
        run(&mut world, &report, 0);
        let conditions = world.status().unwrap().conditions;
        let mut conditions = conditions.into_iter();
        let condition = conditions.find(|one| one.kind == "WorthEnabling").unwrap();
        (condition.status, condition.reason, condition.message)
    };
    let [floors, plain, rival] = [(0.008, 5.61), (0.07, 5.2), (0.03, 5.61)]
        .map(|(under, replicas)| outcome(under, replicas));
    let (status, reason, message) = told(cover, floors, plain, rival, false);
    assert_eq!((status, &*reason), (ConditionStatus::True, "Pays"));
    let expected = "cpu: over the last days, with floors: 12 min a day above target, at 5.6 replicas; the HPA \
                    as it is: 101 min, at 5.2; an HPA with a lower target at equal cost: 43 min";
    assert_eq!(message, expected);
    cover.put(2.0, 0.0, 1.5);
    let (_, _, message) = told(cover, floors, plain, rival, false);
    let limit = "; the risk of 1% needs more replicas than floors may cost";
    assert_eq!(message, format!("{expected}{limit}"));
    for (floors, plain, rival, cost_more, expected) in [
        (0.07, 0.08, 0.01, false, "LowerTarget"),
        (0.000, 0.001, 0.001, false, "NothingToSave"),
        (0.01, 0.2, 0.1, true, "CostMore"),
    ] {
        let [floors, plain, rival] = [floors, plain, rival].map(|under| outcome(under, 5.0));
        let (status, reason, message) = told(cover, floors, plain, rival, cost_more);
        assert_eq!((status, &*reason), (ConditionStatus::False, expected));
        let is_told = message.contains("two thirds of the target, which costs less than floors");
        assert_eq!(is_told, cost_more, "{message}");
    }
}

#[test]
fn figures_alone_wait_five_minutes_and_changes_do_not() {
    let mut world = World::new();
    assert_eq!(
        run(&mut world, &with_load(TRUSTED, true), 0),
        [Purpose::ScalingStatus]
    );
    let figures = with_load(
        ModelTrust::Trusted {
            ratio: 0.5,
            rival: Rival::LastValue,
        },
        true,
    );
    for second in (15..300).step_by(15) {
        assert_eq!(run(&mut world, &figures, second), [], "{second}");
    }
    assert_eq!(run(&mut world, &figures, 300), [Purpose::ScalingStatus]);
    let mut other = figures.clone();
    other.decision.replicas = 3;
    assert_eq!(run(&mut world, &other, 315), [Purpose::ScalingStatus]);
    other.decision.limited_by = Some(LimitedBy::ScaleUpDisabled);
    assert_eq!(run(&mut world, &other, 330), [Purpose::ScalingStatus]);
    world.annotate(SCALING_STATUS, json!("{"));
    assert_eq!(
        run(&mut world, &other, 345),
        [Purpose::ScalingStatus],
        "a damaged one"
    );
    world.annotate(SCALING, json!("off"));
    assert_eq!(
        run(&mut world, &other, 360),
        [Purpose::ScalingStatus],
        "it goes"
    );
    assert_eq!(
        world.hpa()["metadata"]["annotations"],
        json!({SCALING: "off"})
    );
}

#[test]
fn a_transition_is_told_once_and_keeps_its_time() {
    let mut world = World::new();
    let mut since = Vec::new();
    for (second, trust, fresh) in [
        (0, distrusted(1.2), true),
        (15, TRUSTED, true),
        (30, distrusted(1.3), true),
        (45, distrusted(1.4), false),
        (60, distrusted(1.4), false),
        (75, TRUSTED, true),
        (400, TRUSTED, true),
    ] {
        run(&mut world, &with_load(trust, fresh), second);
        let status = world.status().unwrap();
        let condition = status.condition("ForecastTrusted").unwrap();
        since.push(
            condition
                .last_transition_time
                .duration_since(at(0))
                .as_secs(),
        );
    }
    assert_eq!(since, [0, 15, 30, 30, 30, 75, 75]);
    // The second way back comes within five minutes of the first.
    assert_eq!(
        world.reasons(),
        ["ForecastTrusted", "ForecastUntrusted", "MetricsUnavailable"]
    );
    assert_eq!(
        world.told[1].1,
        "cpu: s-hpa not trusted (error 1.30 of naive)"
    );
}

#[test]
fn a_new_leader_takes_the_story_up_where_it_stands() {
    let mut world = World::new();
    run(&mut world, &with_load(TRUSTED, true), 0);
    world.memory = PlanMemory::default();
    let mut unmeasured = with_load(TRUSTED, false);
    unmeasured.loads[0].measured = None;
    assert_eq!(
        run(&mut world, &unmeasured, 30),
        [],
        "what has not been measured yet may come"
    );
    assert_eq!(world.reasons(), [""; 0]);
    let late = (45..=300)
        .step_by(15)
        .map(|second| run(&mut world, &unmeasured, second))
        .last();
    assert!(late.is_some());
    assert_eq!(world.reasons(), ["MetricsUnavailable"], "or it does not");
}

#[test]
fn more_replicas_are_recommended_when_they_change_and_not_too_often() {
    let mut world = World::new();
    world.annotate(SCALING, json!("recommend"));
    let counts = |world: &World| {
        world
            .reasons()
            .iter()
            .filter(|reason| **reason == "ReplicasRecommended")
            .count()
    };
    for second in (0..900).step_by(15) {
        let (replicas, told) = match second {
            0 => (4, 0),
            15..45 => (6, 1),
            45..315 => (7, 1),
            315..815 => (7, 2),
            _ => (3, 2),
        };
        let mut report = with_load(TRUSTED, true);
        report.decision.replicas = replicas;
        run(&mut world, &report, second);
        assert_eq!(counts(&world), told, "{second}");
    }
    assert_eq!(world.bounds(), (Some(2), 10));
}

#[test]
fn a_clock_that_was_far_ahead_does_not_silence_what_follows() {
    const AHEAD: i64 = 365 * 24 * 3600;
    let mut world = World::new();
    for second in [AHEAD, AHEAD + 15] {
        run(&mut world, &with_load(TRUSTED, true), second);
    }
    run(&mut world, &with_load(distrusted(2.0), true), AHEAD + 30);
    assert_eq!(world.reasons(), ["ForecastUntrusted"]);
    for second in [0, 15] {
        run(&mut world, &with_load(TRUSTED, true), second);
    }
    run(&mut world, &with_load(distrusted(2.0), true), 30);
    assert_eq!(
        world
            .reasons()
            .iter()
            .filter(|told| **told == "ForecastUntrusted")
            .count(),
        2,
        "{:?}",
        world.reasons()
    );
}

#[test]
fn an_estimated_load_is_no_missing_measurement() {
    let mut world = World::new();
    let mut report = with_load(TRUSTED, false);
    report.loads[0].is_estimated = true;
    run(&mut world, &report, 0);
    let told = |world: &mut World| {
        let status = world.hpa()["metadata"]["annotations"][SCALING_STATUS].clone();
        let status: TargetStatus = serde_json::from_str(status.as_str().unwrap()).unwrap();
        let condition = status.condition("MetricsAvailable").unwrap().clone();
        (condition.status, condition.reason, condition.message)
    };
    let message = "cpu is estimated until the Pods settle";
    assert_eq!(
        told(&mut world),
        (
            ConditionStatus::True,
            "Estimated".to_owned(),
            message.to_owned()
        )
    );
    report.loads[0].is_estimated = false;
    run(&mut world, &report, 15);
    let (status, reason, _) = told(&mut world);
    assert_eq!((status, reason.as_str()), (ConditionStatus::False, "Stale"));
}
