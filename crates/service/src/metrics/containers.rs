//! The usage of containers with tuned resources: from Prometheus with the built-in queries, else
//! from the metrics API.

use std::sync::Arc;

use evenkeel_metrics::pod_metrics;
use evenkeel_metrics::pod_metrics::PodUsage;
use evenkeel_metrics::sample::PodMetrics;
use evenkeel_metrics::signal::ResourceName;
use evenkeel_units::Amount;
use evenkeel_units::cpu_memory::CpuMemory;

use super::api_call::ApiCallLimits;
use super::blocking_pool::aside;
use super::container_usage::{ContainerName, ContainerUsage};
use super::error::MetricsError;
use super::prometheus::PrometheusSource;
use super::resource_metrics::ResourceMetrics;

/// Namespaces that are asked for one by one; of more the list of all is asked for.
const ONE_BY_ONE: usize = 10;

#[derive(Clone)]
pub struct Containers {
    prometheus: Option<Arc<PrometheusSource>>,
    api: ResourceMetrics,
}

impl Containers {
    /// A source that asks this Prometheus, if it can, otherwise the API server behind `client`.
    pub fn new(
        prometheus: Option<Arc<PrometheusSource>>,
        client: kube::Client,
        bounds: ApiCallLimits,
    ) -> Self {
        Self {
            prometheus: prometheus.filter(|prometheus| prometheus.knows_containers()),
            api: ResourceMetrics::new(client, bounds),
        }
    }

    /// The current usage of the containers in these namespaces, and perhaps in others.
    ///
    /// # Errors
    /// The source does not answer.
    pub async fn usage(&self, namespaces: &[&str]) -> Result<Vec<ContainerUsage>, MetricsError> {
        if let Some(prometheus) = &self.prometheus {
            return prometheus.container_usage(namespaces).await;
        }
        let one_by_one = |namespace: &&str| format!("namespaces/{namespace}/pods");
        let paths: Vec<String> = if namespaces.len() <= ONE_BY_ONE {
            namespaces.iter().map(one_by_one).collect()
        } else {
            vec!["pods".to_owned()]
        };
        let mut found = Vec::new();
        for path in paths {
            let body = self.api.get(&path).await?;
            found.extend(aside(move || read(&body)).await??);
        }
        Ok(found)
    }
}

fn read(body: &[u8]) -> Result<Vec<ContainerUsage>, MetricsError> {
    let mut found = Vec::new();
    let take = |usage: PodUsage| found.extend(of_pod(&usage));
    let unreadable =
        pod_metrics::for_each(body, take).map_err(|error| MetricsError::malformed(&error, body))?;
    if unreadable.count > 0 && found.is_empty() {
        return Err(MetricsError::malformed(&unreadable, body));
    }
    Ok(found)
}

/// The containers of which both resources are measured.
fn of_pod(usage: &PodUsage) -> Vec<ContainerUsage> {
    let PodMetrics {
        pod,
        timestamp,
        containers,
        ..
    } = &usage.metrics;
    let containers = containers.iter().filter_map(|container| {
        let amount = |resource: &ResourceName, per_unit: u64| {
            let thousandths = u64::try_from(container.usage.get(resource)?).ok()?;
            Some(Amount::new(thousandths.div_ceil(per_unit)))
        };
        Some(ContainerUsage {
            name: ContainerName {
                namespace: usage.namespace.as_str().into(),
                pod: pod.as_str().into(),
                container: container.name.as_str().into(),
            },
            used: CpuMemory {
                cpu: amount(&ResourceName::Cpu, 1)?,
                memory: amount(&ResourceName::Memory, 1000)?,
            },
            at: *timestamp,
        })
    });
    containers.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metrics_api_tells_each_container_in_base_units() {
        let body = br#"{"items": [{"metadata": {"name": "web-1", "namespace": "shop"},
            "timestamp": "2026-01-01T00:00:00Z", "window": "30s", "containers": [
                {"name": "app", "usage": {"cpu": "250m", "memory": "64Mi"}},
                {"name": "half", "usage": {"cpu": "250m"}}]}]}"#;
        let found = read(body).unwrap();
        let [app] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!((&*app.name.pod, &*app.name.container), ("web-1", "app"));
        assert_eq!((app.used.cpu.get(), app.used.memory.get()), (250, 64 << 20));
        assert!(read(b"[]").is_err());
    }
}
