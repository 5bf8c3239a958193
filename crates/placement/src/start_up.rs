//! The use by Pods in their first minutes. A Pod that warms up uses more than it requests, and no
//! measurement of its node shows that until it has run for a while. So Pods are observed from their
//! start on, and the next Pods of a workload are expected to use as much. Only rates are observed,
//! because a gauge such as memory is measured as it is. What is remembered is bounded.

use std::collections::HashMap;
use std::hash::Hash;

use evenkeel_metrics::usage::UsageSample;
use evenkeel_objects::pod_name::PodName;
use evenkeel_units::{Amount, Resource, Resources};
use foldhash::fast::RandomState;
use jiff::{SignedDuration, Timestamp};

/// The time after its start in which a Pod is observed.
const FIRST_MINUTES: SignedDuration = SignedDuration::from_mins(3);
/// A Pod that is first measured later has warmed up before.
const FIRST_MEASURED: SignedDuration = SignedDuration::from_secs(90);
/// Pods of a workload that are observed at once.
const AT_ONCE: usize = 8;
/// Pods that are observed before their mean counts.
const FEWEST: u32 = 2;
/// In the running mean, the newest Pod weighs at least one part in so many.
const MEMORY: u32 = 8;
/// Workloads that are remembered. Each takes about 150 bytes, and each Pod that starts 170: at most
/// 15 MiB, if [`AT_ONCE`] Pods of each start together.
const WORKLOADS: usize = 10_000;
/// The time after the last start of a Pod in which its workload is remembered.
const LIFE: SignedDuration = SignedDuration::from_hours(7 * 24);
/// The same with too few Pods, such as a job that runs once. Daily runs are learnt, too.
const SHORT_LIFE: SignedDuration = SignedDuration::from_hours(25);
const RATES: [Resource; 3] = [Resource::Cpu, Resource::NetworkIo, Resource::DiskIo];

/// A Pod that has started.
#[derive(Debug, Clone, Copy)]
pub struct StartedPod<'a> {
    pub name: &'a PodName,
    pub started: Timestamp,
    /// Its measured network use is that of the node.
    pub host_network: bool,
    /// Another Pod had its name before, as in a StatefulSet.
    pub reuses_name: bool,
}

/// The use of each workload's Pods in their first minutes, by the key of the workload.
#[derive(Debug)]
pub struct StartUps<W> {
    workloads: HashMap<W, WorkloadStarts, RandomState>,
}

impl<W> Default for StartUps<W> {
    fn default() -> Self {
        Self {
            workloads: HashMap::default(),
        }
    }
}

#[derive(Debug)]
struct WorkloadStarts {
    starting: Vec<StartingPod>,
    /// The running mean of the most that each Pod used.
    mean: Resources<Amount>,
    pods: u32,
    /// When the last Pod was observed.
    at: Timestamp,
}

#[derive(Debug)]
struct StartingPod {
    name: PodName,
    started: Timestamp,
    host_network: bool,
    reuses_name: bool,
    first_measured: Option<Timestamp>,
    most: Resources<Amount>,
}

impl StartedPod<'_> {
    /// Its first minutes have not passed.
    pub fn is_new(&self, now: Timestamp) -> bool {
        is_new(self.started, now)
    }
}

impl<W: Clone + Eq + Hash> StartUps<W> {
    /// Observes a new Pod of a workload, unless enough of them are observed already.
    pub fn observe(&mut self, workload: &W, pod: &StartedPod<'_>, now: Timestamp) {
        if !pod.is_new(now) {
            return;
        }
        if self.workloads.len() >= WORKLOADS && !self.workloads.contains_key(workload) {
            self.forget_oldest();
        }
        let new = || WorkloadStarts {
            starting: Vec::new(),
            mean: Resources::default(),
            pods: 0,
            at: now,
        };
        let known = self.workloads.entry(workload.clone()).or_insert_with(new);
        known.at = now;
        let starting = &mut known.starting;
        starting.retain(|one| one.name != *pod.name || one.started == pod.started);
        if starting.len() < AT_ONCE && starting.iter().all(|one| one.name != *pod.name) {
            starting.push(StartingPod {
                name: pod.name.clone(),
                started: pod.started,
                host_network: pod.host_network,
                reuses_name: pod.reuses_name,
                first_measured: None,
                most: Resources::default(),
            });
        }
    }

    fn forget_oldest(&mut self) {
        let workloads = self.workloads.iter();
        let order = |(_, starts): &(&W, &WorkloadStarts)| (starts.pods >= FEWEST, starts.at);
        let oldest = workloads.min_by_key(order).map(|(key, _)| key.clone());
        if let Some(oldest) = oldest {
            self.workloads.remove(&oldest);
        }
    }

    /// Takes a round of measurements. Pods whose first minutes are over count for the next ones.
    pub fn measure(&mut self, round: &UsageSample, now: Timestamp) {
        self.workloads.retain(|_, starts| {
            for pod in &mut starts.starting {
                pod.measure(round, now);
            }
            let over = |pod: &mut StartingPod| !is_new(pod.started, now);
            let over: Vec<StartingPod> = starts.starting.extract_if(.., over).collect();
            for pod in over {
                starts.learn(&pod);
            }
            let life = if starts.pods < FEWEST {
                SHORT_LIFE
            } else {
                LIFE
            };
            now.duration_since(starts.at).abs() < life
        });
    }

    /// The most that the workload's Pods usually use; zero where too few were seen.
    pub fn usual(&self, workload: &W) -> Resources<Amount> {
        let known = self.workloads.get(workload);
        known.map(WorkloadStarts::usual).unwrap_or_default()
    }

    /// The same of all workloads of which enough is known.
    pub fn all(&self) -> impl Iterator<Item = (&W, Resources<Amount>)> {
        let known = self.workloads.iter().map(|(key, of)| (key, of.usual()));
        known.filter(|(_, usual)| *usual != Resources::default())
    }
}

impl WorkloadStarts {
    fn learn(&mut self, pod: &StartingPod) {
        let is_whole = |first: Timestamp| first.duration_since(pod.started) <= FIRST_MEASURED;
        if !pod.first_measured.is_some_and(is_whole) {
            return;
        }
        self.pods = (self.pods + 1).min(MEMORY);
        let part = f64::from(self.pods).recip();
        self.mean = Resources::from_fn(|of| {
            let (mean, most) = (self.mean[of].as_f64(), pod.most[of].as_f64());
            Amount::from_f64((most - mean).mul_add(part, mean))
        });
    }

    fn usual(&self) -> Resources<Amount> {
        if self.pods < FEWEST {
            Resources::default()
        } else {
            self.mean
        }
    }
}

impl StartingPod {
    /// A rate over a time before its start is that of an earlier Pod of its name. Where the time is not
    /// known, nothing is learnt of Pods that reuse a name.
    fn measure(&mut self, round: &UsageSample, now: Timestamp) {
        let span = round.span_of_pod(self.name.namespace(), self.name.name());
        let is_own = match span {
            Some(span) => {
                (span.end().checked_sub(span.window())).is_ok_and(|at| at >= self.started)
            }
            None => !self.reuses_name,
        };
        if !is_own || now <= self.started || !is_new(self.started, now) {
            return;
        }
        let used = round.pod(&self.name);
        for resource in RATES {
            let is_known = resource != Resource::NetworkIo || !self.host_network;
            let Some(used) = used[resource].filter(|_| is_known) else {
                continue;
            };
            self.most[resource] = self.most[resource].max(used);
            self.first_measured.get_or_insert(now);
        }
    }
}

/// The first minutes after this start have not passed.
pub(crate) fn is_new(started: Timestamp, now: Timestamp) -> bool {
    now.duration_since(started).abs() <= FIRST_MINUTES
}

#[cfg(test)]
mod tests {
    use evenkeel_metrics::usage::Span;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + second).unwrap()
    }

    fn round(name: &PodName, used: u64, span: Option<(i64, i64)>) -> UsageSample {
        let mut round = UsageSample::default();
        round.insert_pod(name, &Resources::new([Some(Amount::new(used)); 5]));
        if let Some((end, seconds)) = span {
            let window = SignedDuration::from_secs(seconds);
            round.insert_pod_span(name, Span::new(at(end), window));
        }
        round
    }

    /// Takes Pods that start at `begin`, with rounds at the given seconds after it.
    fn start(
        starts: &mut StartUps<&'static str>,
        names: &[PodName],
        rounds: &[(i64, u64)],
        begin: i64,
    ) {
        for name in names {
            let pod = StartedPod {
                name,
                started: at(begin),
                host_network: true,
                reuses_name: false,
            };
            starts.observe(&"web", &pod, at(begin + 1));
        }
        for (second, used) in rounds {
            let mut all = UsageSample::default();
            for name in names {
                all.insert_pod(name, &Resources::new([Some(Amount::new(*used)); 5]));
            }
            starts.measure(&all, at(begin + second));
        }
    }

    fn names(count: usize) -> Vec<PodName> {
        let name = |number| PodName::new("shop", &format!("web-{number}"));
        (0..count).map(name).collect()
    }

    #[test]
    fn the_next_pods_are_expected_to_use_the_most_of_the_first_minutes() {
        let mut starts = StartUps::default();
        let rounds = [(15, 300), (60, 900), (180, 500), (181, 7000)];
        start(&mut starts, &names(1), &rounds, 0);
        assert_eq!(starts.usual(&"web"), Resources::default(), "of one Pod");
        start(&mut starts, &names(1), &[(15, 500), (181, 0)], 200);
        let usual = starts.usual(&"web");
        let expected = [700, 0, 0, 700, 0].map(Amount::new);
        assert_eq!(
            usual,
            Resources::new(expected),
            "rates, without the node's network"
        );
        assert_eq!(starts.all().count(), 1);
        // Seen too late, and not measured at all: neither counts.
        start(&mut starts, &names(1), &[(120, 9), (181, 9)], 400);
        start(&mut starts, &names(1), &[(181, 9)], 600);
        assert_eq!(starts.usual(&"web"), usual);
        for begin in 4..12 {
            start(&mut starts, &names(1), &[(15, 100), (181, 0)], begin * 200);
        }
        let usual = starts.usual(&"web")[Resource::Cpu];
        assert!(usual < Amount::new(350), "{usual:?}");
    }

    #[test]
    fn an_earlier_pod_of_the_same_name_teaches_nothing() {
        let name = &names(1)[0];
        let mut pod = StartingPod {
            name: name.clone(),
            started: at(0),
            host_network: false,
            reuses_name: true,
            first_measured: None,
            most: Resources::default(),
        };
        pod.measure(&round(name, 900, None), at(10));
        pod.measure(&round(name, 900, Some((20, 30))), at(20));
        pod.measure(&round(name, 400, Some((40, 30))), at(40));
        assert_eq!(pod.most[Resource::Cpu], Amount::new(400));
        let mut starts = StartUps::default();
        for started in [0, 100] {
            let pod = StartedPod {
                name,
                started: at(started),
                host_network: false,
                reuses_name: true,
            };
            starts.observe(&"db", &pod, at(started));
        }
        let observed = &starts.workloads["db"].starting;
        assert_eq!((observed.len(), observed[0].started), (1, at(100)));
    }

    #[test]
    fn memory_is_bounded_and_jobs_that_run_once_go_first() {
        let mut starts: StartUps<usize> = StartUps::default();
        for name in names(3 * AT_ONCE) {
            let pod = StartedPod {
                name: &name,
                started: at(0),
                host_network: false,
                reuses_name: false,
            };
            starts.observe(&0, &pod, at(0));
        }
        assert_eq!(starts.workloads[&0].starting.len(), AT_ONCE);
        let mut all = UsageSample::default();
        for name in names(AT_ONCE) {
            all.insert_pod(&name, &Resources::new([Some(Amount::new(9)); 5]));
        }
        starts.measure(&all, at(10));
        starts.measure(&all, at(200));
        assert!(starts.workloads[&0].starting.is_empty());
        for workload in 1..WORKLOADS + 10 {
            let pod = StartedPod {
                name: &names(1)[0],
                started: at(200),
                host_network: false,
                reuses_name: false,
            };
            starts.observe(&workload, &pod, at(200));
        }
        assert_eq!(starts.workloads.len(), WORKLOADS);
        assert_eq!(starts.usual(&0)[Resource::Cpu], Amount::new(9));
        starts.measure(&UsageSample::default(), at(200 + SHORT_LIFE.as_secs()));
        assert_eq!(starts.workloads.len(), 1);
        starts.measure(&UsageSample::default(), at(LIFE.as_secs()));
        assert!(starts.workloads.is_empty());
    }
}
