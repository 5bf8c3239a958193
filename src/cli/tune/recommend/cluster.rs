//! The workloads of a cluster, and what their containers used, from Prometheus.

use std::collections::{BTreeSet, HashMap};

use anyhow::Context as _;
use jiff::{SignedDuration, Timestamp};
use kube::api::{DynamicObject, ListParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::args::Args;
use super::files::workload;
use super::workload::Workload;
use crate::cli::connect::connect;
use crate::cli::output::{self, Failure};
use crate::cli::prometheus_past::{source, unreachable};
use crate::doctor::gather::read::list;
use crate::metrics::ContainerName;
use crate::metrics::prometheus::{Grid, Harm, PrometheusSource};
use evenkeel_clock as clock;
use evenkeel_core::tuning::{CpuMemory, TunedResource};
use evenkeel_kubernetes::autoscaler::Autoscaler;
use evenkeel_kubernetes::kinds::Kind;
use evenkeel_kubernetes::plan::tuning::scaled_by_metrics;
use evenkeel_kubernetes::pod_names;

/// The kinds whose Pods are known by their names after they have gone.
const KINDS: [Kind; 2] = [Kind::Deployment, Kind::StatefulSet];
/// What one question asks for: an answer holds a day of a namespace's containers.
const SLICE: SignedDuration = SignedDuration::from_hours(24);

pub(super) async fn workloads(args: &Args) -> Result<Vec<Workload>, Failure> {
    let config = args.prometheus.config()?;
    let (prometheus, url) = source(&config)?;
    if !prometheus.knows_containers() {
        return Err(Failure::call(
            "metrics.prometheus.queries has a podCpu or podMemory of its own, which says nothing of containers; \
             accepted: the built-in ones",
        ));
    }
    let client = connect(args.kubeconfig.as_deref()).await;
    let client = client.map_err(Failure::Call)?;
    let mut workloads = listed(&client, args).await?;
    let namespaces: BTreeSet<String> = workloads.iter().map(|one| one.namespace.clone()).collect();
    for namespace in namespaces {
        let past = past(&prometheus, &namespace, args).await;
        let past = past.map_err(|error| unreachable(&url, &error))?;
        let of_namespace = workloads
            .iter_mut()
            .filter(|one| one.namespace == namespace);
        of_namespace.for_each(|workload| past.give(workload));
    }
    Ok(workloads)
}

async fn listed(client: &Client, args: &Args) -> Result<Vec<Workload>, Failure> {
    let mut workloads = Vec::new();
    for kind in KINDS {
        for object in objects(client, kind, args).await? {
            workloads.extend(workload(kind, &object));
        }
    }
    let autoscalers = objects(client, Kind::HorizontalPodAutoscaler, args).await?;
    for object in autoscalers {
        let Ok(autoscaler) = serde_json::from_value::<Autoscaler>(object) else {
            continue;
        };
        let target = &autoscaler.spec.scale_target_ref;
        let namespace = autoscaler.metadata.namespace.as_deref();
        let scaled = workloads.iter_mut().find(|one| {
            Some(one.namespace.as_str()) == namespace
                && one.kind.as_str() == &*target.kind
                && one.name == *target.name
        });
        if let Some(workload) = scaled {
            let by = scaled_by_metrics(&autoscaler.spec.metrics.defaulted());
            let all = workload.scaled_by;
            workload.scaled_by = CpuMemory::from_fn(|resource| all[resource] || by[resource]);
        }
    }
    Ok(workloads)
}

async fn objects(client: &Client, kind: Kind, args: &Args) -> Result<Vec<Value>, Failure> {
    let resource = kind.api_resource();
    let api: Api<DynamicObject> = match &args.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let listed = list(&api, ListParams::default()).await;
    let listed = listed.with_context(|| format!("{} cannot be listed", kind.plural()));
    let listed = listed.map_err(Failure::Work)?;
    Ok(listed.iter().map(|object| json!(object)).collect())
}

/// What the containers of a namespace used, and what was held against them.
struct Past {
    used: CpuMemory<HashMap<ContainerName, Vec<f64>>>,
    throttled: HashMap<ContainerName, f64>,
    oom_kills: HashMap<ContainerName, f64>,
}

async fn past(
    prometheus: &PrometheusSource,
    namespace: &str,
    args: &Args,
) -> Result<Past, crate::metrics::MetricsError> {
    let until = clock::now();
    let days = SignedDuration::from_hours(24).saturating_mul(i32::try_from(args.days).unwrap_or(1));
    let mut used = CpuMemory::<HashMap<ContainerName, Vec<f64>>>::default();
    for resource in TunedResource::ALL {
        for grid in slices(until, days, args.step) {
            let answer = prometheus
                .container_past(&[namespace], resource, grid)
                .await?;
            for (name, points) in answer {
                let values = points.into_iter().map(|(_, value)| value);
                used[resource].entry(name).or_default().extend(values);
            }
        }
    }
    let harm = async |harm| {
        let found = prometheus.container_harm(&[namespace], harm, days).await;
        found.unwrap_or_else(|error| {
            output::warn(&format!("{namespace}: {harm:?} is not known: {error}"));
            HashMap::new()
        })
    };
    Ok(Past {
        used,
        throttled: harm(Harm::Throttled).await,
        oom_kills: harm(Harm::OomKills).await,
    })
}

/// The times of the past, a day a question.
fn slices(until: Timestamp, days: SignedDuration, step: SignedDuration) -> Vec<Grid> {
    let mut grids = Vec::new();
    let mut first = until.checked_sub(days).unwrap_or(Timestamp::UNIX_EPOCH);
    let points = (SLICE.as_millis() / step.as_millis().max(1)).max(1);
    let points = u32::try_from(points).unwrap_or(1);
    while first < until {
        let grid = Grid {
            first,
            step,
            points,
        };
        grids.push(grid);
        first = grid.last().checked_add(step).unwrap_or(Timestamp::MAX);
    }
    grids
}

impl Past {
    /// Gives the containers of a workload what those of its Pods used.
    fn give(&self, workload: &mut Workload) {
        let (kind, name) = (workload.kind, workload.name.clone());
        for container in &mut workload.containers {
            let is_own = |one: &ContainerName| {
                *one.container == *container.name && pod_names::is_of(kind, &name, &one.pod)
            };
            container.used = CpuMemory::from_fn(|resource| {
                let own = self.used[resource].iter().filter(|(one, _)| is_own(one));
                let mut own: Vec<_> = own.collect();
                own.sort_by_key(|(one, _)| *one);
                own.into_iter().map(|(_, values)| values.clone()).collect()
            });
            let of = |all: &HashMap<ContainerName, f64>| -> Vec<f64> {
                let own = all.iter().filter(|(one, _)| is_own(one));
                own.map(|(_, value)| *value).collect()
            };
            container.throttled = of(&self.throttled).into_iter().reduce(f64::max);
            container.oom_kills = of(&self.oom_kills).into_iter().reduce(|sum, one| sum + one);
        }
    }
}
