//! Contributions of CronHPAs beside floors, on the bounds and the record of one object.

use evenkeel_objects::bounds::ObjectBounds;

use super::*;
use crate::crons::{CronMemory, plan_cron, scaled};
use crate::merge::recommendation::Provider;
use crate::specs::cron_hpa::{CheckedCronHpa, CronHpa};

impl World {
    /// The contribution of a CronHPA for two hours.
    fn asked(&self, name: &str, min: i32, second: i64) -> Recommendation {
        let user = self.resolve(at(second)).bounds.unwrap().user();
        let who = Provider::Cron(name.to_owned());
        Recommendation::of_cron(who, min, user, Some(at(second + 7200)))
    }

    /// Plans with these CronHPAs and applies, and holds the plan to being empty afterwards.
    fn tick_with(&mut self, crons: &[(&str, i32)], floor: Option<i32>, second: i64) -> usize {
        let writes = self.plan_with(crons, floor, second);
        self.apply(&writes);
        assert_eq!(self.plan_with(crons, floor, second), [], "{second}");
        writes.len()
    }

    fn plan_with(&mut self, crons: &[(&str, i32)], floor: Option<i32>, second: i64) -> Vec<Write> {
        let now = at(second);
        let asked = crons
            .iter()
            .map(|(name, min)| self.asked(name, *min, second));
        let asked = asked.collect();
        let (observed, mut resolved) = (self.observed(), self.resolve(now));
        resolved.bounds = resolved.bounds.map(|bounds| bounds.with_crons(asked, now));
        let report = report(floor, second);
        let report = Some(&report).filter(|_| resolved.target.is_some());
        plan(
            &observed,
            &resolved,
            report,
            &mut self.memory,
            &context(now),
        )
    }
}

#[test]
fn a_cron_ends_during_a_live_floor_and_the_floor_stays() {
    for mut world in [World::new(), World::with_keda()] {
        world.tick_with(&[("day", 8)], Some(6), 0);
        assert_eq!(world.bounds(), (Some(8), 10));
        world.tick_with(&[], Some(6), 15);
        assert_eq!(world.bounds(), (Some(6), 10));
        world.tick_with(&[], None, 30);
        assert_eq!(world.bounds(), (Some(2), 10));
        assert!(!world.has_record());
    }
}

#[test]
fn a_floor_ends_during_a_live_cron_and_the_cron_stays() {
    let mut world = World::new();
    world.tick_with(&[("day", 6)], Some(9), 0);
    assert_eq!(world.bounds(), (Some(9), 10));
    world.tick_with(&[("day", 6)], None, 15);
    assert_eq!(world.bounds(), (Some(6), 10));
    assert!(world.has_record());
}

#[test]
fn the_most_is_raised_with_the_least_and_put_back() {
    let mut world = World::new();
    world.tick_with(&[("sale", 30)], Some(10), 0);
    assert_eq!(world.bounds(), (Some(30), 30));
    world.tick_with(&[], Some(10), 15);
    assert_eq!(world.bounds(), (Some(10), 10));
}

#[test]
fn a_lowered_least_stands_in_for_the_users_and_below_the_floor() {
    let mut world = World::new();
    world.hpa()["spec"]["minReplicas"] = json!(5);
    world.tick_with(&[("night", 3)], None, 0);
    assert_eq!(world.bounds(), (Some(3), 10));
    world.tick_with(&[("night", 3)], Some(7), 15);
    assert_eq!(world.bounds(), (Some(7), 10));
    world.tick_with(&[], None, 30);
    assert_eq!(world.bounds(), (Some(5), 10));
}

#[test]
fn of_several_cron_hpas_on_one_hpa_the_larger_holds() {
    let mut world = World::new();
    world.tick_with(&[("a", 4), ("b", 7)], None, 0);
    assert_eq!(world.bounds(), (Some(7), 10));
    world.tick_with(&[("a", 4)], None, 15);
    assert_eq!(world.bounds(), (Some(4), 10));
    // More than a record has room for.
    let names: Vec<String> = (0..20)
        .map(|place| format!("cron-{place}-{}", "x".repeat(200)))
        .collect();
    let many: Vec<(&str, i32)> = names
        .iter()
        .zip(1..)
        .map(|(name, min)| (name.as_str(), min))
        .collect();
    world.tick_with(&many, Some(5), 30);
    assert_eq!(world.bounds(), (Some(20), 20));
}

#[test]
fn a_cron_counts_whatever_the_mode_but_off() {
    for (mode, least) in [("recommend", 8), ("floor", 8), ("off", 2)] {
        let mut world = World::new();
        world.annotate(SCALING, json!(mode));
        world.tick_with(&[("day", 8)], Some(6), 0);
        assert_eq!(world.bounds().0, Some(least), "{mode}");
    }
    let mut opted_out = World::new();
    opted_out.tick_with(&[("day", 8)], None, 0);
    opted_out.namespace.clear();
    opted_out.tick_with(&[("day", 8)], None, 15);
    assert_eq!(
        (opted_out.bounds(), opted_out.has_record()),
        ((Some(2), 10), false)
    );
}

#[test]
fn an_edit_of_the_user_wins_over_what_is_put_back() {
    let mut world = World::new();
    world.tick_with(&[("day", 8)], None, 0);
    world.hpa()["spec"]["minReplicas"] = json!(4);
    world.tick_with(&[("day", 8)], None, 15);
    assert_eq!(world.bounds(), (Some(8), 10));
    world.tick_with(&[], None, 30);
    assert_eq!(world.bounds(), (Some(4), 10));
}

#[test]
fn who_moved_the_bounds_is_told() {
    let mut world = World::new();
    world.tick_with(&[("day", 8)], Some(6), 0);
    world.tick_with(&[], Some(6), 15);
    let told: Vec<_> = world
        .told
        .iter()
        .filter(|(reason, _)| reason.starts_with("Floor"))
        .map(|(reason, note)| (reason.as_str(), note.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            ("FloorRaised", "CronHPA day asks for 8 replicas"),
            ("FloorLowered", "no CronHPA asks for replicas any more"),
        ]
    );
}

#[test]
fn another_writer_who_undoes_a_cron_twice_is_left_the_field() {
    let mut world = World::new();
    world.annotate(SCALING, json!("recommend"));
    world.tick_with(&[("day", 8)], None, 0);
    for second in [15, 30] {
        world.hpa()["spec"]["minReplicas"] = json!(2);
        world.tick_with(&[("day", 8)], None, second);
    }
    assert_eq!(world.bounds(), (Some(2), 10));
    assert!(world.resolve(at(45)).bounds.unwrap().is_contested());
    world.tick_with(&[], None, 60);
    assert!(!world.has_record(), "a contest ends with what is contested");
}

#[test]
fn bounds_of_a_cron_lapse_by_themselves() {
    let mut world = World::new();
    world.tick_with(&[("day", 8)], None, 0);
    let bounds = world.resolve(at(7200)).bounds.unwrap();
    let who = Provider::Cron("day".to_owned());
    assert_eq!(bounds.contribution(&who).unwrap().until, Some(at(7200)));
    let user = ObjectBounds {
        min: Some(2),
        max: 10,
    };
    assert_eq!(bounds.user(), user);
}

/// A CronHPA for the HPA of a world, tick by tick, beside the floor of a prediction.
struct Followed {
    world: World,
    object: CronHpa,
    memory: CronMemory,
}

impl Followed {
    /// With an HPA of this least, and crons.
    fn new(least: i32, crons: &Value) -> Self {
        let mut world = World::new();
        world.hpa()["spec"]["minReplicas"] = json!(least);
        let object = json!({
            "metadata": {"name": "shop", "namespace": "shop", "uid": "c", "resourceVersion": "7",
                "generation": 1, "creationTimestamp": "2027-01-14T00:00:00Z"},
            "spec": {"scaleTargetRef": {"kind": "HorizontalPodAutoscaler", "name": "web"},
                "crons": crons},
        });
        Self {
            world,
            object: serde_json::from_value(object).unwrap(),
            memory: CronMemory::default(),
        }
    }

    /// The workload has so many replicas.
    fn scaled_to(&mut self, replicas: i32) {
        self.world.workload.as_mut().unwrap()["spec"]["replicas"] = json!(replicas);
    }

    /// One tick; the bounds that it leaves.
    fn tick(&mut self, floor: Option<i32>, second: i64) -> (Option<i64>, i64) {
        let now = at(second);
        let cron = CheckedCronHpa::new(Arc::new(self.object.clone()), None);
        let (observed, mut resolved) = (self.world.observed(), self.world.resolve(now));
        let scaled = scaled(&observed, &resolved, &cron, &[&cron]);
        let planned = plan_cron(&cron, scaled, &mut self.memory, &context(now));
        for write in planned.writes {
            if let WriteOperation::Merge(body) = write.operation {
                let mut status = json!(self.object.status);
                json_patch::merge(&mut status, &body["status"]);
                self.object.status = serde_json::from_value(status).unwrap();
            }
        }
        let asked = planned.contribution.into_iter().collect();
        resolved.bounds = resolved.bounds.map(|bounds| bounds.with_crons(asked, now));
        let report = report(floor, second);
        let report = Some(&report).filter(|_| resolved.target.is_some());
        let memory = &mut self.world.memory;
        let writes = plan(&observed, &resolved, report, memory, &context(now));
        self.world.apply(&writes);
        self.world.bounds()
    }

    /// The status was never written, and its writer is gone.
    fn loses_its_status(&mut self) {
        (self.object.status, self.memory) = (None, CronMemory::default());
    }
}

fn at_a_minute(target: i32) -> Value {
    json!([{"name": "day", "schedule": "1 8 * * *", "target": target}])
}

#[test]
fn a_run_during_a_floor_is_there_when_the_floor_has_gone() {
    for (target, least) in [(8, 8), (6, 6)] {
        let mut shop = Followed::new(1, &at_a_minute(target));
        assert_eq!(shop.tick(Some(8), 0), (Some(8), 10));
        shop.scaled_to(8);
        assert_eq!(shop.tick(Some(8), 60), (Some(8), 10));
        assert_eq!(shop.tick(None, 75), (Some(least), 10), "the floor has gone");
        assert_eq!(shop.tick(None, 3600), (Some(least), 10));
    }
    // Where the load is what there are so many for, the run has nothing to say.
    let mut shop = Followed::new(1, &at_a_minute(8));
    shop.scaled_to(9);
    assert_eq!(shop.tick(None, 60), (Some(1), 10));
}

#[test]
fn a_run_whose_status_was_lost_does_not_undo_itself() {
    for count in [8, 9] {
        let mut shop = Followed::new(1, &at_a_minute(8));
        assert_eq!(shop.tick(None, 60), (Some(8), 10));
        for second in [75, 600] {
            shop.loses_its_status();
            shop.scaled_to(count);
            assert_eq!(
                shop.tick(None, second),
                (Some(8), 10),
                "{count} after {second} s"
            );
            assert_eq!(shop.tick(None, second + 15), (Some(8), 10), "{count}");
        }
    }
}

#[test]
fn a_larger_least_that_the_user_sets_while_a_cron_raises_it_holds() {
    for of_the_version_before in [false, true] {
        let mut shop = Followed::new(1, &at_a_minute(6));
        assert_eq!(shop.tick(None, 60), (Some(6), 10));
        if of_the_version_before {
            let status = shop.object.status.as_mut().unwrap();
            status.held.as_mut().unwrap().user_min_replicas = None;
            let record = &mut shop.world.hpa()["metadata"]["annotations"][BOUNDS];
            let text = record.as_str().unwrap().replace(r#","priority":0"#, "");
            assert_ne!(json!(text), *record, "that version wrote none");
            *record = json!(text);
            assert_eq!(shop.tick(None, 75), (Some(6), 10));
            let status = shop.object.status.as_ref().unwrap();
            assert_eq!(status.held.as_ref().unwrap().user_min_replicas, Some(1));
        }
        shop.world.hpa()["spec"]["minReplicas"] = json!(8);
        assert_eq!(shop.tick(None, 90), (Some(8), 10), "his last word");
        assert_eq!(shop.tick(None, 105), (Some(8), 10));
        shop.world.hpa()["spec"]["minReplicas"] = json!(3);
        assert_eq!(
            shop.tick(None, 120),
            (Some(6), 10),
            "below what is asked for"
        );
        shop.object.spec.suspend = Some(true);
        shop.object.generation = 2;
        assert_eq!(shop.tick(None, 135), (Some(3), 10));
    }
}

#[test]
fn prediction_is_heard_below_the_least_that_a_cron_has_lowered() {
    let least = |shop: &Followed, second| {
        let target = shop.world.resolve(at(second)).target.unwrap();
        target.policy.bounds.min()
    };
    let mut night = Followed::new(5, &at_a_minute(2));
    assert_eq!(least(&night, 0), 5);
    assert_eq!(night.tick(None, 60), (Some(2), 10));
    assert_eq!(least(&night, 75), 2, "a forecast of 4 is above it");
    assert_eq!(night.tick(Some(4), 75), (Some(4), 10));
    let mut day = Followed::new(2, &at_a_minute(8));
    assert_eq!(day.tick(None, 60), (Some(8), 10));
    assert_eq!(
        least(&day, 75),
        2,
        "a floor stands beneath a cron, and is there when it ends"
    );
}
