//! Deliberate faults, and the named step that decisions then fall back to. On missing, old or wrong
//! data nothing is raised, and only what was lent is taken away.

use std::time::Duration;

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::world::{BOUNDS, HPA, MIN, World, annotation, condition, least, with_world};
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::load::Fault;

/// A world with a raised floor.
async fn raised(world: &World<'_>) -> Value {
    world
        .until_autoscaler("the floor rises", |hpa| least(hpa) > MIN)
        .await
}

/// The load cannot be known any more: what was decided is kept for as long as it was meant to
/// stand, then the user's bounds are put back; a condition and a metric say so. When the fault is
/// over all is as before.
async fn blinds(world: &World<'_>, fault: Fault) {
    raised(world).await;
    world.prometheus.handle.set_fault(fault);
    let kept = world
        .until_shown(&format!("{fault:?}: what was decided is kept"), |shown| {
            shown["limitedBy"] == "MissingData"
        })
        .await;
    assert!(
        kept["grounds"] == "last-known" || kept["grounds"] == "nothing",
        "{fault:?}: {kept}"
    );
    let most = least(&world.autoscaler().await);
    let told = world
        .until_autoscaler(&format!("{fault:?}: a condition says so"), |hpa| {
            condition(hpa, "MetricsAvailable").is_some_and(|found| found["status"] == "False")
        })
        .await;
    assert!(least(&told) <= most, "{fault:?}: nothing is raised");
    world
        .until_shown(&format!("{fault:?}: nothing is left to keep"), |shown| {
            shown["grounds"] == "nothing"
        })
        .await;
    let metrics = world.metrics().await;
    let labels = r#"namespace="shop",kind="HorizontalPodAutoscaler",name="web""#;
    let line = format!("evenkeel_scaling_target_grounds{{{labels},grounds=\"nothing\"}} 1");
    assert!(metrics.contains(&line), "{metrics}");
    world
        .until_autoscaler(
            &format!("{fault:?}: the user's bounds are put back"),
            |hpa| least(hpa) == MIN && annotation(hpa, BOUNDS).is_none(),
        )
        .await;
    world.until_event("MetricsUnavailable").await;
    world.prometheus.handle.set_fault(Fault::None);
    world
        .until_shown(&format!("{fault:?}: it is over"), acts)
        .await;
    raised(world).await;
}

fn blinded_by(faults: &[Fault]) {
    with_world(async |world| {
        let _controllers = world.controllers().await;
        let _service = world.serve(&[]).await;
        for fault in faults {
            blinds(world, *fault).await;
        }
    });
}

#[test]
fn a_prometheus_that_is_down_blinds_and_nothing_more() {
    blinded_by(&[Fault::Down]);
}

#[test]
fn a_prometheus_that_answers_nothing_blinds_and_nothing_more() {
    blinded_by(&[Fault::Hangs]);
}

#[test]
fn what_is_no_number_or_below_zero_is_no_load() {
    blinded_by(&[Fault::NotANumber, Fault::Negative]);
}

#[test]
fn what_was_measured_long_ago_by_a_clock_that_is_behind_is_no_load_of_now() {
    blinded_by(&[Fault::Behind]);
}

/// True if a decision rests on the load as it is known now.
fn acts(shown: &Value) -> bool {
    ["forecast", "d-hpa", "reaction"].contains(&shown["grounds"].as_str().unwrap_or_default())
}

/// Watches for a minute of the world that the load stays what it is and is still acted on.
async fn stays_sound(world: &World<'_>, fault: Fault) {
    world.prometheus.handle.set_fault(fault);
    let end = world.clock.now() + SignedDuration::from_mins(2);
    while world.clock.now() < end {
        let shown = world.shown().await.expect("the target is shown");
        assert!(acts(&shown), "{fault:?}: {shown}");
        let now = shown["loads"][0]["now"].as_f64().expect("a load") / 1000.0;
        let truth = world.prometheus.handle.load(world.clock.now());
        assert!(
            (now - truth).abs() < 0.25 * truth,
            "{fault:?}: {now} for {truth}"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[test]
fn a_clock_that_is_ahead_makes_nothing_fresher_than_it_is() {
    with_world(async |world| {
        let _controllers = world.controllers().await;
        let _service = world.serve(&[]).await;
        raised(world).await;
        stays_sound(world, Fault::Ahead).await;
        // It is fresh no longer than any other once nothing new comes.
        blinds(world, Fault::Down).await;
    });
}

#[test]
fn series_that_are_there_twice_blind_nobody_and_count_once() {
    with_world(async |world| {
        let _controllers = world.controllers().await;
        let _service = world.serve(&[]).await;
        raised(world).await;
        stays_sound(world, Fault::Duplicate).await;
    });
}

#[test]
fn a_pod_whose_counters_began_anew_moves_no_floor() {
    with_world(async |world| {
        let _controllers = world.controllers().await;
        let _service = world.serve(&[]).await;
        raised(world).await;
        world.prometheus.handle.set_fault(Fault::Reset(1));
        world
            .until_shown("what was certain is too old to decide on", |shown| {
                shown["limitedBy"] == "EstimatedLoad"
            })
            .await;
        let before = least(&world.autoscaler().await);
        let end = world.clock.now() + SignedDuration::from_mins(2);
        while world.clock.now() < end {
            assert_eq!(least(&world.autoscaler().await), before);
            let shown = world.shown().await.expect("the target is shown");
            assert_ne!(shown["grounds"], "nothing", "{shown}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
}

#[test]
fn where_no_pod_is_measured_nobody_guesses() {
    blinded_by(&[Fault::Reset(100)]);
}

#[test]
fn the_past_is_had_when_a_prometheus_that_was_down_is_back() {
    with_world(async |world| {
        world.prometheus.handle.set_fault(Fault::Down);
        let _controllers = world.controllers().await;
        let _service = world.serve(&[]).await;
        world
            .until_shown("it is asked for", |shown| shown["refill"] == "running")
            .await;
        eventually("it is asked for again", async || {
            let ranges = world.prometheus.handle.ranges();
            holds(ranges > 1, || format!("{ranges} questions"))
        })
        .await;
        assert_eq!(least(&world.autoscaler().await), MIN);
        world.prometheus.handle.set_fault(Fault::None);
        world
            .until_shown("it is had", |shown| shown["refill"] == "done")
            .await;
        raised(world).await;
    });
}

#[test]
fn an_api_server_that_is_back_finds_the_loop_at_work() {
    with_world(async |world| {
        let _controllers = world.controllers().await;
        let _service = world.serve(&[]).await;
        raised(world).await;
        world.server.control().restart(Duration::from_secs(4));
        // Changes while it is away are seen afterwards.
        let edited = eventually("the user reaches it again", async || {
            let request = axum::http::Request::patch(HPA)
                .header("content-type", "application/merge-patch+json")
                .body(
                    json!({"spec": {"maxReplicas": 19}})
                        .to_string()
                        .into_bytes(),
                )
                .expect("a request");
            world
                .client
                .request_text(request)
                .await
                .map_err(|error| error.to_string())
        })
        .await;
        assert!(edited.contains("19"));
        world
            .until_shown("the new bounds are known", |shown| shown["max"] == 19)
            .await;
        world.set_mode("off").await;
        world
            .until_autoscaler("it is put back", |hpa| {
                least(hpa) == MIN && annotation(hpa, BOUNDS).is_none()
            })
            .await;
    });
}
