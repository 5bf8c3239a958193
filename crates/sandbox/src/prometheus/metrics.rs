//! The simulated series of each workload, with names of cAdvisor, kube-state-metrics and a web
//! server.

use evenkeel_units::{Resource, Resources};

use super::evaluation::{ExporterSeries, VectorLabels};
use super::names::in_base_unit;
use crate::safe_name::SAFE;

/// The one container of simulated Pods.
const CONTAINER: &str = "main";
const HASH: &str = "7c5d8f9b4x";
/// Periods of the cpu controller per second.
const PERIODS: f64 = 10.0;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Content {
    /// Counter of a container's use.
    Growth(Resource),
    /// Gauge of a container's use.
    Level(Resource),
    /// Counter of a container with constant growth per second.
    Steady(f64),
    /// A Pod's use under the dev configuration's own name.
    OfPod(Resource),
    /// Counter of a Pod's requests.
    Requests,
    /// Ready replicas of a Deployment.
    Replicas,
}

const METRICS: [(&str, Content); 16] = [
    (
        "container_cpu_usage_seconds_total",
        Content::Growth(Resource::Cpu),
    ),
    (
        "container_memory_working_set_bytes",
        Content::Level(Resource::Memory),
    ),
    (
        "container_network_receive_bytes_total",
        Content::Growth(Resource::NetworkIo),
    ),
    (
        "container_fs_reads_bytes_total",
        Content::Growth(Resource::DiskIo),
    ),
    ("container_fs_usage_bytes", Content::Level(Resource::Disk)),
    ("container_cpu_cfs_periods_total", Content::Steady(PERIODS)),
    (
        "container_cpu_cfs_throttled_periods_total",
        Content::Steady(0.0),
    ),
    ("container_oom_events_total", Content::Steady(0.0)),
    ("http_requests_total", Content::Requests),
    ("kube_deployment_spec_replicas", Content::Replicas),
    ("kube_deployment_status_replicas_ready", Content::Replicas),
    ("pod_cpu", Content::OfPod(Resource::Cpu)),
    ("pod_memory", Content::OfPod(Resource::Memory)),
    ("pod_network_io", Content::OfPod(Resource::NetworkIo)),
    ("pod_disk_io", Content::OfPod(Resource::DiskIo)),
    ("pod_disk", Content::OfPod(Resource::Disk)),
];

pub(super) const NAMES: [&str; METRICS.len()] = {
    let mut names = [""; METRICS.len()];
    let mut at = 0;
    while at < METRICS.len() {
        names[at] = METRICS[at].0;
        at += 1;
    }
    names
};

pub(super) struct WorkloadSnapshot<'w> {
    pub(super) namespace: &'w str,
    pub(super) name: &'w str,
    /// Arriving requests per second.
    pub(super) requests: f64,
}

pub(super) struct PodSnapshot<'p> {
    /// A Pod with an unknown name gets one from its place.
    pub(super) name: Option<&'p str>,
    pub(super) used: Resources<f64>,
    /// Seconds since its first sample.
    pub(super) sampled: f64,
}

impl WorkloadSnapshot<'_> {
    pub(super) fn series<'p>(
        &self,
        names: &[&str],
        pods: impl ExactSizeIterator<Item = PodSnapshot<'p>>,
    ) -> Vec<ExporterSeries> {
        let count = pods.len();
        let (of_pods, whole): (Vec<_>, Vec<_>) = METRICS
            .into_iter()
            .filter(|(name, _)| names.contains(name))
            .partition(|(_, content)| *content != Content::Replicas);
        let whole = whole.into_iter().map(|(name, _)| ExporterSeries {
            name,
            labels: self.labels([("deployment", self.name)]),
            value: as_f64(count),
            is_counter: false,
            sampled: 0.0,
        });
        let mut series: Vec<ExporterSeries> = whole.collect();
        if of_pods.is_empty() {
            return series;
        }
        for (place, pod) in pods.enumerate() {
            let own = pod.name.map(str::to_owned);
            let label = own.unwrap_or_else(|| pod_name(self.name, place));
            let of_pod = of_pods.iter();
            series.extend(of_pod.map(|metric| self.of_pod(*metric, &label, &pod, as_f64(count))));
        }
        series
    }

    /// One of `count` Pods, which get equal shares of the requests.
    fn of_pod(
        &self,
        (name, content): (&'static str, Content),
        pod: &str,
        snapshot: &PodSnapshot<'_>,
        count: f64,
    ) -> ExporterSeries {
        let used = |resource| in_base_unit(resource, snapshot.used[resource]);
        let (value, is_counter) = match content {
            Content::Growth(resource) => (used(resource), true),
            Content::Level(resource) | Content::OfPod(resource) => (used(resource), false),
            Content::Steady(value) => (value, true),
            Content::Requests => (self.requests / count, true),
            Content::Replicas => (count, false),
        };
        let labels = match content {
            Content::Growth(_) | Content::Level(_) | Content::Steady(_) => {
                self.labels([("pod", pod), ("container", CONTAINER)])
            }
            Content::OfPod(_) => self.labels([("pod", pod)]),
            Content::Requests | Content::Replicas => {
                self.labels([("pod", pod), ("service", self.name)])
            }
        };
        ExporterSeries {
            name,
            labels,
            value,
            is_counter,
            sampled: snapshot.sampled,
        }
    }

    fn labels<const N: usize>(&self, labels: [(&str, &str); N]) -> VectorLabels {
        let all = [("namespace", self.namespace)].into_iter().chain(labels);
        all.map(|(label, value)| (label.to_owned(), value.to_owned()))
            .collect()
    }
}

fn as_f64(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// A possible name of the Pod at a place among those of a Deployment.
fn pod_name(workload: &str, place: usize) -> String {
    let mut rest = place;
    let mut ending = [SAFE[0]; 5];
    for digit in ending.iter_mut().rev() {
        *digit = SAFE[rest % SAFE.len()];
        rest /= SAFE.len();
    }
    let ending = ending.map(char::from);
    format!("{workload}-{HASH}-{}", String::from_iter(ending))
}

#[cfg(test)]
mod tests {
    use evenkeel_objects::kinds::Kind;
    use evenkeel_objects::pod_names;

    use super::super::names::POD_METRICS;
    use super::*;

    #[test]
    fn the_pods_of_a_workload_have_their_own_use_and_share_its_requests() {
        let workload = WorkloadSnapshot {
            namespace: "shop",
            name: "web",
            requests: 90.0,
        };
        let used = Resources::from_fn(|_| 1_000.0);
        let names = [
            "container_cpu_usage_seconds_total",
            "http_requests_total",
            "kube_deployment_spec_replicas",
        ];
        let series = workload.series(
            &names,
            [Some("web-a"), None, None]
                .map(|name| PodSnapshot {
                    name,
                    used,
                    sampled: 60.0,
                })
                .into_iter(),
        );
        let told = series.iter().map(|one| {
            let pod = one.labels.get("pod").map_or("", String::as_str);
            assert!(
                !pod.starts_with("web-7") || pod_names::is_of(Kind::Deployment, "web", pod),
                "{pod}"
            );
            (one.name, one.value)
        });
        let told: Vec<_> = told.collect();
        assert_eq!(told[0], ("kube_deployment_spec_replicas", 3.0));
        assert_eq!(told.len(), 7);
        for pair in told[1..].chunks(2) {
            assert_eq!(pair, [(names[0], 1.0), (names[1], 30.0)]);
        }
    }

    #[test]
    fn the_dev_configuration_asks_for_series_that_there_are() {
        for (_, name) in POD_METRICS.values() {
            assert!(NAMES.contains(name), "{name}");
        }
    }
}
