//! Fills the histories of targets from a Prometheus, in the background, newest past first.
//!
//! One question at a time, each for so many points as the answers before it allow, with as much
//! rest after it as it took; a server that is down is asked again less and less often. Decisions
//! never wait for it: what arrives fills gaps, and what has been measured here stays. Each answer
//! is used once, so none is cached.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::metrics::Metrics;
use crate::metrics::MetricsError;
use crate::metrics::prometheus::{Grid, PrometheusSource, WorkloadSums};
use evenkeel_clock::{self as clock, Clock};
use evenkeel_core::forecast::Resolution;
use evenkeel_core::units::Resource;

/// The resources that autoscalers go by.
const RESOURCES: [Resource; 2] = [Resource::Cpu, Resource::Memory];

/// Values that one answer may hold: some 8 MB of JSON.
const VALUES: usize = 250_000;

/// The points of the first question, while the number of series is not known.
const FIRST_POINTS: u32 = 20;

/// The pause after the first failure, doubled with each further one up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// The longest rest between two questions that were answered.
const LONGEST_REST: Duration = Duration::from_secs(5);

/// So many times a server that answers may refuse a question before it is given up.
const REFUSALS: u32 = 5;

/// Where the past comes from.
#[async_trait]
pub trait Past: Send + Sync {
    /// What the workloads of some namespaces used at each time of `grid`; `None` where this
    /// resource is not measured.
    async fn sums(
        &self,
        resource: Resource,
        namespaces: &[&str],
        grid: Grid,
    ) -> Option<Result<WorkloadSums, MetricsError>>;
}

#[async_trait]
impl Past for PrometheusSource {
    async fn sums(
        &self,
        resource: Resource,
        namespaces: &[&str],
        grid: Grid,
    ) -> Option<Result<WorkloadSums, MetricsError>> {
        self.workload_sums(resource, namespaces, grid).await
    }
}

/// A part of the past, in the loop's time.
#[derive(Debug)]
pub struct Filled {
    /// Of which resource.
    pub resource: Resource,
    /// In which resolution.
    pub resolution: Resolution,
    /// The sums by workload.
    pub sums: WorkloadSums,
}

/// What the loop hears of the refill.
#[derive(Debug)]
pub enum Progress {
    /// A part has come.
    Part(Filled),
    /// The targets of these namespaces that were there at the given ticks have all that there is.
    Done(Asked),
}

/// Namespaces whose past is asked for, each with the newest tick at which it was.
pub type Asked = BTreeMap<Box<str>, u64>;

/// The refill; it works on what it is asked for until it is cancelled.
pub struct Refill {
    past: Arc<dyn Past>,
    clock: Clock,
    metrics: Metrics,
    /// The points of the next question.
    points: u32,
    /// The most that the server has been able to answer of late.
    most: u32,
}

impl Refill {
    /// A refill from `past`, whose dates are those of `clock`.
    #[must_use]
    pub fn new(past: Arc<dyn Past>, clock: Clock, metrics: Metrics) -> Self {
        Self {
            past,
            clock,
            metrics,
            points: FIRST_POINTS,
            most: u32::MAX,
        }
    }

    /// Fills the targets of the namespaces that are asked for, one request after the other, those
    /// that have gathered meanwhile together.
    pub async fn run(
        mut self,
        mut asked: mpsc::UnboundedReceiver<(Box<str>, u64)>,
        told: mpsc::Sender<Progress>,
        cancel: CancellationToken,
    ) {
        let filling = async {
            while let Some(first) = asked.recv().await {
                let mut namespaces = Asked::from([first]);
                while let Ok((namespace, tick)) = asked.try_recv() {
                    namespaces.insert(namespace, tick);
                }
                self.metrics.refilling(true);
                let heard = self.fill(&namespaces, &told).await;
                self.metrics.refilling(false);
                let done = told.send(Progress::Done(namespaces));
                if !heard || done.await.is_err() {
                    return;
                }
            }
        };
        cancel.run_until_cancelled(filling).await;
    }

    /// Whether anybody still listens.
    async fn fill(&mut self, namespaces: &Asked, told: &mpsc::Sender<Progress>) -> bool {
        self.most = u32::MAX;
        let names: Vec<&str> = namespaces.keys().map(|name| &**name).collect();
        for resolution in Resolution::ALL {
            for resource in RESOURCES {
                let mut rest = Span::before(self.clock.now(), resolution);
                while let Some(slots) = rest.newest(self.points) {
                    let Some(sums) = self.ask(&names, resource, slots).await else {
                        break;
                    };
                    let Some(sums) = sums else { continue };
                    rest.took(slots.points);
                    let part = Progress::Part(Filled {
                        resource,
                        resolution,
                        sums,
                    });
                    if told.send(part).await.is_err() {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// The sums of some slots; `Some(None)` where fewer are to be asked for, `None` where this part
    /// of the past cannot be had.
    async fn ask(
        &mut self,
        namespaces: &[&str],
        resource: Resource,
        slots: Slots,
    ) -> Option<Option<WorkloadSums>> {
        let mut pause = FIRST_PAUSE;
        let mut refusals = 0;
        loop {
            let begun = clock::instant();
            let grid = slots.grid();
            let outcome = self.past.sums(resource, namespaces, grid).await?;
            let took = begun.elapsed();
            self.metrics.refill(outcome.as_ref().map(drop));
            let error = match outcome {
                Ok(sums) => {
                    self.points = points(sums.series).min(self.most);
                    tokio::time::sleep(took.min(LONGEST_REST)).await;
                    return Some(Some(sums));
                }
                Err(error) => error,
            };
            if is_too_much(&error) && slots.points > 1 {
                self.most = (slots.points / 2).max(1);
                self.points = self.most;
                return Some(None);
            }
            let down = is_down(&error);
            refusals += u32::from(!down);
            if refusals >= REFUSALS {
                tracing::warn!(%error, resource = resource.as_str(), "the past of the load cannot be had");
                return None;
            }
            tracing::debug!(%error, ?pause, "the past of the load is asked for again later");
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// So many points that an answer of so many series is not too large.
fn points(series: usize) -> u32 {
    u32::try_from(VALUES / series.max(1)).map_or(u32::MAX, |points| points.clamp(1, 600))
}

/// Whether a smaller question may be answered.
const fn is_too_much(error: &MetricsError) -> bool {
    matches!(
        error,
        MetricsError::Timeout | MetricsError::TooLarge { .. } | MetricsError::Refused { .. }
    )
}

/// Whether the server may answer later what it does not now.
const fn is_down(error: &MetricsError) -> bool {
    matches!(
        error,
        MetricsError::Timeout
            | MetricsError::Connect(_)
            | MetricsError::Transport(_)
            | MetricsError::Status { .. }
    )
}

/// Neighbouring slots of one resolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slots {
    /// When the first begins.
    start: Timestamp,
    step: SignedDuration,
    points: u32,
}

impl Slots {
    /// The middle of each slot: a rate there speaks of the whole slot best.
    fn grid(&self) -> Grid {
        let first = self.start.checked_add(self.step / 2);
        Grid {
            first: first.unwrap_or(Timestamp::MAX),
            step: self.step,
            points: self.points,
        }
    }
}

/// The part of a ring that has not been asked for yet.
struct Span {
    end: Timestamp,
    step: SignedDuration,
    left: u32,
}

impl Span {
    /// All slots that are over at `now`.
    fn before(now: Timestamp, resolution: Resolution) -> Self {
        let step = resolution.step();
        let end = now.as_second() - now.as_second().rem_euclid(step.as_secs());
        Self {
            end: Timestamp::from_second(end).unwrap_or(now),
            step,
            left: u32::try_from(resolution.length()).unwrap_or(u32::MAX),
        }
    }

    /// At most so many of the newest slots.
    fn newest(&self, most: u32) -> Option<Slots> {
        let points = most.min(self.left);
        let length = self.step.saturating_mul(i32::try_from(points).ok()?);
        (points > 0).then_some(Slots {
            start: self.end.checked_sub(length).ok()?,
            step: self.step,
            points,
        })
    }

    fn took(&mut self, points: u32) {
        if let Some(slots) = self.newest(points) {
            (self.end, self.left) = (slots.start, self.left - slots.points);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Mutex;

    use super::*;
    use crate::metrics::prometheus::WorkloadName;
    use evenkeel_core::units::Bytes;

    /// Answers each question as the script says, and remembers it.
    struct Fake<F> {
        script: F,
        asked: Mutex<Vec<(Resource, Grid)>>,
    }

    type Answer = Option<Result<WorkloadSums, MetricsError>>;

    #[async_trait]
    impl<F: Fn(usize, Resource, Grid) -> Answer + Send + Sync> Past for Fake<F> {
        async fn sums(&self, resource: Resource, namespaces: &[&str], grid: Grid) -> Answer {
            assert_eq!(namespaces, ["shop"]);
            let number = {
                let mut asked = self.asked.lock().unwrap();
                asked.push((resource, grid));
                asked.len()
            };
            (self.script)(number, resource, grid)
        }
    }

    fn web() -> WorkloadName {
        WorkloadName {
            namespace: "shop".into(),
            workload: "Deployment/web".into(),
        }
    }

    fn sums(grid: Grid, series: usize) -> WorkloadSums {
        WorkloadSums {
            sums: HashMap::from([(web(), vec![(grid.first, 1.0)])]),
            series,
            ..WorkloadSums::default()
        }
    }

    /// All that a refill of one namespace tells, and what it asked.
    async fn refill(
        script: impl Fn(usize, Resource, Grid) -> Answer + Send + Sync + 'static,
    ) -> (Vec<Filled>, Vec<(Resource, Grid)>) {
        let fake = Arc::new(Fake {
            script,
            asked: Mutex::default(),
        });
        let refill = Refill::new(fake.clone(), Clock::real(), Metrics::default());
        let (ask, asked) = mpsc::unbounded_channel();
        let (told, mut heard) = mpsc::channel(1);
        ask.send(("shop".into(), 1)).unwrap();
        let cancel = CancellationToken::new();
        let running = tokio::spawn(refill.run(asked, told, cancel.clone()));
        let mut parts = Vec::new();
        while let Progress::Part(part) = heard.recv().await.unwrap() {
            parts.push(part);
        }
        cancel.cancel();
        running.await.unwrap();
        let asked = std::mem::take(&mut *fake.asked.lock().unwrap());
        (parts, asked)
    }

    #[tokio::test(start_paused = true)]
    async fn every_ring_is_asked_for_whole_and_newest_first() {
        let (parts, asked) = refill(|_, _, grid| Some(Ok(sums(grid, 12_500)))).await;
        for resolution in Resolution::ALL {
            for resource in RESOURCES {
                let of = |(of, grid): &&(Resource, Grid)| {
                    *of == resource && grid.step == resolution.step()
                };
                let grids: Vec<Grid> = asked.iter().filter(of).map(|(_, grid)| *grid).collect();
                let points: u32 = grids.iter().map(|grid| grid.points).sum();
                assert_eq!(usize::try_from(points).unwrap(), resolution.length());
                assert!(grids.iter().all(|grid| grid.points <= 20), "{grids:?}");
                for pair in grids.windows(2) {
                    assert_eq!(pair[1].last() + resolution.step(), pair[0].first);
                }
                let middle = i128::from(grids[0].first.as_millisecond());
                let step = resolution.step().as_millis();
                assert_eq!(middle % step, step / 2);
            }
        }
        assert_eq!(parts.len(), asked.len());
        assert_eq!(parts[0].sums.sums[&web()][0].0, asked[0].1.first);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_too_much_is_asked_in_parts() {
        let (parts, asked) = refill(|_, resource, grid| {
            (resource == Resource::Cpu).then(|| {
                if grid.points > 3 {
                    let limit = Bytes(1);
                    return Err(MetricsError::TooLarge { limit });
                }
                Ok(sums(grid, 100_000))
            })
        })
        .await;
        let whole: u32 = parts.iter().map(|_| 0).sum::<u32>()
            + asked
                .iter()
                .filter(|(_, grid)| grid.points <= 3)
                .map(|(_, grid)| grid.points)
                .sum::<u32>();
        let memory = asked.iter().filter(|(of, _)| *of == Resource::Memory);
        assert_eq!(memory.clone().count(), 3, "it is not measured");
        let memory: u32 = memory
            .filter(|(_, grid)| grid.points <= 3)
            .map(|(_, grid)| grid.points)
            .sum();
        assert_eq!(whole - memory, 120 + 180 + 576);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_too_much_is_not_asked_again_and_again() {
        let (_, asked) = refill(|_, _, grid| {
            Some(if grid.points > 3 {
                Err(MetricsError::Timeout)
            } else {
                Ok(sums(grid, 1))
            })
        })
        .await;
        let refused = asked.iter().filter(|(_, grid)| grid.points > 3).count();
        // 20, 10 and 5 points.
        assert_eq!(refused, 3);
        let answered = asked.iter().filter(|(_, grid)| grid.points <= 3);
        let answered: u32 = answered.map(|(_, grid)| grid.points).sum();
        assert_eq!(answered, 2 * (120 + 180 + 576));
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_is_down_is_asked_again_and_one_that_refuses_is_left() {
        let down = |number, _, grid| {
            Some(if number <= 20 {
                Err(MetricsError::Connect("refused".into()))
            } else {
                Ok(sums(grid, 1))
            })
        };
        let (parts, asked) = refill(down).await;
        assert_eq!(asked.len(), 20 + parts.len());
        let refused = |_, _, _| {
            Some(Err(MetricsError::NotServed {
                excerpt: String::new(),
            }))
        };
        let (parts, asked) = refill(refused).await;
        assert!(parts.is_empty());
        assert_eq!(asked.len(), 6 * usize::try_from(REFUSALS).unwrap());
    }
}
