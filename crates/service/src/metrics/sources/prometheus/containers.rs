//! Usage of single containers, now and in the past, and the harm that their kernel counted. The
//! queries are those of rounds for Pods before containers are added up, narrowed to namespaces. An
//! operator's own query for Pods says nothing about containers, so with one there is no answer.

use std::collections::HashMap;

use evenkeel_units::Amount;
use evenkeel_units::cpu_memory::{CpuMemory, TunedResource};
use jiff::{SignedDuration, Timestamp};

use super::answer;
use super::answer::PromLabels;
use super::grid::Grid;
use super::label_matchers::LabelMatchers;
use super::matchers::ExporterMatchers;
use super::queries::{containers, windowed};
use super::reader::{load, time};
use super::source::PrometheusSource;
use crate::metrics::blocking_pool::aside;
use crate::metrics::container_usage::{ContainerName, ContainerUsage};
use crate::metrics::error::MetricsError;

/// Namespaces that a query names; of more it asks for all.
const NAMED: usize = 50;

/// One value for each container, even if several jobs scrape it.
macro_rules! by_container {
    ($($of:tt)+) => {
        concat!("max by (namespace, pod, container) (", $($of)+, ")")
    };
}

const CPU: &str = by_container!(
    "rate(container_cpu_usage_seconds_total{",
    containers!(),
    "}[$window])"
);
/// A minute, if two scrapes lie within it, else the time between the two newest: the spans of
/// consecutive queries do not overlap.
const CPU_NOW: &str = by_container!(
    "rate(container_cpu_usage_seconds_total{",
    containers!(),
    "}[1m]) or irate(container_cpu_usage_seconds_total{",
    containers!(),
    "}[$window])"
);
/// When cAdvisor last measured.
const MEASURED: &str = by_container!(
    "timestamp(container_cpu_usage_seconds_total{",
    containers!(),
    "})"
);
const MEMORY: &str = by_container!("container_memory_working_set_bytes{", containers!(), "}");
const MEMORY_PEAK: &str = by_container!(
    "max_over_time(container_memory_working_set_bytes{",
    containers!(),
    "}[$window])"
);
const THROTTLED: &str = by_container!(
    "increase(container_cpu_cfs_throttled_periods_total{",
    containers!(),
    "}[$window]) / (increase(container_cpu_cfs_periods_total{",
    containers!(),
    "}[$window]) > 0)"
);
const OOM_KILLS: &str = by_container!(
    "increase(container_oom_events_total{",
    containers!(),
    "}[$window])"
);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Harm {
    /// The share of the periods in which it was held at its cpu limit.
    Throttled,
    /// The times that it was killed for want of memory.
    OomKills,
}

impl PrometheusSource {
    /// True where containers can be asked for, of both resources.
    pub fn knows_containers(&self) -> bool {
        let mut all = TunedResource::ALL.into_iter();
        all.all(|resource| self.built_in[resource.resource()].is_some())
    }

    /// The current usage of the containers in these namespaces, dated by measurement, so that a
    /// halted scrape grows old.
    ///
    /// # Errors
    /// A query failed.
    pub async fn container_usage(
        &self,
        namespaces: &[&str],
    ) -> Result<Vec<ContainerUsage>, MetricsError> {
        let mut found: HashMap<ContainerName, CpuMemory<Option<Amount>>> = HashMap::new();
        for (resource, text) in [
            (TunedResource::Cpu, CPU_NOW),
            (TunedResource::Memory, MEMORY),
        ] {
            self.each(text, namespaces, |name, value| {
                if let Ok(value) = load(resource.resource(), value) {
                    found.entry(name).or_default()[resource] = Some(Amount::from_f64(value));
                }
            })
            .await?;
        }
        let mut whole = Vec::with_capacity(found.len());
        self.each(MEASURED, namespaces, |name, value| {
            let used = found.remove(&name).unwrap_or_default();
            if let (Some(cpu), Some(memory), Ok(at)) = (used.cpu, used.memory, time(value)) {
                let used = CpuMemory { cpu, memory };
                whole.push(ContainerUsage { name, used, at });
            }
        })
        .await?;
        Ok(whole)
    }

    /// Asks for one value of each container now.
    async fn each(
        &self,
        text: &str,
        namespaces: &[&str],
        mut take: impl FnMut(ContainerName, Option<f64>),
    ) -> Result<(), MetricsError> {
        let text = self.narrowed(text, namespaces, self.window());
        let body = self.client.session().await?.query(&text).await?;
        for (name, value) in aside(move || values(&body)).await?? {
            take(name, value);
        }
        Ok(())
    }

    /// The usage of the containers in these namespaces at each time of `grid`: the mean cpu and the
    /// highest memory of a step.
    ///
    /// # Errors
    /// The query failed.
    pub async fn container_past(
        &self,
        namespaces: &[&str],
        resource: TunedResource,
        grid: Grid,
    ) -> Result<HashMap<ContainerName, Vec<(Timestamp, f64)>>, MetricsError> {
        let text = match resource {
            TunedResource::Cpu => CPU,
            TunedResource::Memory => MEMORY_PEAK,
        };
        let text = self.narrowed(text, namespaces, grid.step);
        let session = self.client.session().await?;
        let body = session.query_range(&text, &grid).await?;
        let mut found: HashMap<ContainerName, Vec<(Timestamp, f64)>> = HashMap::new();
        answer::read_range(&body, |labels, points| {
            let Some(name) = container(labels) else {
                return;
            };
            let points = points.iter().filter_map(|point| {
                let value = load(resource.resource(), Some(point.value)).ok()?;
                Some((grid.time(point.time)?, value))
            });
            found.entry(name).or_default().extend(points);
        })?;
        Ok(found)
    }

    /// The harm to the containers in these namespaces in the time `over` before now.
    ///
    /// # Errors
    /// The query failed.
    pub async fn container_harm(
        &self,
        namespaces: &[&str],
        harm: Harm,
        over: SignedDuration,
    ) -> Result<HashMap<ContainerName, f64>, MetricsError> {
        let text = match harm {
            Harm::Throttled => THROTTLED,
            Harm::OomKills => OOM_KILLS,
        };
        let text = self.narrowed(text, namespaces, over);
        let body = self.client.session().await?.query(&text).await?;
        let mut found = HashMap::new();
        answer::read(&body, |labels, value| {
            let value = value.filter(|value| value.is_finite() && *value >= 0.0);
            if let (Some(name), Some(value)) = (container(labels), value) {
                found.insert(name, value);
            }
        })?;
        Ok(found)
    }

    fn narrowed(&self, text: &str, namespaces: &[&str], window: SignedDuration) -> String {
        let matchers = within(&self.matchers, namespaces);
        matchers.fill(windowed(text, window))
    }
}

/// Matchers that leave only series of these namespaces, where they are few.
fn within(matchers: &ExporterMatchers, namespaces: &[&str]) -> ExporterMatchers {
    if namespaces.len() <= NAMED {
        let of_namespaces = LabelMatchers::default().one_of("namespace", namespaces);
        matchers.with_pods(&of_namespaces.to_string())
    } else {
        matchers.clone()
    }
}

fn values(body: &[u8]) -> Result<Vec<(ContainerName, Option<f64>)>, MetricsError> {
    let mut found = Vec::new();
    answer::read(body, |labels, value| {
        found.extend(container(labels).map(|name| (name, value)));
    })?;
    Ok(found)
}

fn container(labels: &PromLabels<'_>) -> Option<ContainerName> {
    Some(ContainerName {
        namespace: labels.get("namespace")?.into(),
        pod: labels.get("pod")?.into(),
        container: labels.get("container")?.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_narrowed_to_a_few_namespaces_and_have_the_span_that_is_asked_for() {
        let narrowed = |text: &str, namespaces: &[&str]| {
            let matchers = within(&ExporterMatchers::default(), namespaces);
            matchers.fill(windowed(text, SignedDuration::from_mins(5)))
        };
        let text = narrowed(CPU, &["shop", "media"]);
        assert_eq!(
            text,
            "max by (namespace, pod, container) (rate(container_cpu_usage_seconds_total\
             {namespace=~\"shop|media\",container!=\"\",container!=\"POD\"}[300000ms]))"
        );
        let many = vec!["shop"; NAMED + 1];
        let text = narrowed(MEMORY, &many);
        assert!(!text.contains("namespace=~"), "{text}");
    }
}
