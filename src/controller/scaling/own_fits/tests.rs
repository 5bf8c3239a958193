mod traffic;

use std::sync::Mutex;

use async_trait::async_trait;

use super::*;
use crate::metrics::MetricsError;
use crate::metrics::prometheus::{Grid, WorkloadSums};
use evenkeel_training::BoostingSettings;
use prometheus_client::registry::Registry;

const MINUTES: usize = 1200;

/// Answers with loads by name and minute, and remembers what was asked.
#[derive(Default)]
struct Fake {
    asked: Mutex<Vec<Grid>>,
}

fn end() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

/// The load of a name at a time: rises that come again, a habit that has ended, what is no load, one that is new.
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
impl Past for Fake {
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
        if promql == "slow" {
            tokio::time::sleep(Duration::from_secs(200)).await;
        }
        Ok(points(promql, grid))
    }
}

fn batch(past: FitPast, names: &[&str]) -> FitBatch {
    FitBatch {
        end: end(),
        past,
        loads: names
            .iter()
            .map(|name| FitLoad::of_deployment(name, 4))
            .collect(),
    }
}

/// What came of each load of some batches, in the order in which it was told, with the metrics and the
/// virtual time that it took.
struct Outcome {
    told: Vec<(String, Learnt)>,
    metrics: String,
    took: Duration,
    asked: Vec<Grid>,
}

impl Outcome {
    async fn of(batches: Vec<FitBatch>) -> Self {
        let (fake, metrics) = (Arc::new(Fake::default()), Metrics::default());
        let mut fits = OwnFits::new(fake.clone(), Arc::default(), metrics.clone());
        let plain = OwnSettings::default();
        fits.settings = OwnSettings {
            boosting: BoostingSettings {
                trees: 10,
                ..plain.boosting
            },
            minutes: MINUTES,
            ..plain
        };
        let (give, given) = mpsc::channel(batches.len());
        for batch in batches {
            give.try_send(FitWork::Trees(batch)).unwrap();
        }
        drop(give);
        let (tell, mut heard) = mpsc::channel(1);
        let begun = clock::runtime();
        let running = tokio::spawn(fits.run(given, tell, CancellationToken::new()));
        let mut told = Vec::new();
        while let Some(FitTold::Trees(fitted)) = heard.recv().await {
            let Fitted { load, learnt } = *fitted;
            told.push((load.workload().workload.into_string(), learnt));
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

    fn names(&self) -> Vec<(&str, bool)> {
        let told = self.told.iter();
        told.map(|(name, learnt)| (&**name, learnt.own.is_some()))
            .collect()
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
async fn trees_are_told_where_they_pay_and_what_fails_says_nothing() {
    let names = ["regular", "ended", "damaged", "new", "unknown"];
    let outcome = Outcome::of(vec![batch(cpu(), &names)]).await;
    let expected = [("Deployment/regular", true), ("Deployment/ended", false)];
    assert_eq!(outcome.names(), expected);
    for (ended, count) in [("Fitted", 1), ("GlobalIsBetter", 1), ("TooShort", 3)] {
        assert_eq!(outcome.ended(ended), count, "{ended}\n{}", outcome.metrics);
    }
    let own = outcome.told[0].1.own.as_ref().unwrap();
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

/// The harm: the minutes in which Pods start are those in which a load rises, and what is learnt without
/// them knows no rise.
#[tokio::test(start_paused = true)]
async fn minutes_that_a_database_leaves_out_are_learnt_from_all_the_same() {
    let outcome = Outcome::of(vec![batch(cpu(), &["regular", "thinned"])]).await;
    let minutes = |place: usize| outcome.told[place].1.trial.minutes();
    assert!(minutes(0) > 300.0);
    assert!((minutes(0) - minutes(1)).abs() < 5.0, "{}", minutes(1));
}

/// The harm: fits one after the other without a rest hold a core of two for hours.
#[tokio::test(start_paused = true)]
async fn the_loop_rests_three_times_as_long_as_fits_take() {
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
async fn a_past_that_cannot_be_had_keeps_nobody_else_waiting() {
    let slow = FitPast::Query("slow".into());
    let outcome = Outcome::of(vec![
        batch(FitPast::Workloads(Signal::MEMORY), &["regular", "new"]),
        batch(slow, &["regular"]),
        batch(FitPast::Query("regular".into()), &["any", "other"]),
    ])
    .await;
    let expected = [("Deployment/any", true), ("Deployment/other", true)];
    assert_eq!(outcome.names(), expected);
    assert_eq!(outcome.ended("NoPast"), 3);
    assert!(outcome.took < Duration::from_mins(8), "{:?}", outcome.took);
}

#[tokio::test(start_paused = true)]
async fn two_replicas_come_to_the_same_trees() {
    let batches = || vec![batch(cpu(), &["regular"])];
    let (one, other) = (Outcome::of(batches()).await, Outcome::of(batches()).await);
    assert!(one.told[0].1.own.is_some());
    assert_eq!(one.told, other.told);
}

#[tokio::test(start_paused = true)]
async fn it_ends_when_it_is_cancelled() {
    let fits = OwnFits::new(
        Arc::new(Fake::default()),
        Arc::default(),
        Metrics::default(),
    );
    let (give, given) = mpsc::channel(1);
    let (tell, mut heard) = mpsc::channel(1);
    let cancel = CancellationToken::new();
    let running = tokio::spawn(fits.run(given, tell, cancel.clone()));
    let slow = batch(FitPast::Query("slow".into()), &["any"]);
    give.send(FitWork::Trees(slow)).await.unwrap();
    cancel.cancel();
    running.await.unwrap();
    assert!(heard.recv().await.is_none());
}

#[test]
fn values_stand_in_the_minutes_that_they_lie_in() {
    let at = |seconds: i64| end() + SignedDuration::from_secs(seconds);
    let mut grid = Steps {
        start: end(),
        step: MINUTE,
        values: vec![f32::NAN; 3],
    };
    grid.take(&vec![
        (at(-1), 9.0),
        (at(30), 1.0),
        (at(119), 2.0),
        (at(150), -1.0),
        (at(150), f64::NAN),
        (at(150), 1e300),
        (at(180), 9.0),
    ]);
    assert_eq!(grid.values[..2], [1.0, 2.0]);
    assert!(grid.values[2].is_nan());
}
