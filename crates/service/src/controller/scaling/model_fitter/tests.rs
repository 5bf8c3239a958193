mod models;
mod traffic;

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use evenkeel_clock as clock;
use evenkeel_metrics::signal::Signal;
use evenkeel_objects::bounds::ReplicaBounds;
use evenkeel_objects::kinds::Kind;
use evenkeel_scaling::load::horizon::Horizon;
use evenkeel_scaling::load::hpa_aware::PodCapacity;
use evenkeel_scaling::targets::history_backfill::Points;
use evenkeel_scaling::targets::reference::TargetRef;
use evenkeel_scaling::tick::TargetKey;
use evenkeel_scaling::tracker::LoadPastFit;
use evenkeel_training::BoostingSettings;
use evenkeel_units::Ratio;
use jiff::Timestamp;
use prometheus_client::registry::Registry;

use super::*;
use crate::controller::scaling::FitSettings;
use crate::metrics::MetricsError;
use crate::metrics::prometheus::{Grid, WorkloadSums};

fn resources() -> FitResources {
    FitResources::new(&FitSettings::default())
}

/// A Deployment in the namespace `shop`.
fn deployment(name: &str) -> TargetKey {
    TargetKey {
        namespace: "shop".into(),
        scaler: None,
        workload: TargetRef::of_kind(Kind::Deployment, "shop", name),
    }
}

/// Its cpu, with a window of four minutes.
fn load_of_deployment(name: &str) -> FitLoad {
    let capacity = PodCapacity::new(50.0, Ratio::share(0.6).unwrap()).unwrap();
    let bounds = ReplicaBounds::new(1, 20).unwrap();
    FitLoad {
        key: deployment(name),
        signal: Signal::CPU,
        window: 4,
        lesson: FitTask::Trees(TrialPods::new(capacity, bounds, &Horizon::default())),
    }
}

const MINUTES: usize = 1200;

/// Answers with loads by name and minute, and remembers what was asked.
#[derive(Default)]
struct Fake {
    asked: Mutex<Vec<Grid>>,
    /// The queries that were asked, with their grids.
    queried: Mutex<Vec<(String, Grid)>>,
}

fn end() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

/// The load of a name at a time: recurring rises, an ended habit, an invalid load, a new one.
fn load(name: &str, at: Timestamp) -> Option<f64> {
    let ago = end().duration_since(at).as_mins();
    let wobble =
        [0.0, 1.5, -1.0, 0.5, -2.0, 2.5, -0.5][usize::try_from(ago.rem_euclid(7)).unwrap()];
    let spike = ago.rem_euclid(40) < 2;
    match name {
        "regular" => Some(if spike { 160.0 } else { 100.0 + wobble }),
        "ended" => Some(if spike && ago > 410 {
            160.0
        } else {
            100.0 + wobble
        }),
        // As a database tells it, which knows no sum while Pods start.
        "thinned" => {
            let rose = (0..20).contains(&ago.rem_euclid(40));
            let starting = (16..20).contains(&ago.rem_euclid(40));
            (!starting).then_some(if rose { 160.0 } else { 100.0 + wobble })
        }
        "damaged" => Some([f64::NAN, -1.0, f64::INFINITY][usize::from(spike)]),
        "new" => (ago < 600).then_some(100.0),
        _ => traffic::load(name, at),
    }
}

fn times(grid: Grid) -> impl Iterator<Item = Timestamp> {
    (0..i32::try_from(grid.points).unwrap()).map(move |point| grid.first + grid.step * point)
}

fn points(name: &str, grid: Grid) -> Points {
    let points = times(grid).filter_map(|at| Some((at, load(name, at)?)));
    points.collect()
}

#[async_trait]
impl HistorySource for Fake {
    fn lag(&self, _: &Signal) -> SignedDuration {
        SignedDuration::ZERO
    }

    async fn sums(
        &self,
        signal: &Signal,
        workloads: Workloads<'_>,
        grid: Grid,
    ) -> Option<Result<WorkloadSums, MetricsError>> {
        if *signal == Signal::MEMORY {
            return Some(Err(MetricsError::NotServed {
                excerpt: String::new(),
            }));
        }
        self.asked.lock().unwrap().push(grid);
        let Workloads::These(these) = workloads else {
            panic!("{workloads:?}");
        };
        let load_of = |one: &WorkloadName| {
            let name = one.workload.strip_prefix("Deployment/").unwrap();
            (one.clone(), points(name, grid))
        };
        Some(Ok(WorkloadSums {
            sums: these.iter().map(load_of).collect(),
            series: these.len(),
            ..WorkloadSums::default()
        }))
    }

    async fn pods(
        &self,
        workloads: Workloads<'_>,
        grid: Grid,
    ) -> Option<Result<WorkloadSums, MetricsError>> {
        let Workloads::These([one]) = workloads else {
            panic!("{workloads:?}");
        };
        let points = times(grid).map(|at| (at, traffic::pods(at)));
        Some(Ok(WorkloadSums {
            sums: [(one.clone(), points.collect())].into(),
            series: 1,
            ..WorkloadSums::default()
        }))
    }

    async fn series(&self, promql: &str, grid: Grid) -> Result<Points, MetricsError> {
        let number = {
            let mut queried = self.queried.lock().unwrap();
            queried.push((promql.to_owned(), grid));
            queried.iter().filter(|(of, _)| of == promql).count()
        };
        match promql {
            "slow" => tokio::time::sleep(Duration::from_secs(200)).await,
            // It hangs once.
            "tired" if number == 3 => std::future::pending().await,
            _ => {}
        }
        Ok(points(
            if promql == "tired" { "regular" } else { promql },
            grid,
        ))
    }
}

fn batch(past: FitPast, names: &[&str]) -> FitBatch {
    FitBatch {
        end: end(),
        past,
        loads: names.iter().map(|name| load_of_deployment(name)).collect(),
    }
}

/// The results of each load of some batches, in order of arrival with virtual times; also the
/// metrics and the requests.
struct Outcome {
    told: Vec<(String, FitEnd, Duration)>,
    metrics: String,
    took: Duration,
    asked: Vec<Grid>,
}

impl Outcome {
    async fn of(batches: Vec<FitBatch>) -> Self {
        Self::with_swish_net(batches, None).await
    }

    async fn with_swish_net(batches: Vec<FitBatch>, file: Option<PathBuf>) -> Self {
        let (fake, metrics) = (Arc::new(Fake::default()), ScalingMetrics::default());
        let settings = FitSettings {
            swish_net: file,
            ..FitSettings::default()
        };
        let mut fits = ModelFitter::new(
            fake.clone(),
            Arc::default(),
            FitResources::new(&settings),
            metrics.clone(),
        );
        let plain = OwnSettings::default();
        fits.own = OwnSettings {
            boosting: BoostingSettings {
                trees: 10,
                ..plain.boosting
            },
            minutes: MINUTES,
            past: MINUTES,
            ..plain
        };
        let (to_workloads, by_workloads) = mpsc::channel(batches.len());
        let (to_queries, by_queries) = mpsc::channel(batches.len());
        for batch in batches {
            let lane = match batch.past {
                FitPast::Workloads(_) => &to_workloads,
                FitPast::Query(_) => &to_queries,
            };
            lane.try_send(FitWork::Trees(batch)).unwrap();
        }
        drop((to_workloads, to_queries));
        let given = FitWorkReceivers {
            by_workloads,
            by_queries,
        };
        let (tell, mut heard) = mpsc::channel(1);
        let begun = clock::runtime();
        let running = tokio::spawn(fits.run(given, tell, CancellationToken::new()));
        let mut told = Vec::new();
        while let Some(FitTold::Trees(fitted)) = heard.recv().await {
            let LoadFitResult { load, end } = *fitted;
            let name = load.key.workload_name().workload.into_string();
            told.push((name, end, begun.elapsed()));
        }
        running.await.unwrap();
        let took = begun.elapsed();
        let mut registry = Registry::default();
        metrics.register(&mut registry);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        let asked = std::mem::take(&mut *fake.asked.lock().unwrap());
        Self {
            told,
            metrics: text,
            took,
            asked,
        }
    }

    fn ends(&self) -> Vec<(&str, &str)> {
        let end = |end: &FitEnd| match end {
            FitEnd::Learnt(learnt) if learnt.own.is_some() => "own",
            FitEnd::Learnt(_) => "global",
            FitEnd::Model(_) => "model",
            FitEnd::TooShort => "too short",
            FitEnd::Failed => "failed",
        };
        let told = self.told.iter();
        told.map(|(name, of, _)| (&**name, end(of))).collect()
    }

    fn learnt(&self, place: usize) -> &LoadPastFit {
        match &self.told[place].1 {
            FitEnd::Learnt(learnt) => learnt,
            end => panic!("{end:?}"),
        }
    }

    fn ended(&self, outcome: &str) -> u32 {
        let series = format!("scaling_own_fits_total{{outcome=\"{outcome}\"}} ");
        let line = self
            .metrics
            .lines()
            .find_map(|line| line.strip_prefix(&series));
        line.map_or(0, |count| count.parse().unwrap())
    }
}

fn cpu() -> FitPast {
    FitPast::Workloads(Signal::CPU)
}

#[tokio::test(start_paused = true)]
async fn trees_are_told_where_they_pay_and_where_the_past_is_too_short_that() {
    let names = ["regular", "ended", "damaged", "new", "unknown"];
    let outcome = Outcome::of(vec![batch(cpu(), &names)]).await;
    let expected = [
        ("Deployment/regular", "own"),
        ("Deployment/ended", "global"),
        ("Deployment/damaged", "too short"),
        ("Deployment/new", "too short"),
        ("Deployment/unknown", "too short"),
    ];
    assert_eq!(outcome.ends(), expected);
    for (ended, count) in [("Fitted", 1), ("GlobalIsBetter", 1), ("TooShort", 3)] {
        assert_eq!(outcome.ended(ended), count, "{ended}\n{}", outcome.metrics);
    }
    let own = outcome.learnt(0).own.as_ref().unwrap();
    assert_eq!(own.window(), 4);
    assert!(own.bytes() <= 8192, "{}", own.bytes());
}

#[tokio::test(start_paused = true)]
async fn the_past_is_asked_for_whole_by_the_minute_and_newest_first() {
    let outcome = Outcome::of(vec![batch(cpu(), &["new", "unknown"])]).await;
    let asked = &outcome.asked;
    let points: u32 = asked.iter().map(|grid| grid.points).sum();
    assert_eq!(usize::try_from(points).unwrap(), MINUTES);
    assert_eq!(asked[0].last() + MINUTE / 2, end());
    for pair in asked.windows(2) {
        assert_eq!(pair[1].last() + MINUTE, pair[0].first);
    }
    assert!(asked.iter().all(|grid| grid.step == MINUTE));
}

/// The harm: loads rise in the minutes in which Pods start, so a model fitted without these minutes
/// knows no rise.
#[tokio::test(start_paused = true)]
async fn minutes_that_a_database_leaves_out_are_learnt_from_all_the_same() {
    let outcome = Outcome::of(vec![batch(cpu(), &["regular", "thinned"])]).await;
    let minutes = |place: usize| outcome.learnt(place).trial.minutes();
    assert!(minutes(0) > 300.0);
    assert!((minutes(0) - minutes(1)).abs() < 5.0, "{}", minutes(1));
}

/// The harm: fits one after the other without a rest hold a core of two for hours.
#[tokio::test(start_paused = true)]
async fn fits_take_no_more_than_their_share_of_a_core() {
    let outcome = Outcome::of(vec![batch(cpu(), &["regular", "ended"])]).await;
    let series = "scaling_own_fit_duration_seconds_sum ";
    let worked = outcome
        .metrics
        .lines()
        .find_map(|line| line.strip_prefix(series));
    let worked: f64 = worked.unwrap().parse().unwrap();
    assert!(worked > 0.0);
    let rested = outcome.took.as_secs_f64();
    assert!(rested >= 2.99 * worked, "{rested} {worked}");
    assert_eq!(outcome.ended("Fitted"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_past_that_cannot_be_had_is_told_and_keeps_nobody_else_waiting() {
    let slow = FitPast::Query("slow".into());
    let outcome = Outcome::of(vec![
        batch(FitPast::Workloads(Signal::MEMORY), &["regular", "new"]),
        batch(slow, &["slow"]),
        batch(FitPast::Query("regular".into()), &["any", "other"]),
    ])
    .await;
    let mut ends = outcome.ends();
    ends.sort_unstable();
    let expected = [
        ("Deployment/any", "own"),
        ("Deployment/new", "failed"),
        ("Deployment/other", "own"),
        ("Deployment/regular", "failed"),
        ("Deployment/slow", "failed"),
    ];
    assert_eq!(ends, expected);
    assert_eq!(outcome.ended("NoPast"), 3);
    assert!(outcome.took < Duration::from_mins(6), "{:?}", outcome.took);
}

/// The harm: each query that hangs kept the fits of all targets waiting for five minutes.
#[tokio::test(start_paused = true)]
async fn the_fits_of_workloads_wait_for_no_query_that_hangs() {
    let slow = || batch(FitPast::Query("slow".into()), &["slow"]);
    let mut batches: Vec<_> = std::iter::repeat_with(slow)
        .take(2 * QUERIES_AT_ONCE)
        .collect();
    batches.push(batch(cpu(), &["regular"]));
    let outcome = Outcome::of(batches).await;
    let (name, _, after) = &outcome.told[0];
    assert_eq!(name, "Deployment/regular");
    assert!(*after < Duration::from_mins(2), "{after:?}");
    assert_eq!(outcome.ended("NoPast"), 8);
    assert!(outcome.took < Duration::from_mins(11), "{:?}", outcome.took);
}

#[tokio::test(start_paused = true)]
async fn what_was_had_of_a_past_is_not_asked_for_again() {
    let tired = || batch(FitPast::Query("tired".into()), &["any"]);
    let (fake, metrics) = (Arc::new(Fake::default()), ScalingMetrics::default());
    let fits = ModelFitter::new(fake.clone(), Arc::default(), resources(), metrics);
    let ask = async || {
        let pasts = fits.pasts(&tired(), &mut BackfillPace::default()).await;
        pasts.map(|pasts| pasts[0].values.iter().all(|value| value.is_finite()))
    };
    assert_eq!(ask().await, None);
    assert_eq!(ask().await, Some(true));
    let queried = fake.queried.lock().unwrap();
    let points: Vec<u32> = queried.iter().map(|(_, grid)| grid.points).collect();
    let first_time: u32 = points[..2].iter().sum();
    let again: u32 = points[3..].iter().sum();
    assert_eq!(usize::try_from(first_time + again).unwrap(), fits.own.past);
    assert_eq!(
        queried[3].1.last(),
        queried[2].1.last(),
        "it goes on where it hung"
    );
}

#[tokio::test(start_paused = true)]
async fn a_fit_that_panics_is_failed_and_the_next_is_made() {
    let fits = ModelFitter::new(
        Arc::new(Fake::default()),
        Arc::default(),
        resources(),
        ScalingMetrics::default(),
    );
    let (worked, _) = fits
        .resources
        .core
        .work(|| -> u8 { panic!("on a past") })
        .await;
    assert_eq!(worked.unwrap_err().to_string(), "panicked: on a past");
    assert_eq!(fits.resources.core.work(|| 7).await.0, Ok(7));
}

#[tokio::test(start_paused = true)]
async fn two_replicas_come_to_the_same_trees() {
    let batches = || vec![batch(cpu(), &["regular"])];
    let (one, other) = (Outcome::of(batches()).await, Outcome::of(batches()).await);
    assert!(one.learnt(0).own.is_some());
    assert_eq!(one.learnt(0), other.learnt(0));
}

#[tokio::test(start_paused = true)]
async fn it_ends_when_it_is_cancelled() {
    let fits = ModelFitter::new(
        Arc::new(Fake::default()),
        Arc::default(),
        resources(),
        ScalingMetrics::default(),
    );
    let (_to_workloads, by_workloads) = mpsc::channel(1);
    let (give, by_queries) = mpsc::channel(1);
    let given = FitWorkReceivers {
        by_workloads,
        by_queries,
    };
    let (tell, mut heard) = mpsc::channel(1);
    let cancel = CancellationToken::new();
    let running = tokio::spawn(fits.run(given, tell, cancel.clone()));
    let slow = batch(FitPast::Query("slow".into()), &["any"]);
    give.send(FitWork::Trees(slow)).await.unwrap();
    cancel.cancel();
    running.await.unwrap();
    assert!(heard.recv().await.is_none());
}
