//! The objects of a cluster, cut down to what a record has of them. One object at a time is held
//! whole.

use std::collections::BTreeMap;

use evenkeel_objects::annotations::{BOUNDS, SCALING_STATUS};
use evenkeel_objects::capacities::Capacities;
use evenkeel_objects::meta::Meta;
use evenkeel_objects::node::{Node, node_facts};
use evenkeel_objects::pod::Pod;
use evenkeel_objects::scaling_mode::ScalingMode;
use evenkeel_placement::demand::demand;
use evenkeel_sandbox::recording::{
    AutoscalerRecord, ClusterRecord, EventRecord, NodeRecord, PodRecord, WorkloadRecord,
};
use evenkeel_scaling::bounds_record::annotation::BoundsAnnotation;
use evenkeel_service::cluster::paged_list;
use evenkeel_terminal::output;
use evenkeel_terminal::output::CliFailure;
use evenkeel_units::{Amount, Resource, Resources};
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::{self, Event};
use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};
use kube::api::ListParams;
use kube::{Api, Client};
use serde_json::Value;

/// Most Events of a record; a busy cluster has tens of thousands in an hour.
const MOST_EVENTS: usize = 20_000;

struct ObjectListing<'a> {
    client: &'a Client,
    namespace: Option<&'a str>,
    /// Kinds that could not be listed, with the status.
    refused: Vec<(String, u16)>,
}

/// Reads all objects into the record.
///
/// # Errors
/// Nodes, Pods or Deployments cannot be listed, or the API server does not answer.
pub(super) async fn read(
    client: &Client,
    namespace: Option<&str>,
    record: &mut ClusterRecord,
) -> Result<(), CliFailure> {
    let mut listing = ObjectListing {
        client,
        namespace,
        refused: Vec::new(),
    };
    listing
        .of_cluster::<v1::Node>(|object| record.nodes.extend(node(object)))
        .await?;
    for kind in [WorkloadKind::Deployment, WorkloadKind::StatefulSet] {
        let workloads = &mut record.workloads;
        let take = |object: Value| workloads.extend(workload(kind, &object));
        match kind {
            WorkloadKind::Deployment => listing.required::<Deployment>(take).await?,
            WorkloadKind::StatefulSet => listing.optional::<StatefulSet>(take).await?,
        }
    }
    let pods = &mut record.pods;
    listing
        .required::<v1::Pod>(|object| pods.extend(pod(object)))
        .await?;
    let autoscalers = &mut record.autoscalers;
    listing
        .optional::<HorizontalPodAutoscaler>(|object| autoscalers.extend(autoscaler(&object)))
        .await?;
    let (events, from, until) = (&mut record.events, record.span.from, record.span.until);
    let dropped = &mut record.unread.dropped_events;
    listing
        .optional::<Event>(|object| {
            let found = event(&object);
            let last = found.last.or(found.first);
            if last.is_some_and(|at| at < from || at > until) {
                return;
            }
            if events.len() < MOST_EVENTS {
                events.push(found);
            } else {
                *dropped += 1;
            }
        })
        .await?;
    record.unread.kinds = listing.refused;
    take_from_pods(&mut record.workloads, &record.pods);
    Ok(())
}

#[derive(Clone, Copy)]
enum WorkloadKind {
    Deployment,
    StatefulSet,
}

impl WorkloadKind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::StatefulSet => "StatefulSet",
        }
    }
}

impl ObjectListing<'_> {
    async fn of_cluster<K>(&self, take: impl FnMut(Value)) -> Result<(), CliFailure>
    where
        K: kube::Resource<Scope = ClusterResourceScope, DynamicType = ()> + Clone,
    {
        let listed = each::<K>(&Api::all(self.client.clone()), take).await;
        listed.map_err(|error| failure::<K>(error))
    }

    async fn namespaced<K>(&self, take: impl FnMut(Value)) -> kube::Result<()>
    where
        K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone,
    {
        let client = self.client.clone();
        let api: Api<K> = match self.namespace {
            Some(namespace) => Api::namespaced(client, namespace),
            None => Api::all(client),
        };
        each(&api, take).await
    }

    async fn required<K>(&self, take: impl FnMut(Value)) -> Result<(), CliFailure>
    where
        K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone,
    {
        let listed = self.namespaced::<K>(take).await;
        listed.map_err(|error| failure::<K>(error))
    }

    /// Notes a refusal and goes on.
    async fn optional<K>(&mut self, take: impl FnMut(Value)) -> Result<(), CliFailure>
    where
        K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone,
    {
        match self.namespaced::<K>(take).await {
            Err(kube::Error::Api(status)) if [403, 404].contains(&status.code) => {
                self.refused
                    .push((K::plural(&()).into_owned(), status.code));
                Ok(())
            }
            listed => listed.map_err(|error| failure::<K>(error)),
        }
    }
}

async fn each<K>(api: &Api<K>, take: impl FnMut(Value)) -> kube::Result<()>
where
    K: kube::Resource<DynamicType = ()> + Clone,
{
    let unreadable = paged_list::for_each_readable(api, ListParams::default(), take).await?;
    if let Some(unreadable) = unreadable.any() {
        let plural = K::plural(&());
        output::warn(&format!("{plural}: {unreadable}; it is left out"));
    }
    Ok(())
}

fn failure<K: kube::Resource<DynamicType = ()>>(error: kube::Error) -> CliFailure {
    let plural = K::plural(&());
    match error {
        kube::Error::Api(status) if [401, 403].contains(&status.code) => {
            CliFailure::work(format_args!(
                "the API server refuses to list {plural}: {}; a record needs the right that `kubectl \
                 auth can-i list {plural}` shows",
                status.message
            ))
        }
        error => CliFailure::Work(
            anyhow::Error::new(error).context(format!("{plural} cannot be listed")),
        ),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn time(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

fn node(object: Value) -> Option<NodeRecord> {
    let pods = &object["status"]["allocatable"]["pods"];
    let pods = pods.as_str().and_then(|count| count.parse().ok());
    let node: Node = serde_json::from_value(object).ok()?;
    let (facts, _) = node_facts(&node, &Capacities::default());
    Some(NodeRecord {
        name: node.name().to_owned(),
        capacity: facts.capacity,
        pods: pods.unwrap_or(110),
        created: facts.created,
        schedulable: facts.schedulable,
        tainted: facts.tainted,
        control_plane: node.is_of_control_plane(),
    })
}

fn workload(kind: WorkloadKind, object: &Value) -> Option<WorkloadRecord> {
    let (metadata, spec) = (&object["metadata"], &object["spec"]);
    let template: Pod = serde_json::from_value(spec["template"].clone()).ok()?;
    let own: Meta = serde_json::from_value(metadata.clone()).ok()?;
    Some(WorkloadRecord {
        kind: kind.as_str().to_owned(),
        namespace: text(&metadata["namespace"]),
        name: text(&metadata["name"]),
        created: time(&metadata["creationTimestamp"]),
        replicas: u32::try_from(spec["replicas"].as_u64().unwrap_or(1)).unwrap_or(u32::MAX),
        demand: demand(&template, false).amounts,
        limits: limits(&spec["template"]["spec"]),
        load: Vec::new(),
        ready: Vec::new(),
        each: Resources::default(),
        annotations: users_annotations(&own),
    })
}

/// Without the records that Evenkeel wrote.
fn users_annotations(metadata: &Meta) -> BTreeMap<String, String> {
    let all = metadata.annotations.iter();
    let own = all.filter(|(key, _)| ![BOUNDS, SCALING_STATUS].contains(&key.as_str()));
    own.map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// Sums over the containers and sidecars; zero for a resource that one of them has no limit of.
fn limits(spec: &Value) -> Resources<Amount> {
    let list = |field: &str| spec[field].as_array().into_iter().flatten();
    let sidecars = list("initContainers").filter(|one| one["restartPolicy"] == "Always");
    let all: Vec<&Value> = list("containers").chain(sidecars).collect();
    let limit = |resource: Resource| {
        let each = all.iter().map(|container| {
            let limit = &container["resources"]["limits"][resource.as_str()];
            let text = limit
                .as_str()
                .map_or_else(|| limit.to_string(), str::to_owned);
            resource.parse_amount(&text).ok()
        });
        each.sum::<Option<Amount>>()
    };
    Resources::from_fn(|resource| match resource {
        Resource::Cpu | Resource::Memory => limit(resource).unwrap_or_default(),
        Resource::NetworkIo | Resource::DiskIo | Resource::Disk => Amount::ZERO,
    })
}

/// `None` for a Pod that has ended, which uses nothing.
fn pod(object: Value) -> Option<PodRecord> {
    let (metadata, status) = (&object["metadata"], &object["status"]);
    let condition = |kind: &str| {
        let mut all = status["conditions"].as_array().into_iter().flatten();
        let found = all.find(|one| one["type"] == kind && one["status"] == "True")?;
        time(&found["lastTransitionTime"])
    };
    let containers = status["containerStatuses"].as_array().into_iter().flatten();
    let restarts = containers
        .clone()
        .filter_map(|one| one["restartCount"].as_u64());
    let is_restarted = restarts.sum::<u64>() > 0;
    let started = containers.filter_map(|one| time(&one["state"]["running"]["startedAt"]));
    let started = started.max().filter(|_| !is_restarted);
    let ready = condition("Ready").filter(|_| !is_restarted);
    let scheduled = condition("PodScheduled").or_else(|| time(&status["startTime"]));
    let workload = owner(metadata);
    let (namespace, name) = (text(&metadata["namespace"]), text(&metadata["name"]));
    let limits = limits(&object["spec"]);
    let pod: Pod = serde_json::from_value(object).ok()?;
    (!pod.is_finished()).then(|| PodRecord {
        namespace,
        name,
        workload,
        node: pod.spec.node_name.clone(),
        demand: demand(&pod, false).amounts,
        limits,
        scheduled,
        started,
        ready,
    })
}

/// Kind and name of the workload: of a ReplicaSet by its name, without the hash of the template.
fn owner(metadata: &Value) -> Option<String> {
    let mut owners = metadata["ownerReferences"].as_array()?.iter();
    let owner = owners.find(|one| one["controller"] == true)?;
    let name = owner["name"].as_str()?;
    match owner["kind"].as_str()? {
        "ReplicaSet" => {
            let (deployment, _) = name.rsplit_once('-')?;
            Some(format!("Deployment/{deployment}"))
        }
        "StatefulSet" => Some(format!("StatefulSet/{name}")),
        _ => None,
    }
}

/// With the user's own bounds, where Evenkeel has raised them.
fn autoscaler(object: &Value) -> Option<AutoscalerRecord> {
    let mut spec = object["spec"].clone();
    let metadata: Meta = serde_json::from_value(object["metadata"].clone()).ok()?;
    let bounds = BoundsAnnotation::of(&metadata);
    let refused_bounds = matches!(bounds, Some(Err(_)));
    if let Some(Ok(BoundsAnnotation { record, .. })) = bounds {
        spec["minReplicas"] = record.user.min.into();
        spec["maxReplicas"] = record.user.max.into();
    }
    let status = metadata.annotation(SCALING_STATUS);
    let status: Option<Value> = status.and_then(|text| serde_json::from_str(text).ok());
    Some(AutoscalerRecord {
        refused_bounds,
        had_floors: status.is_some_and(|status| status["mode"] == ScalingMode::Floor.as_str()),
        namespace: metadata.namespace.clone().unwrap_or_default(),
        name: metadata.name.clone().unwrap_or_default(),
        annotations: users_annotations(&metadata),
        spec,
    })
}

fn event(object: &Value) -> EventRecord {
    let of = &object["involvedObject"];
    let first = time(&object["firstTimestamp"]).or_else(|| time(&object["eventTime"]));
    let series = &object["series"];
    let count = object["count"]
        .as_u64()
        .or_else(|| series["count"].as_u64());
    EventRecord {
        namespace: text(&of["namespace"]),
        kind: text(&of["kind"]),
        name: text(&of["name"]),
        reason: text(&object["reason"]),
        is_warning: object["type"] == "Warning",
        count: count
            .and_then(|count| u32::try_from(count).ok())
            .unwrap_or(1),
        first,
        last: time(&object["lastTimestamp"])
            .or_else(|| time(&series["lastObservedTime"]))
            .or(first),
        message: Some(text(&object["message"])),
    }
}

/// The requests and limits of a workload's newest Pod in place of the template's: admission adds
/// sidecars and defaults, and resizes change them.
fn take_from_pods(workloads: &mut [WorkloadRecord], pods: &[PodRecord]) {
    for workload in workloads {
        let reference = Some(workload.reference());
        let is_own =
            |pod: &&PodRecord| pod.namespace == workload.namespace && pod.workload == reference;
        let own = pods.iter().filter(is_own);
        if let Some(pod) = own.max_by_key(|pod| (pod.scheduled, &pod.name)) {
            (workload.demand, workload.limits) = (pod.demand, pod.limits);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_workload_asks_for_what_its_newest_pod_asks_for() {
        let container = |cpu: &str| {
            let amounts = json!({"requests": {"cpu": cpu}, "limits": {"cpu": cpu}});
            json!({"name": cpu, "resources": amounts})
        };
        let owner = json!([{"kind": "ReplicaSet", "name": "web-5d8f7c9b6", "controller": true,
            "apiVersion": "apps/v1", "uid": "u"}]);
        let pod_of = |name: &str, at: &str, cpu: &str| {
            let status = json!({"conditions": [
                {"type": "PodScheduled", "status": "True", "lastTransitionTime": at}]});
            let metadata = json!({"name": name, "namespace": "shop", "ownerReferences": owner});
            let spec = json!({"containers": [container(cpu), container("50m")]});
            pod(json!({"metadata": metadata, "status": status, "spec": spec})).unwrap()
        };
        let template = json!({"spec": {"containers": [container("100m")]}});
        let deployment = json!({"metadata": {"name": "web", "namespace": "shop"},
            "spec": {"template": template}});
        let mut all = [workload(WorkloadKind::Deployment, &deployment).unwrap()];
        let cpu = |of: &WorkloadRecord| [of.demand[Resource::Cpu], of.limits[Resource::Cpu]];
        let millis = |text| [Resource::Cpu.parse_amount(text).unwrap(); 2];
        take_from_pods(&mut all, &[]);
        assert_eq!(cpu(&all[0]), millis("100m"));
        let newest = pod_of("web-a", "2026-03-01T10:00:00Z", "300m");
        let older = pod_of("web-b", "2026-03-01T09:00:00Z", "200m");
        take_from_pods(&mut all, &[newest, older]);
        assert_eq!(cpu(&all[0]), millis("350m"));
    }
}
