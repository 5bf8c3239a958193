//! Which loads are fitted when, and what becomes of their trees.

use std::collections::BTreeSet;

use evenkeel_forecast::{OwnPeaks, Resolution, TreeNode, Trees};
use evenkeel_metrics::signal::{PromQl, Signal};

use super::*;
use crate::tick::{FitBatch, FitLane, FitPast, LoadFitResult};
use crate::tracker::FitEnd;
use crate::tracker::LoadPastFit;

const DAY: i64 = 86_400;

/// Three targets that recommend, of which `a` and `b` know two days, up to the time `at`.
fn known(at: i64) -> Three {
    let mut three = Three::new();
    three.tick(at, &[]);
    for name in ["a", "b"] {
        let key = TargetKey::of(&observed(name, "recommend"));
        let tracker = &mut three.targets.states.get_mut(&key).unwrap().tracker;
        for (resolution, back) in [(Resolution::FiveMinutes, 2 * DAY), (Resolution::Fine, 1800)] {
            let step = usize::try_from(resolution.step().as_secs()).unwrap();
            let times = (at - back..at).step_by(step).map(second);
            let points = times.map(|time| (time, 1000.0));
            assert!(tracker.refill(&Signal::CPU, resolution, points, second(at)) > 0);
        }
        let load = LoadSample::of_moment(1000.0, second(at));
        tracker.measure(&Signal::CPU, &load, second(at)).unwrap();
    }
    three.tick(at, &[]);
    three
}

/// The batches that are due at a time, one after the other.
fn due(three: &mut Three, at: i64) -> Vec<FitBatch> {
    let next = || three.targets.next_fits(FitLane::Workloads, second(at));
    std::iter::from_fn(next).collect()
}

fn names(batches: &[FitBatch]) -> BTreeSet<String> {
    let loads = batches.iter().flat_map(|batch| &batch.loads);
    let names = loads.map(|load| load.key.workload_name().workload.into_string());
    names.collect()
}

fn trees(window: usize) -> OwnPeaks {
    let trees = || Trees::new(0.0, &[vec![TreeNode::Leaf(0.5)]]).unwrap();
    OwnPeaks::new(window, [trees(), trees(), trees()])
}

fn learnt(own: Option<OwnPeaks>) -> FitEnd {
    FitEnd::Learnt(Box::new(LoadPastFit {
        own: own.map(Arc::new),
        ..LoadPastFit::default()
    }))
}

/// The models of the targets' loads, with the means that they forecast.
fn models(ticked: &ScalingTickOutput) -> Vec<(String, f64)> {
    let loads = ticked.shown.iter().flat_map(|status| &status.loads);
    let forecasts = loads.filter_map(|load| load.forecast.as_ref());
    let models = forecasts.map(|forecast| (forecast.model.to_string(), forecast.mean));
    models.collect()
}

#[test]
fn each_load_with_half_a_day_of_past_is_due_once_a_day_up_to_its_own_hour() {
    let mut three = known(0);
    let first = due(&mut three, 0);
    let both = BTreeSet::from(["Deployment/a".to_owned(), "Deployment/b".to_owned()]);
    assert_eq!(names(&first), both, "c knows nothing");
    for batch in &first {
        assert_eq!(batch.past, FitPast::Workloads(Signal::CPU));
        let age = second(0).duration_since(batch.end);
        assert!(!age.is_negative() && age < SignedDuration::from_hours(24));
        assert_eq!(batch.end.as_second() % 3600, 0);
    }
    assert!(
        due(&mut three, 3600 - 1).is_empty(),
        "they have been asked for"
    );
    let mut again: Vec<FitBatch> = Vec::new();
    for hour in 1..=24 {
        again.extend(due(&mut three, hour * 3600));
    }
    assert_eq!(names(&again), both);
    let ends = |batches: &[FitBatch]| {
        batches
            .iter()
            .map(|batch| batch.end)
            .collect::<BTreeSet<_>>()
    };
    let later: BTreeSet<_> = ends(&first)
        .into_iter()
        .map(|end| end + SignedDuration::from_hours(24))
        .collect();
    assert_eq!(ends(&again), later, "the same hour of the next day");
}

#[test]
fn trees_serve_from_the_next_tick_on_until_the_shared_model_does_better() {
    let mut three = known(0);
    let before = models(&three.tick(15, &[]));
    let is_all = |models: &[(String, f64)], name: &str| models.iter().all(|(of, _)| of == name);
    assert!(before.len() == 2 && is_all(&before, "global"), "{before:?}");
    let loads = due(&mut three, 15)
        .into_iter()
        .flat_map(|batch| batch.loads);
    let loads: Vec<_> = loads.collect();
    for load in &loads {
        let end = learnt(Some(trees(load.window)));
        let load = load.clone();
        three
            .targets
            .take_fitted(LoadFitResult { load, end }, second(15));
    }
    let own = models(&three.tick(30, &[]));
    assert!(is_all(&own, "own"), "{own:?}");
    for ((_, own), (_, global)) in own.iter().zip(&before) {
        assert!((own - global - 500.0).abs() < 50.0, "{own} {global}");
    }
    for load in loads {
        let end = learnt(None);
        three
            .targets
            .take_fitted(LoadFitResult { load, end }, second(30));
    }
    let after = models(&three.tick(45, &[]));
    assert!(after.len() == 2 && is_all(&after, "global"), "{after:?}");
}

/// Tells that the fits of some batches ended so.
fn end(three: &mut Three, batches: Vec<FitBatch>, end: impl Fn() -> FitEnd, at: i64) {
    for load in batches.into_iter().flat_map(|batch| batch.loads) {
        let fitted = Box::new(LoadFitResult { load, end: end() });
        three.targets.take_told(FitTold::Trees(fitted), second(at));
    }
}

/// The harm: a Prometheus that was away for some minutes at a target's hour left it without trees for a day.
#[test]
fn a_fit_that_failed_is_tried_again_on_the_same_past_and_one_on_too_short_a_past_on_a_longer_one() {
    let mut three = known(0);
    let first = due(&mut three, 0);
    let asked: Vec<_> = first
        .iter()
        .map(|batch| (batch.end, batch.loads.clone()))
        .collect();
    end(&mut three, first, || FitEnd::Failed, 60);
    assert!(due(&mut three, 60 + 15 * 60 - 1).is_empty());
    let again = due(&mut three, 60 + 15 * 60);
    let asked_again: Vec<_> = again
        .iter()
        .map(|batch| (batch.end, batch.loads.clone()))
        .collect();
    assert_eq!(asked_again, asked);
    end(&mut three, again, || FitEnd::TooShort, 1200);
    assert!(due(&mut three, 1200 + 30 * 60 - 1).is_empty());
    let longer = due(&mut three, 1200 + 30 * 60);
    let is_longer = |batch: &FitBatch| asked.iter().all(|(end, _)| *end < batch.end);
    assert!(!longer.is_empty() && longer.iter().all(is_longer));
    end(&mut three, longer, || FitEnd::TooShort, 3100);
    assert!(due(&mut three, 3100 + 3600 - 1).is_empty());
    assert!(!due(&mut three, 3100 + 3600).is_empty());
}

#[test]
fn targets_whose_replicas_follow_are_fitted_before_those_that_recommend() {
    let first = |mode: &str| {
        let mut three = known(0);
        three.middle = observed("b", mode);
        three.tick(15, &[]);
        let batches = due(&mut three, 15);
        batches[0].loads[0].key.workload_name().workload
    };
    assert_eq!(&*first("recommend"), "Deployment/a", "by their hours");
    assert_eq!(&*first("floor"), "Deployment/b");
}

#[test]
fn what_came_of_a_target_that_is_gone_is_left() {
    let mut three = known(0);
    let batch = three
        .targets
        .next_fits(FitLane::Workloads, second(0))
        .unwrap();
    three.targets.states.clear();
    for load in batch.loads {
        let end = learnt(Some(trees(load.window)));
        three
            .targets
            .take_fitted(LoadFitResult { load, end }, second(0));
    }
    assert!(three.targets.states.is_empty());
}

#[test]
fn a_load_without_a_past_to_be_had_is_never_due() {
    let queue = Signal::PromQl(PromQl::own("sum(queue)"));
    let state = TargetState {
        past_queries: vec![(queue.clone(), "sum(queue)".into())],
        ..TargetState::default()
    };
    let rollout = TargetKey {
        workload: TargetRef::new("argoproj.io/v1alpha1", "Rollout", "shop", "web"),
        ..key("web")
    };
    let other = Signal::PromQl(PromQl::own("sum(other)"));
    for (key, signal, expected) in [
        (
            key("web"),
            Signal::CPU,
            Some(FitPast::Workloads(Signal::CPU)),
        ),
        (
            key("web"),
            queue.clone(),
            Some(FitPast::Query("sum(queue)".into())),
        ),
        (key("web"), other, None),
        (key(&"x".repeat(47)), Signal::CPU, None),
        (rollout.clone(), Signal::CPU, None),
        (rollout, queue, Some(FitPast::Query("sum(queue)".into()))),
    ] {
        assert_eq!(
            super::super::fit_past::past(&key, &state, &signal),
            expected,
            "{signal}"
        );
    }
}
