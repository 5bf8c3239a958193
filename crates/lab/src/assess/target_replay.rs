//! The replay of each past, and the verdict that follows.

use std::sync::{Arc, Mutex};

use evenkeel_forecast::{GlobalPeaks, Minutes};
use evenkeel_objects::bounds::ReplicaBounds;
use evenkeel_sandbox::parallel::{cores, in_parallel};
use evenkeel_sandbox::target_replay;
use evenkeel_sandbox::target_replay::{
    DailyFit, FitFunctions, Knowledge, ReplayLoad, ReplayOutcome, ReplayPoint, ReplayPolicy,
};
use evenkeel_scaling::counterfactual::TrialPods;
use evenkeel_scaling::counterfactual::cost_benefit::is_little;
use evenkeel_scaling::tracker::fit_times::daily_hour;
use evenkeel_units::count_as_f64;
use jiff::SignedDuration;

use super::candidate::{AssessCandidate, ForecastableLoad, NotForecastReason};
use super::load_history::LoadPast;
use super::recommendation::TargetJudgement;
use super::replay_depth::Depth;
use crate::forecast::grid;
use crate::forecast::progress::Bar;
use crate::forecast::replay::own_models::fit_model;
use crate::forecast::replay::replay_series::{Entrant, last_days};
use crate::forecast::replay::report::ReplayedSeries;

/// The most points of a line in a picture, which pages of hundreds of targets can hold.
const DRAWN: usize = 480;

/// The terms that all replays have in common.
#[derive(Debug, Clone, Copy)]
struct Terms {
    depth: Depth,
    drawn: bool,
}

/// The minutes of load below which nothing is said: two days.
pub(super) const LEAST_MINUTES: usize = 2 * 24 * 60;

/// The most Pods that a replay counts, each at each tick.
const MOST_PODS: i32 = 10_000;
/// More replicas than the largest load takes, as a factor, which no policy asks for.
const BEYOND_NEED: i32 = 4;

#[derive(Debug)]
pub(super) struct AssessedTarget {
    pub candidate: AssessCandidate,
    pub past: Option<LoadPast>,
    pub outcome: AssessOutcome,
}

#[derive(Debug)]
pub(super) enum AssessOutcome {
    Unfit(NotForecastReason),
    /// Its past is too short, or missing, or could not be asked for.
    TooLittle,
    /// The plain HPA was next to never under-provisioned.
    NothingToSave(Box<ReplayedSeries>),
    Judged(Box<(ReplayedSeries, TargetJudgement)>),
}

/// All HPAs with what comes of them, by replays of the wanted depth, or as their number allows.
pub(super) fn assess(
    targets: Vec<(AssessCandidate, Option<LoadPast>)>,
    wanted: Option<Depth>,
    drawn: bool,
) -> (Depth, Vec<AssessedTarget>) {
    let long = |past: &LoadPast| past.known >= LEAST_MINUTES;
    let loads = targets
        .iter()
        .filter(|(_, past)| past.as_ref().is_some_and(long));
    let depth = wanted.unwrap_or_else(|| Depth::of(loads.count()));
    let terms = Terms { depth, drawn };
    let global = GlobalPeaks::shipped();
    let bar = Mutex::new(Bar::new(true));
    let all = count_as_f64(targets.len());
    let told = |done: usize| {
        // A bar that panicked is shown no more.
        if let Ok(mut bar) = bar.lock() {
            bar.tell(count_as_f64(done) / all, "replaying");
        }
    };
    let work = |(candidate, past): &(AssessCandidate, Option<LoadPast>)| match &candidate.load {
        Err(unfit) => AssessOutcome::Unfit(unfit.clone()),
        Ok(load) => {
            let past = past.as_ref().filter(|past| long(past));
            let replayed = past.and_then(|past| replay(candidate, load, past, terms, &global));
            replayed.unwrap_or(AssessOutcome::TooLittle)
        }
    };
    let outcomes = in_parallel(cores(), &targets, work, told);
    if let Ok(mut bar) = bar.lock() {
        bar.finish();
    }
    let assessed = targets.into_iter().zip(outcomes);
    let assessed = assessed.map(|((candidate, past), outcome)| AssessedTarget {
        candidate,
        past,
        outcome,
    });
    (depth, assessed.collect())
}

/// The replay of one past; `None` where nothing is left to judge.
fn replay(
    candidate: &AssessCandidate,
    load: &ForecastableLoad,
    past: &LoadPast,
    terms: Terms,
    global: &Arc<GlobalPeaks>,
) -> Option<AssessOutcome> {
    let Terms { depth, drawn } = terms;
    let entrant = match entrant(candidate, load, past, depth)? {
        Ok(entrant) => entrant,
        Err(unfit) => return Some(AssessOutcome::Unfit(unfit)),
    };
    let own = entrant.target.capacity.target();
    let run = |policy: ReplayPolicy| {
        // Today's HPA and the floors that are judged.
        let shown = match policy {
            ReplayPolicy::Hpa { target } => target.get().total_cmp(&own).is_eq(),
            ReplayPolicy::Evenkeel(floors) => floors.is_at_default_risk(),
            ReplayPolicy::Rule(_) => false,
        };
        let replayed = replay_one(&entrant, policy, global, drawn && shown);
        (policy, replayed)
    };
    let policies = depth.policies(&entrant.target, entrant.load.past_length());
    let mut policies = policies.into_iter();
    let own = policies.next().map(run)?;
    let judged = entrant
        .load
        .end()
        .duration_since(entrant.load.counted_from());
    if is_little(&own.1.cost, judged.as_secs_f64()) {
        return Some(AssessOutcome::NothingToSave(Box::new(ReplayedSeries::of(
            &entrant,
            vec![own],
            drawn,
        ))));
    }
    let replayed: Vec<_> = [own].into_iter().chain(policies.map(run)).collect();
    let judged = TargetJudgement::of(&replayed)?;
    let series = ReplayedSeries::of(&entrant, replayed, drawn);
    Some(AssessOutcome::Judged(Box::new((series, judged))))
}

/// The load as it is replayed; `None` where nothing is left to judge.
fn entrant(
    candidate: &AssessCandidate,
    load: &ForecastableLoad,
    past: &LoadPast,
    depth: Depth,
) -> Option<Result<Entrant, NotForecastReason>> {
    let samples = past.samples();
    let gridded = grid::on_grid(&samples).ok()?;
    let (kind, name) = candidate.workload.split_once('/')?;
    let largest = samples.iter().filter_map(|sample| sample.value);
    let largest = largest.fold(0.0, f64::max);
    let target = match within_reach(load.target, largest) {
        Ok(target) => target,
        Err(unfit) => return Some(Err(unfit)),
    };
    let count_from = last_days(&samples)?;
    // The last step is one of those that are judged.
    let steps_before = depth.judged().saturating_sub(target_replay::GRID);
    let latest = gridded.load.end().checked_sub(steps_before).ok()?;
    let count_from = count_from.max(latest);
    Some(Ok(Entrant {
        name: format!("{}/{}", candidate.namespace, candidate.name),
        step: SignedDuration::from_mins(1),
        target,
        load: ReplayLoad::new(gridded.load, count_from).ok()?,
        own: depth.own_past(),
        fit_hour: daily_hour(&candidate.namespace, kind, name),
        gaps: gridded.gaps,
    }))
}

/// The target with at most `BEYOND_NEED` times the replicas for its largest load, so that a huge
/// maximum costs no time, and coarse measurements of a tiny request cannot reach it.
fn within_reach(
    target: target_replay::ReplayTarget,
    largest: f64,
) -> Result<target_replay::ReplayTarget, NotForecastReason> {
    let needed = target.capacity.desired_for_sum(largest);
    if needed > MOST_PODS && target.bounds.max() > MOST_PODS {
        return Err(NotForecastReason::TooManyPods {
            needed,
            most: MOST_PODS,
        });
    }
    let most = needed.saturating_mul(BEYOND_NEED).min(MOST_PODS);
    let (min, max) = (target.bounds.min(), target.bounds.max());
    let bounds = ReplicaBounds::new(min, max.min(most.max(min.saturating_add(1))));
    Ok(target_replay::ReplayTarget {
        bounds: bounds.unwrap_or(target.bounds),
        ..target
    })
}

fn replay_one(
    entrant: &Entrant,
    policy: ReplayPolicy,
    global: &Arc<GlobalPeaks>,
    drawn: bool,
) -> ReplayOutcome {
    let learn =
        |past: &Minutes, window, pods: &TrialPods| entrant.own.learnt(global, past, window, pods);
    let knowledge = Knowledge {
        global: Arc::clone(global),
        own: Some(DailyFit {
            hour: entrant.fit_hour,
            fits: FitFunctions {
                trees: &learn,
                model: &fit_model,
            },
        }),
    };
    let mut replayed =
        target_replay::replay(&entrant.target, policy, &entrant.load, &knowledge, drawn);
    replayed.points = highest(&replayed.points);
    replayed
}

/// The points that a picture has room for, each the highest of its group.
fn highest(points: &[ReplayPoint]) -> Vec<ReplayPoint> {
    let together = points.len().div_ceil(DRAWN).max(1);
    let highest = points.chunks(together).filter_map(|part| {
        let first = *part.first()?;
        Some(part.iter().fold(first, |highest, point| ReplayPoint {
            at: first.at,
            load: highest.load.into_iter().chain(point.load).reduce(f64::max),
            replicas: highest.replicas.max(point.replicas),
            ready: highest.ready.max(point.ready),
            floor: highest.floor.max(point.floor),
        }))
    });
    highest.collect()
}

#[cfg(test)]
mod tests {
    use evenkeel_sandbox::scrape_timing::Timing;
    use evenkeel_sandbox::target_replay::Edges;
    use evenkeel_scaling::load::hpa_aware::PodCapacity;
    use evenkeel_units::{Ratio, Resource};

    use super::*;

    /// The harm: Pods with a request of a millicore never measured less, so the HPA doubled every
    /// 15 seconds to a huge maximum, and one replay took all memory.
    #[test]
    fn a_replay_counts_no_more_pods_than_the_load_could_need() {
        for (request, max, largest, expected) in [
            (500.0, i32::MAX, 3_000.0, Ok((2, 48))),
            (500.0, 30, 3_000.0, Ok((2, 30))),
            (500.0, 50, 0.0, Ok((2, 3))),
            (1.0, i32::MAX, 3_000.0, Ok((2, 10_000))),
            (1.0, i32::MAX, 10_000.0, Err(20_000)),
            (1.0, 5_000, 10_000.0, Ok((2, 5_000))),
        ] {
            let target = target_replay::ReplayTarget {
                resource: Resource::Cpu,
                capacity: PodCapacity::new(request, Ratio::share(0.5).expect("a share"))
                    .expect("a capacity"),
                bounds: ReplicaBounds::new(2, max).expect("bounds"),
                start_up: SignedDuration::from_mins(1),
                metrics: Timing::default(),
                edges: Edges::default(),
                initial: None,
            };
            let found = within_reach(target, largest);
            let found = found.map(|target| (target.bounds.min(), target.bounds.max()));
            let expected = expected.map_err(|needed| NotForecastReason::TooManyPods {
                needed,
                most: MOST_PODS,
            });
            assert_eq!(found, expected, "{request} {max} {largest}");
        }
    }
}
