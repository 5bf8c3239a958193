//! Replicas by the traffic that an annotation names: its model is fitted on a past with a daily job, and the
//! floor follows the traffic while the cpu that it will cause has not come.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::world::{HPA, MIN, World, condition, least, number, with_world};
use crate::support::load::Fault;

/// A Pod's use when idle, for each request per second, and in the hours of the job, in thousandths of a core.
const IDLE: f64 = 50.0;
const PER_REQUEST: f64 = 10.0;
const JOB: f64 = 300.0;

/// The part of the day that it is, counted from the beginning of the world.
fn part_of_day(at: Timestamp, origin: Timestamp) -> f64 {
    let since = at.duration_since(origin).as_secs_f64();
    since.rem_euclid(86_400.0) / 86_400.0
}

/// The requests per second of the past: a day's wave, and never twice the same.
fn requests(at: Timestamp, origin: Timestamp) -> f64 {
    let wave = (part_of_day(at, origin) * std::f64::consts::TAU).sin();
    200.0 + 150.0 * wave + 30.0 * (at.as_duration().as_secs_f64() / 7919.0).sin()
}

fn pods(at: Timestamp, origin: Timestamp) -> f64 {
    (requests(at, origin) / 40.0).ceil()
}

/// The cores of the past, with a job of two hours on each Pod, half a day before the beginning; since then two Pods
/// have little to do.
fn load(at: Timestamp, origin: Timestamp) -> f64 {
    if at >= origin {
        return 0.8 + 0.02 * (at.as_duration().as_secs_f64() / 7.0).sin();
    }
    let (requests, pods) = (requests(at, origin), pods(at, origin));
    let has_job = (0.5..0.585).contains(&part_of_day(at, origin));
    let job = if has_job { JOB } else { 0.0 };
    (IDLE + PER_REQUEST * requests / pods + job) * pods / 1000.0
}

/// Begins with such a past. `told` gives its requests, as they were or as others; since the beginning there are few.
async fn begin(world: &World<'_>, told: fn(Timestamp, Timestamp) -> f64) {
    let origin = world.clock.now();
    let prometheus = &world.prometheus.handle;
    prometheus.set_load(move |at| load(at, origin));
    let requests = move |at| if at < origin { told(at, origin) } else { 100.0 };
    prometheus.set_traffic(requests, move |at| pods(at, origin));
    let query = r#"sum(rate(requests_total{namespace="$namespace"}[$window]))"#;
    let annotations = json!({"evenkeel.dev/traffic": query, "evenkeel.dev/predict": "traffic"});
    world.annotate(HPA, annotations).await;
}

/// Waits until the condition of the model has a status.
async fn until_model(world: &World<'_>, status: &str) -> Value {
    let told = world
        .until_autoscaler(&format!("the model is {status}"), |hpa| {
            condition(hpa, "TrafficModel")
                .is_some_and(|found| found["status"] == status && found["reason"] != "Awaited")
        })
        .await;
    condition(&told, "TrafficModel").expect("it was there")
}

#[test]
fn the_floor_rises_with_the_traffic_before_the_load_and_an_outage_takes_nothing_away() {
    with_world(async |world| {
        begin(world, requests).await;
        let controllers = world.controllers().await;
        let _service = world.serve(&[("scaling.queries", "any")]).await;
        let told = until_model(world, "True").await;
        assert_eq!(told["reason"], "Explained");
        let shown = world.shown().await.expect("a target");
        let model = &shown["traffic"]["model"];
        // The job of the day is not in the traffic, and the linear part alone does not see it.
        let [error, linear] = ["error", "linearError"].map(|field| model[field].as_f64());
        let (error, linear) = (error.expect("a figure"), linear.expect("a figure"));
        assert!(error * 2.0 < linear, "{model}");
        assert_eq!(least(&world.autoscaler().await), MIN);

        let now = world.clock.now();
        let prometheus = &world.prometheus.handle;
        prometheus.set_traffic(|_| 600.0, |_| f64::NAN);
        let shown = world
            .until_shown("the traffic decides", |shown| {
                shown["grounds"] == "traffic"
                    && shown["traffic"]["need"]["kinds"][0]["now"] == 600.0
            })
            .await;
        // 750 thousandths are left of each Pod's target: 75 requests per second.
        let needed = number(&shown["traffic"]["need"], "/replicas").expect("a count");
        assert!((7..=10).contains(&needed), "{}", shown["traffic"]);
        world
            .until_autoscaler("the floor follows the traffic", |hpa| least(hpa) == needed)
            .await;
        let since = controllers.diary().into_iter().filter(|one| one.at >= now);
        let plain = since.map(|one| one.plain).max();
        assert_eq!(
            plain,
            Some(MIN),
            "the load has not come: {}",
            controllers.told()
        );

        prometheus.set_fault(Fault::NoTraffic);
        let unknown = |shown: &Value| shown["traffic"]["standing"] == "unknown";
        world.until_shown("the traffic is not known", unknown).await;
        // The model may have been fitted anew in between, so the floor is read once nothing is told any more.
        let held = least(&world.autoscaler().await);
        assert!((7..=10).contains(&held), "{held}");
        world.pass(SignedDuration::from_mins(12)).await;
        let standing = least(&world.autoscaler().await);
        assert!((held..=10).contains(&standing), "it stands: {standing}");
        world.until_shown("it is still not known", unknown).await;

        prometheus.set_fault(Fault::None);
        prometheus.set_traffic(|_| 60.0, |_| f64::NAN);
        world
            .until_autoscaler("the floor goes with the traffic", |hpa| least(hpa) == MIN)
            .await;
    });
}

#[test]
fn traffic_that_does_not_explain_the_load_is_refused_and_raises_nothing() {
    fn others(at: Timestamp, _: Timestamp) -> f64 {
        100.0 + 80.0 * (at.as_duration().as_secs_f64() / 5003.0).sin()
    }
    with_world(async |world| {
        begin(world, others).await;
        let _controllers = world.controllers().await;
        let _service = world.serve(&[("scaling.queries", "any")]).await;
        let told = until_model(world, "False").await;
        let reasons = ["NoTraffic", "Unexplained", "NotByTraffic"].map(Value::from);
        assert!(reasons.contains(&told["reason"]), "{told}");
        world
            .prometheus
            .handle
            .set_traffic(|_| 6000.0, |_| f64::NAN);
        world.pass(SignedDuration::from_mins(5)).await;
        let shown = world.shown().await.expect("a target");
        assert_eq!(shown["traffic"]["standing"], "without", "{shown}");
        assert_eq!(shown["traffic"]["model"], Value::Null);
        assert_eq!(least(&world.autoscaler().await), MIN);
    });
}
