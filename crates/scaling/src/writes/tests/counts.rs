//! CronHPAs on a workload that nothing else scales: its count, the record of the user's, and whatever takes
//! the one or the other away.

use evenkeel_cron::CronEffect;
use evenkeel_objects::bounds::ObjectBounds;

use super::*;
use crate::crons::{CronProblem, scaled};
use crate::merge::recommendation::Provider;
use crate::specs::cron_hpa::CheckedCronHpa;
use crate::targets::bounds::ObservedBounds;

const DIRECT: [(&str, &str); 3] = [
    (SCALING, "direct"),
    ("evenkeel.dev/min-replicas", "2"),
    ("evenkeel.dev/max-replicas", "10"),
];

/// The recommendation of a CronHPA, within bounds of the user's.
fn asking(min: i32, user: ObjectBounds, second: i64) -> Recommendation {
    let who = Provider::Cron("sale".to_owned());
    Recommendation::of_cron(who, min, user, Some(at(second + 7200)))
}

/// A CronHPA with a status that asks for that many replicas.
fn sale(active: Option<i32>) -> CheckedCronHpa {
    let object = json!({
        "metadata": {"name": "sale", "namespace": "shop"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"},
            "crons": [{"schedule": "0 8 * * *", "target": 6}]},
        "status": active.map(|min| json!({"active": {"minReplicas": min}})),
    });
    let object = serde_json::from_value(object).unwrap();
    CheckedCronHpa::new(Arc::new(object), None)
}

impl World {
    /// The workload that nothing scales, with a mode or none.
    fn counted(mode: Option<&str>) -> Self {
        let annotations: Vec<_> = mode.iter().map(|mode| (SCALING, *mode)).collect();
        Self::alone(&annotations)
    }

    fn workload(&mut self) -> &mut Value {
        self.workload.as_mut().unwrap()
    }

    fn set(&mut self, replicas: i32) {
        self.workload()["spec"]["replicas"] = json!(replicas);
    }

    fn count(&mut self) -> i64 {
        self.workload()["spec"]["replicas"].as_i64().unwrap()
    }

    fn is_recorded(&mut self) -> bool {
        self.workload()["metadata"]["annotations"][BOUNDS].is_string()
    }

    /// Plans with what a CronHPA asks for, applies, and holds the plan to being empty afterwards.
    fn count_with(&mut self, wanted: Option<i32>, second: i64) -> Vec<Write> {
        let writes = self.plan_count(wanted, second);
        self.apply(&writes);
        assert_eq!(self.plan_count(wanted, second), [], "{second}");
        writes
    }

    fn plan_count(&mut self, wanted: Option<i32>, second: i64) -> Vec<Write> {
        let now = at(second);
        let (observed, mut resolved) = (self.observed(), self.resolve(now));
        let bounds = resolved.bounds.as_ref();
        let user = bounds.map_or(ObjectBounds::of_count(0), ObservedBounds::user);
        let asked = wanted.map(|min| asking(min, user, second));
        resolved.take_crons(asked.into_iter().collect(), now);
        let report = report(None, second);
        let report = Some(&report).filter(|_| resolved.target.is_some());
        let context = context(now);
        plan(&observed, &resolved, report, &mut self.memory, &context)
    }
}

#[test]
fn the_count_is_set_with_the_record_in_one_write_and_put_back_with_it() {
    let mut world = World::counted(None);
    let writes = world.count_with(Some(9), 0);
    let object = &writes[0];
    assert_eq!(object.target.to_string(), "deployments.apps shop/web");
    assert_eq!((object.purpose, object.gap), (Purpose::ScalingBounds, 5));
    assert_eq!((world.count(), world.is_recorded()), (9, true));
    assert_eq!(world.count_with(Some(9), 15), [], "nothing changes");
    world.count_with(Some(6), 30);
    assert_eq!(world.count(), 6);
    world.count_with(None, 45);
    assert_eq!((world.count(), world.is_recorded()), (4, false));
    let told: Vec<_> = world.told.iter().map(|(a, b)| (&**a, &**b)).collect();
    assert_eq!(
        told,
        [
            ("ReplicasRaised", "CronHPA sale asks for 9 replicas"),
            ("ReplicasLowered", "CronHPA sale asks for 6 replicas"),
            ("ReplicasLowered", "no CronHPA asks for replicas any more"),
        ]
    );
}

#[test]
fn a_count_of_zero_is_a_count() {
    let mut world = World::counted(Some("recommend"));
    world.set(0);
    world.count_with(Some(3), 0);
    assert_eq!(world.count(), 3);
    world.count_with(None, 15);
    assert_eq!((world.count(), world.is_recorded()), (0, false));
    world.set(4);
    world.count_with(Some(0), 30);
    assert_eq!(world.count(), 0);
    world.count_with(None, 45);
    assert_eq!(world.count(), 4);
}

#[test]
fn another_count_is_the_users_and_a_contest_is_left_to_him_for_a_while() {
    let mut world = World::counted(None);
    world.count_with(Some(9), 0);
    world.set(12);
    world.count_with(Some(9), 15);
    assert_eq!(world.count(), 9, "one is nothing");
    world.set(11);
    world.count_with(Some(9), 30);
    assert_eq!(world.count(), 11, "the field is his");
    assert!(world.resolve(at(30)).bounds.unwrap().is_contested());
    world.set(13);
    world.count_with(Some(9), 45);
    assert_eq!(world.count(), 13);
    world.count_with(Some(9), 640);
    assert_eq!(world.count(), 9, "it ends by itself");
    world.count_with(None, 655);
    assert_eq!((world.count(), world.is_recorded()), (13, false));
}

#[test]
fn off_opting_out_and_the_switch_put_the_count_back_whoever_asks() {
    for end in ["off", "opted out", "restore"] {
        let mut world = World::counted(None);
        world.count_with(Some(9), 0);
        match end {
            "off" => world.workload()["metadata"]["annotations"][SCALING] = json!("off"),
            "opted out" => world.namespace.clear(),
            _ => {
                let writes = restore(&world.observed(), &world.resolve(at(15)));
                assert_eq!(writes[0].purpose, Purpose::Restore);
                world.apply(&writes);
                let again = restore(&world.observed(), &world.resolve(at(15)));
                assert_eq!(again, [], "nothing is left");
            }
        }
        if end != "restore" {
            world.count_with(Some(9), 15);
        }
        assert_eq!((world.count(), world.is_recorded()), (4, false), "{end}");
    }
}

#[test]
fn a_record_of_somebody_else_is_no_word_on_the_count() {
    let mut world = World::counted(None);
    world.count_with(Some(9), 0);
    manage(world.workload(), "kubectl-rollout");
    world.memory = PlanMemory::default();
    world.count_with(None, 15);
    assert_eq!((world.count(), world.is_recorded()), (9, true));
    world.count_with(Some(5), 30);
    assert_eq!(world.count(), 5);
    world.count_with(None, 45);
    assert_eq!((world.count(), world.is_recorded()), (9, false));
}

#[test]
fn an_hpa_that_comes_takes_the_count_over_and_the_record_goes() {
    let mut world = World::counted(None);
    world.count_with(Some(9), 0);
    world.autoscaler = World::new().autoscaler;
    world.tick(None, 15);
    assert_eq!((world.count(), world.is_recorded()), (9, false));
}

#[test]
fn a_night_of_none_does_not_outlive_whoever_asked_for_it() {
    for direct in [false, true] {
        let mut world = World::counted(None);
        world.set(3);
        world.count_with(Some(0), 0);
        assert_eq!((world.count(), world.is_recorded()), (0, true));
        if direct {
            for (key, value) in DIRECT {
                world.workload()["metadata"]["annotations"][key] = json!(value);
            }
        } else {
            world.autoscaler = World::new().autoscaler;
        }
        let mut writes = world.plan(Some(&report(None, 15)), at(15));
        // Of what has no replicas mode direct decides nothing.
        writes.retain(|write| write.purpose != Purpose::ScalingReplicas);
        world.apply(&writes);
        assert_eq!((world.count(), world.is_recorded()), (3, false), "{direct}");
    }
}

#[test]
fn mode_direct_takes_the_count_over_and_crons_move_its_bounds() {
    let mut world = World::counted(None);
    world.count_with(Some(9), 0);
    for (key, value) in DIRECT {
        world.workload()["metadata"]["annotations"][key] = json!(value);
    }
    let observed = world.observed();
    let mut resolved = world.resolve(at(15));
    let cron = sale(None);
    let direct = scaled(&observed, &resolved, &cron, &[&cron]).unwrap();
    assert_eq!(direct.effective, Some(2));
    let other = sale(Some(7));
    let beside = scaled(&observed, &resolved, &cron, &[&cron, &other]).unwrap();
    assert_eq!(
        beside.effective,
        Some(7),
        "what another asks for holds the count up"
    );
    let user = ObjectBounds {
        min: Some(2),
        max: 10,
    };
    assert_eq!((direct.user, direct.saying), (user, CronEffect::Bounds));
    assert_eq!((direct.current, direct.least), (Some(9), 1));
    let asks = |min| vec![asking(min, user, 15)];
    for (wanted, bounds) in [
        (asks(6), (6, 10)),
        (asks(12), (12, 12)),
        (asks(1), (1, 10)),
        (vec![], (2, 10)),
    ] {
        let mut resolved = resolved.clone();
        resolved.take_crons(wanted, at(15));
        let target = resolved.target.unwrap();
        let policy = target.policy.bounds;
        assert_eq!((policy.min(), policy.max()), bounds);
        let TargetReaction::Reconciled(spec) = &target.reaction else {
            panic!("{:?}", target.reaction);
        };
        assert_eq!(
            (spec.min_replicas, spec.max_replicas),
            bounds,
            "the same for both"
        );
    }
    resolved.take_crons(asks(6), at(15));
    let mut report = report(None, 15);
    report.decision.replicas = 9;
    let context = context(at(15));
    let writes = plan(
        &observed,
        &resolved,
        Some(&report),
        &mut world.memory,
        &context,
    );
    world.apply(&writes);
    assert_eq!((world.count(), world.is_recorded()), (9, false));
}

#[test]
fn mode_direct_that_is_refused_leaves_the_count_to_nobody() {
    let mut world = World::counted(None);
    world.count_with(Some(9), 0);
    world.workload()["metadata"]["annotations"][SCALING] = json!("direct");
    let cron = sale(None);
    let resolved = world.resolve(at(15));
    let refused = scaled(&world.observed(), &resolved, &cron, &[&cron]).unwrap_err();
    assert!(
        matches!(refused, CronProblem::DirectRefused(_)),
        "{refused}"
    );
    world.count_with(None, 15);
    assert_eq!((world.count(), world.is_recorded()), (4, false));
    assert_eq!(world.holds("BoundsMissing"), Some(ConditionStatus::True));
}
