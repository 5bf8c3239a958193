//! Fills the histories of targets from a Prometheus, in the background, newest past first. One
//! query runs at a time for the targets of all namespaces. Beside it run a few queries of single
//! targets, which any tenant may write and which may hang, at the pace of
//! [`evenkeel_scaling::tracker::backfill_pace`]. Decisions never wait: answers fill gaps, and
//! values measured here stay. No answer is cached, because each is used once.

mod history_client;
mod history_source;

use std::collections::HashSet;
use std::sync::Arc;

use evenkeel_clock::Clock;
use evenkeel_forecast::Resolution;
use evenkeel_metrics::signal::Signal;
use evenkeel_scaling::targets::history_backfill::{
    BackfillNamespaces, BackfillRequest, FilledQuery, SignalBackfill,
};
use evenkeel_scaling::tracker::backfill_pace::{BackfillPace, BackfillRemainder};
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::metrics::ScalingMetrics;
use crate::metrics::prometheus::Workloads;

pub(super) use self::history_client::HistoryClient;
pub use self::history_source::HistorySource;
pub use self::history_source::{HistoryRequest, HistoryResponse};

/// The signals with a past that can be queried.
const SIGNALS: [Signal; 2] = [Signal::CPU, Signal::MEMORY];

/// The progress of the refill, as the loop hears of it.
#[derive(Debug)]
pub enum Progress {
    Part(SignalBackfill),
    /// A part of the past of a query has come.
    Query(FilledQuery),
    /// The targets of these namespaces that were there at the given ticks have all that there is.
    Done(BackfillNamespaces),
}

/// The refill, which works on what it is asked for until it is cancelled.
pub struct HistoryBackfill {
    asker: HistoryClient,
    clock: Clock,
    metrics: ScalingMetrics,
}

impl HistoryBackfill {
    /// A backfill from `past`, which is dated by `clock`.
    pub fn new(past: Arc<dyn HistorySource>, clock: Clock, metrics: ScalingMetrics) -> Self {
        Self {
            asker: HistoryClient::new(past, metrics.clone()),
            clock,
            metrics,
        }
    }

    /// Fills requests: the targets of all namespaces that have gathered meanwhile together, and
    /// beside them each query.
    pub async fn run(
        self,
        wishes: mpsc::UnboundedReceiver<BackfillRequest>,
        told: mpsc::Sender<Progress>,
        cancel: CancellationToken,
    ) {
        let (namespaces, asked_namespaces) = mpsc::unbounded_channel();
        let (queries, asked_queries) = mpsc::unbounded_channel();
        let filling = async {
            tokio::join!(
                sort(wishes, namespaces, queries),
                self.fill_namespaces(asked_namespaces, &told),
                self.fill_queries(asked_queries, &told),
            )
        };
        cancel.run_until_cancelled(filling).await;
    }

    /// Fills namespaces until there are no more requests, or the receiver has gone.
    async fn fill_namespaces(
        &self,
        mut wishes: mpsc::UnboundedReceiver<(Box<str>, u64)>,
        told: &mpsc::Sender<Progress>,
    ) {
        let mut pace = BackfillPace::default();
        while let Some(first) = wishes.recv().await {
            let mut namespaces = BackfillNamespaces::from([first]);
            while let Ok((namespace, tick)) = wishes.try_recv() {
                namespaces.insert(namespace, tick);
            }
            let _running = self.metrics.refilling();
            let heard = self.fill(&namespaces, &mut pace, told).await;
            let done = told.send(Progress::Done(namespaces));
            if !heard || done.await.is_err() {
                return;
            }
        }
    }

    /// Fills queries until there are no more requests, or the receiver has gone.
    async fn fill_queries(
        &self,
        mut wishes: mpsc::UnboundedReceiver<Arc<str>>,
        told: &mpsc::Sender<Progress>,
    ) {
        let (mut under_way, mut known) = (FuturesUnordered::new(), HashSet::new());
        let fill = |query: Arc<str>| async move { (self.fill_query(&query, told).await, query) };
        loop {
            tokio::select! {
                Some(ended) = under_way.next() => {
                    let (heard, query): (bool, Arc<str>) = ended;
                    known.remove(&query);
                    if !heard {
                        return;
                    }
                }
                Some(query) = wishes.recv() => {
                    if known.insert(Arc::clone(&query)) {
                        under_way.push(fill(query));
                    }
                }
                else => return,
            }
        }
    }

    /// Sends the past of one query; false if the receiver has gone.
    async fn fill_query(&self, query: &Arc<str>, told: &mpsc::Sender<Progress>) -> bool {
        let _running = self.metrics.refilling();
        let mut pace = BackfillPace::default();
        for resolution in Resolution::ALL {
            let mut rest = BackfillRemainder::before(self.clock.now(), resolution);
            let question = HistoryRequest::Query(query);
            while let Some(HistoryResponse::Points(points)) =
                self.asker.next_part(question, &mut rest, &mut pace).await
            {
                let part = Progress::Query(FilledQuery {
                    query: Arc::clone(query),
                    resolution,
                    points,
                });
                if told.send(part).await.is_err() {
                    return false;
                }
            }
        }
        true
    }

    /// Sends all of the past that there is; false if the receiver has gone.
    async fn fill(
        &self,
        namespaces: &BackfillNamespaces,
        pace: &mut BackfillPace,
        told: &mpsc::Sender<Progress>,
    ) -> bool {
        pace.begin();
        let names: Vec<&str> = namespaces.keys().map(|name| &**name).collect();
        for resolution in Resolution::ALL {
            for signal in SIGNALS {
                let known = self.clock.now() - self.asker.lag(&signal);
                let mut rest = BackfillRemainder::before(known, resolution);
                let question = HistoryRequest::Sums(&signal, Workloads::In(&names));
                while let Some(HistoryResponse::Sums(sums)) =
                    self.asker.next_part(question, &mut rest, pace).await
                {
                    let part = Progress::Part(SignalBackfill {
                        signal: signal.clone(),
                        resolution,
                        sums: sums.sums,
                    });
                    if told.send(part).await.is_err() {
                        return false;
                    }
                }
            }
        }
        true
    }
}

/// Passes requests on to the tasks that fill namespaces and queries.
async fn sort(
    mut wishes: mpsc::UnboundedReceiver<BackfillRequest>,
    namespaces: mpsc::UnboundedSender<(Box<str>, u64)>,
    queries: mpsc::UnboundedSender<Arc<str>>,
) {
    while let Some(wish) = wishes.recv().await {
        let heard = match wish {
            BackfillRequest::Namespace(namespace, tick) => {
                namespaces.send((namespace, tick)).is_ok()
            }
            BackfillRequest::Query(query) => queries.send(query).is_ok(),
        };
        // The receiver of their results has gone.
        if !heard {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap};
    use std::sync::Mutex;
    use std::time::Duration;

    use async_trait::async_trait;
    use evenkeel_clock as clock;
    use evenkeel_metrics::signal::PromQl;
    use evenkeel_objects::pod_names::WorkloadName;
    use evenkeel_scaling::targets::history_backfill::Points;
    use evenkeel_units::Bytes;
    use jiff::SignedDuration;

    use super::*;
    use crate::metrics::MetricsError;
    use crate::metrics::prometheus::{Grid, WorkloadSums};

    struct Fake<F> {
        script: F,
        asked: Mutex<Vec<(Signal, Grid)>>,
    }

    /// Half of a window.
    const LAG: SignedDuration = SignedDuration::from_secs(60);

    type FetchedSums = Option<Result<WorkloadSums, MetricsError>>;

    #[async_trait]
    impl<F: Fn(usize, &Signal, Grid) -> FetchedSums + Send + Sync> HistorySource for Fake<F> {
        fn lag(&self, _: &Signal) -> SignedDuration {
            LAG
        }

        async fn sums(&self, signal: &Signal, workloads: Workloads<'_>, grid: Grid) -> FetchedSums {
            assert!(
                matches!(workloads, Workloads::In(["shop"])),
                "{workloads:?}"
            );
            let number = {
                let mut asked = self.asked.lock().unwrap();
                asked.push((signal.clone(), grid));
                asked.len()
            };
            (self.script)(number, signal, grid)
        }

        async fn pods(
            &self,
            _: Workloads<'_>,
            _: Grid,
        ) -> Option<Result<WorkloadSums, MetricsError>> {
            None
        }

        async fn series(&self, promql: &str, grid: Grid) -> Result<Points, MetricsError> {
            let signal = Signal::PromQl(PromQl::own(promql));
            if promql.starts_with("hang") {
                tokio::time::sleep(Duration::from_secs(10)).await;
                return Err(MetricsError::Timeout);
            }
            let number = {
                let mut asked = self.asked.lock().unwrap();
                asked.push((signal.clone(), grid));
                asked.len()
            };
            let answer = (self.script)(number, &signal, grid).unwrap();
            answer.map(|_| vec![(grid.first, 1.0)])
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
        script: impl Fn(usize, &Signal, Grid) -> FetchedSums + Send + Sync + 'static,
    ) -> (Vec<SignalBackfill>, Vec<(Signal, Grid)>) {
        let fake = Arc::new(Fake {
            script,
            asked: Mutex::default(),
        });
        let refill = HistoryBackfill::new(fake.clone(), Clock::real(), ScalingMetrics::default());
        let (ask, asked) = mpsc::unbounded_channel();
        let (told, mut heard) = mpsc::channel(1);
        ask.send(BackfillRequest::Namespace("shop".into(), 1))
            .unwrap();
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
        assert_eq!(parts[0].sums[&web()][0].0, asked[0].1.first);
    }

    #[tokio::test(start_paused = true)]
    async fn the_past_of_a_query_is_asked_ring_by_ring_and_again_while_the_server_is_down() {
        let fake = Arc::new(Fake {
            script: |number, _: &Signal, grid| {
                Some(if number <= 2 {
                    Err(MetricsError::Connect("refused".into()))
                } else {
                    Ok(sums(grid, 1))
                })
            },
            asked: Mutex::default(),
        });
        let refill = HistoryBackfill::new(fake.clone(), Clock::real(), ScalingMetrics::default());
        let (ask, asked) = mpsc::unbounded_channel();
        let (told, mut heard) = mpsc::channel(1);
        for _ in 0..2 {
            ask.send(BackfillRequest::Query("sum(up)".into())).unwrap();
        }
        drop(ask);
        let running = tokio::spawn(refill.run(asked, told, CancellationToken::new()));
        let mut points = BTreeMap::new();
        while let Some(Progress::Query(part)) = heard.recv().await {
            assert_eq!(&*part.query, "sum(up)");
            *points.entry(part.resolution.length()).or_insert(0) += part.points.len();
        }
        running.await.unwrap();
        let asked = fake.asked.lock().unwrap();
        let of_ring = |resolution: Resolution| {
            let step = resolution.step();
            let grids = asked.iter().map(|(_, grid)| *grid);
            let points = grids
                .filter(|grid| grid.step == step)
                .map(|grid| grid.points);
            usize::try_from(points.sum::<u32>()).unwrap()
        };
        for resolution in Resolution::ALL {
            let again = if resolution == Resolution::Fine {
                2 * 20
            } else {
                0
            };
            assert_eq!(of_ring(resolution), resolution.length() + again);
            assert!(points.contains_key(&resolution.length()), "once, not twice");
        }
    }

    /// The harm: the past of all targets waited for each query before it, even for one that hangs.
    #[tokio::test(start_paused = true)]
    async fn the_past_of_others_waits_for_no_query_that_hangs() {
        let fake = Arc::new(Fake {
            script: |_, _: &Signal, grid| Some(Ok(sums(grid, 1))),
            asked: Mutex::default(),
        });
        let refill = HistoryBackfill::new(fake.clone(), Clock::real(), ScalingMetrics::default());
        let (ask, asked) = mpsc::unbounded_channel();
        let (told, mut heard) = mpsc::channel(1);
        let hanging = (0..40).map(|number| BackfillRequest::Query(format!("hang{number}").into()));
        let honest = [
            BackfillRequest::Query("sum(up)".into()),
            BackfillRequest::Namespace("shop".into(), 1),
        ];
        for wish in hanging.chain(honest) {
            ask.send(wish).unwrap();
        }
        drop(ask);
        let begun = clock::runtime();
        let running = tokio::spawn(refill.run(asked, told, CancellationToken::new()));
        let (mut filled, mut of_query) = (None, 0);
        while let Some(progress) = heard.recv().await {
            match progress {
                Progress::Part(_) => {}
                Progress::Query(part) => of_query += part.points.len(),
                Progress::Done(_) => filled = Some(begun.elapsed()),
            }
        }
        running.await.unwrap();
        assert!(filled.unwrap() < Duration::from_secs(1), "{filled:?}");
        assert!(of_query > 0, "the query that is answered has its turn");
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
