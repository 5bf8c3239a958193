//! The workloads of a cluster, and what their containers used, from Prometheus.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use anyhow::Context as _;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::pod_names;
use evenkeel_scaling::specs::ihpa::CheckedIhpa;
use evenkeel_scaling::targets::reference::TargetRef;
use evenkeel_scaling::targets::target_objects::TargetObjects;
use evenkeel_service::cluster::paged_list::list;
use evenkeel_service::metrics::ContainerName;
use evenkeel_service::metrics::prometheus::{Grid, Harm, PrometheusSource};
use evenkeel_terminal::output;
use evenkeel_terminal::output::CliFailure;
use evenkeel_tuning::plan::scaled_by;
use evenkeel_units::cpu_memory::{CpuMemory, TunedResource};
use jiff::{SignedDuration, Timestamp};
use kube::api::{DynamicObject, ListParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::args::Args;
use super::manifest_files::workload;
use super::workload::TuneCandidate;
use crate::prometheus_history::{now, source, unreachable};

/// The kinds with Pods that can be identified by name after their deletion.
const KINDS: [Kind; 2] = [Kind::Deployment, Kind::StatefulSet];
/// The span of one query: an answer holds a day of a namespace's containers.
const SLICE: SignedDuration = SignedDuration::from_hours(24);

pub(super) async fn workloads(args: &Args) -> Result<Vec<TuneCandidate>, CliFailure> {
    let config = args.prometheus.config()?;
    let (prometheus, url) = source(&config)?;
    if !prometheus.knows_containers() {
        return Err(CliFailure::call(
            "metrics.prometheus.queries sets podCpu or podMemory, which have no series of \
             containers; accepted: the built-in queries",
        ));
    }
    let client = args.kubeconfig.connect().await;
    let client = client.map_err(CliFailure::Call)?;
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

async fn listed(client: &Client, args: &Args) -> Result<Vec<TuneCandidate>, CliFailure> {
    let mut workloads = Vec::new();
    for kind in KINDS {
        for object in objects(client, kind, args).await? {
            workloads.extend(workload(kind, &object));
        }
    }
    for kind in [Kind::HorizontalPodAutoscaler, Kind::Ihpa] {
        for object in objects(client, kind, args).await? {
            for workload in &mut workloads {
                count_by(workload, kind, &object);
            }
        }
    }
    Ok(workloads)
}

/// Notes the resources by which an autoscaler counts a workload's replicas, if it is the
/// workload's.
fn count_by(workload: &mut TuneCandidate, kind: Kind, autoscaler: &Value) {
    let target = &autoscaler["spec"]["scaleTargetRef"];
    let is_own = autoscaler["metadata"]["namespace"] == *workload.namespace
        && target["kind"] == workload.kind.as_str()
        && target["name"] == *workload.name;
    if !is_own {
        return;
    }
    let mut observed = TargetObjects::alone(TargetRef::of_kind(
        workload.kind,
        &workload.namespace,
        &workload.name,
    ));
    if kind == Kind::Ihpa {
        let object = serde_json::from_value(autoscaler.clone());
        observed.ihpa = object
            .ok()
            .map(|object| Arc::new(CheckedIhpa::new(Arc::new(object), None)));
    } else {
        observed.autoscaler = serde_json::from_value(autoscaler.clone())
            .ok()
            .map(Arc::new);
    }
    let by = scaled_by(&observed);
    let all = workload.scaled_by;
    workload.scaled_by = CpuMemory::from_fn(|resource| all[resource] || by[resource]);
}

async fn objects(client: &Client, kind: Kind, args: &Args) -> Result<Vec<Value>, CliFailure> {
    let resource = kind.api_resource();
    let api: Api<DynamicObject> = match &args.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let listed = match list::<DynamicObject>(&api, ListParams::default()).await {
        // A cluster without the custom resource has none of it.
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(Vec::new()),
        listed => listed,
    };
    let listed = listed.with_context(|| format!("{} cannot be listed", kind.plural()));
    let (listed, unreadable) = listed.map_err(CliFailure::Work)?;
    if let Some(unreadable) = unreadable.any() {
        output::warn(&format!("{}: {unreadable}; it is left out", kind.plural()));
    }
    Ok(listed.iter().map(|object| json!(object)).collect())
}

/// The past use of a namespace's containers, with throttling and OOM kills.
struct ContainerPastUsage {
    used: CpuMemory<HashMap<ContainerName, Vec<f64>>>,
    throttled: HashMap<ContainerName, f64>,
    oom_kills: HashMap<ContainerName, f64>,
}

async fn past(
    prometheus: &PrometheusSource,
    namespace: &str,
    args: &Args,
) -> Result<ContainerPastUsage, evenkeel_service::metrics::MetricsError> {
    let until = now(prometheus).await;
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
    Ok(ContainerPastUsage {
        used,
        throttled: harm(Harm::Throttled).await,
        oom_kills: harm(Harm::OomKills).await,
    })
}

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

impl ContainerPastUsage {
    fn give(&self, workload: &mut TuneCandidate) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_requests_that_an_hpa_or_an_ihpa_counts_by_are_known() {
        let metrics = |name: &str| {
            json!([{"type": "Resource", "resource": {"name": name,
                "target": {"type": "Utilization", "averageUtilization": 60}}}])
        };
        let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
        let hpa = json!({"metadata": {"name": "web", "namespace": "shop"}, "spec": {
            "scaleTargetRef": target, "maxReplicas": 9, "metrics": metrics("cpu")}});
        let provider = json!({"type": "Dynamic", "priority": 1, "dynamic": {
            "portraitType": "Reactive", "metrics": metrics("memory"), "algorithm": {"type": "KubeHPA"}}});
        let ihpa = json!({"metadata": {"name": "web", "namespace": "shop"}, "spec": {
            "scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 9, "portraitProviders": [provider]}});
        let deployment = |name: &str| {
            let object = json!({"metadata": {"name": name, "namespace": "shop"},
                "spec": {"template": {"spec": {"containers": [{"name": "app"}]}}}});
            workload(Kind::Deployment, &object).unwrap()
        };
        for (kind, object, cpu, memory) in [
            (Kind::HorizontalPodAutoscaler, &hpa, true, false),
            (Kind::Ihpa, &ihpa, false, true),
        ] {
            let (mut web, mut other) = (deployment("web"), deployment("other"));
            count_by(&mut web, kind, object);
            count_by(&mut other, kind, object);
            assert_eq!(web.scaled_by, CpuMemory { cpu, memory });
            assert_eq!(other.scaled_by, CpuMemory::default());
        }
    }
}
