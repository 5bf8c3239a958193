//! Fills the histories of targets from a Prometheus, in the background, newest past first.
//!
//! One question at a time, at the pace of [`evenkeel_core::scaling::refill`]. Decisions never wait
//! for it: answers fill gaps, and values that were measured here stay. Each answer is used once, so
//! none is cached.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::SignedDuration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::metrics::Metrics;
use crate::metrics::MetricsError;
use crate::metrics::prometheus::{Grid, PrometheusSource, WorkloadSums};
use evenkeel_clock::{self as clock, Clock};
use evenkeel_core::forecast::Resolution;
use evenkeel_core::scaling::refill::{Next, Outcome, Pace, Rest, Slots};
use evenkeel_core::scaling::signal::{ResourceName, Signal};
use evenkeel_core::units::Resource;

/// The signals whose past can be asked for.
const SIGNALS: [Signal; 2] = [Signal::CPU, Signal::MEMORY];

/// A source of the past.
#[async_trait]
pub trait Past: Send + Sync {
    /// How long after a time its load is known: that of a rate is the mean of a window around it.
    fn lag(&self, signal: &Signal) -> SignedDuration;

    /// The load of the workloads of some namespaces at each time of `grid`; `None` where this signal
    /// is not measured.
    async fn sums(
        &self,
        signal: &Signal,
        namespaces: &[&str],
        grid: Grid,
    ) -> Option<Result<WorkloadSums, MetricsError>>;
}

#[async_trait]
impl Past for PrometheusSource {
    fn lag(&self, signal: &Signal) -> SignedDuration {
        let resource = resource_of(signal);
        resource.map_or(SignedDuration::ZERO, |resource| Self::lag(self, resource))
    }

    async fn sums(
        &self,
        signal: &Signal,
        namespaces: &[&str],
        grid: Grid,
    ) -> Option<Result<WorkloadSums, MetricsError>> {
        let resource = resource_of(signal)?;
        self.workload_sums(resource, namespaces, grid).await
    }
}

/// The resource of a signal whose past is known.
const fn resource_of(signal: &Signal) -> Option<Resource> {
    match signal {
        Signal::Resource(ResourceName::Cpu) => Some(Resource::Cpu),
        Signal::Resource(ResourceName::Memory) => Some(Resource::Memory),
        _ => None,
    }
}

/// A part of the past, in the loop's time.
#[derive(Debug)]
pub struct Filled {
    pub signal: Signal,
    /// The distance of the points.
    pub resolution: Resolution,
    /// The sums by workload.
    pub sums: WorkloadSums,
}

/// The progress of the refill, as the loop hears of it.
#[derive(Debug)]
pub enum Progress {
    /// A part has come.
    Part(Filled),
    /// The targets of these namespaces that were there at the given ticks have all that there is.
    Done(Asked),
}

/// Namespaces whose past is asked for, each with the newest tick at which it was.
pub type Asked = BTreeMap<Box<str>, u64>;

/// The refill, which works on what it is asked for until it is cancelled.
pub struct Refill {
    past: Arc<dyn Past>,
    clock: Clock,
    metrics: Metrics,
    pace: Pace,
}

impl Refill {
    /// A refill from `past`, whose dates are those of `clock`.
    #[must_use]
    pub fn new(past: Arc<dyn Past>, clock: Clock, metrics: Metrics) -> Self {
        Self {
            past,
            clock,
            metrics,
            pace: Pace::default(),
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

    /// Tells all of the past that there is; false where nobody listens any more.
    async fn fill(&mut self, namespaces: &Asked, told: &mpsc::Sender<Progress>) -> bool {
        self.pace.begin();
        let names: Vec<&str> = namespaces.keys().map(|name| &**name).collect();
        for resolution in Resolution::ALL {
            for signal in SIGNALS {
                let known = self.clock.now() - self.past.lag(&signal);
                let mut rest = Rest::before(known, resolution);
                while let Some(slots) = rest.newest(self.pace.points()) {
                    let sums = match self.ask(&names, &signal, slots).await {
                        Asking::Answered(sums) => sums,
                        Asking::TooMuch => continue,
                        Asking::NotToBeHad => break,
                    };
                    rest.took(slots.points);
                    let part = Progress::Part(Filled {
                        signal: signal.clone(),
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

    /// Asks for the sums of some slots until they are there or are not to be had.
    async fn ask(&mut self, namespaces: &[&str], signal: &Signal, slots: Slots) -> Asking {
        loop {
            let begun = clock::instant();
            let grid = grid(slots);
            let Some(answer) = self.past.sums(signal, namespaces, grid).await else {
                return Asking::NotToBeHad;
            };
            self.metrics.refill(answer.as_ref().map(drop));
            let outcome = match &answer {
                Ok(sums) => Outcome::Answered {
                    series: sums.series,
                    took: begun.elapsed(),
                },
                Err(error) => outcome(error),
            };
            match (self.pace.after(slots.points, outcome), answer) {
                (Next::Take(rest), Ok(sums)) => {
                    tokio::time::sleep(rest).await;
                    return Asking::Answered(sums);
                }
                (Next::AskForLess, _) => return Asking::TooMuch,
                (Next::AskAgain(pause), answer) => {
                    let error = answer.err().map(|error| error.to_string());
                    tracing::debug!(
                        error,
                        ?pause,
                        "the past of the load is asked for again later"
                    );
                    tokio::time::sleep(pause).await;
                }
                (Next::GiveUp | Next::Take(_), answer) => {
                    let error = answer.err().map(|error| error.to_string());
                    tracing::warn!(error, %signal, "the past of the load cannot be had");
                    return Asking::NotToBeHad;
                }
            }
        }
    }
}

/// The end of asking for some slots.
enum Asking {
    Answered(WorkloadSums),
    /// Fewer slots are to be asked for.
    TooMuch,
    /// This part of the past cannot be had.
    NotToBeHad,
}

/// The meaning of an error for the pace of the refill.
const fn outcome(error: &MetricsError) -> Outcome {
    match error {
        MetricsError::Timeout => Outcome::TooSlow,
        MetricsError::TooLarge { .. } | MetricsError::Refused { .. } => Outcome::TooMuch,
        MetricsError::Connect(_) | MetricsError::Transport(_) | MetricsError::Status { .. } => {
            Outcome::Down
        }
        _ => Outcome::Refused,
    }
}

/// The middle of each slot: a rate there speaks of the whole slot best.
fn grid(slots: Slots) -> Grid {
    Grid {
        first: slots.first_middle(),
        step: slots.step,
        points: slots.points,
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
        asked: Mutex<Vec<(Signal, Grid)>>,
    }

    /// Half of a window.
    const LAG: SignedDuration = SignedDuration::from_secs(60);

    type Answer = Option<Result<WorkloadSums, MetricsError>>;

    #[async_trait]
    impl<F: Fn(usize, &Signal, Grid) -> Answer + Send + Sync> Past for Fake<F> {
        fn lag(&self, _: &Signal) -> SignedDuration {
            LAG
        }

        async fn sums(&self, signal: &Signal, namespaces: &[&str], grid: Grid) -> Answer {
            assert_eq!(namespaces, ["shop"]);
            let number = {
                let mut asked = self.asked.lock().unwrap();
                asked.push((signal.clone(), grid));
                asked.len()
            };
            (self.script)(number, signal, grid)
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
        script: impl Fn(usize, &Signal, Grid) -> Answer + Send + Sync + 'static,
    ) -> (Vec<Filled>, Vec<(Signal, Grid)>) {
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
            for signal in SIGNALS {
                let of =
                    |(of, grid): &&(Signal, Grid)| *of == signal && grid.step == resolution.step();
                let grids: Vec<Grid> = asked.iter().filter(of).map(|(_, grid)| *grid).collect();
                let points: u32 = grids.iter().map(|grid| grid.points).sum();
                assert_eq!(usize::try_from(points).unwrap(), resolution.length());
                assert!(grids.iter().all(|grid| grid.points <= 20), "{grids:?}");
                for pair in grids.windows(2) {
                    assert_eq!(pair[1].last() + resolution.step(), pair[0].first);
                }
                let known = grids[0].last() + resolution.step() / 2;
                assert!(known <= clock::now() - LAG, "{known}");
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
        let (parts, asked) = refill(|_, signal, grid| {
            (*signal == Signal::CPU).then(|| {
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
        let memory = asked.iter().filter(|(of, _)| *of == Signal::MEMORY);
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
        let down = |number, _: &Signal, grid| {
            Some(if number <= 20 {
                Err(MetricsError::Connect("refused".into()))
            } else {
                Ok(sums(grid, 1))
            })
        };
        let (parts, asked) = refill(down).await;
        assert_eq!(asked.len(), 20 + parts.len());
        let refused = |_, _: &Signal, _| {
            Some(Err(MetricsError::NotServed {
                excerpt: String::new(),
            }))
        };
        let (parts, asked) = refill(refused).await;
        assert!(parts.is_empty());
        assert_eq!(asked.len(), 6 * 5);
    }
}
