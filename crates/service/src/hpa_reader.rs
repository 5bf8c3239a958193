//! Reads one HPA with everything that decides its count, with the rights of the caller. It changes
//! nothing. A failed read of the HPA, of its target's scale or of its Pods is an error. A target that
//! does not exist is explained. Any other failed read is kept as a sentence or as the error of its
//! metric.

mod metric_readings;
mod past_events;
mod read_error;
mod scale_target;

use std::collections::BTreeMap;

use evenkeel_hpa::autoscaler::{Autoscaler, AutoscalerSpec, ScaleTarget, status};
use evenkeel_hpa::explanation::{HpaSnapshot, SnapshotScale};
use evenkeel_hpa::{Controller, HorizontalPodAutoscaler, Readings, ScaleError};
use evenkeel_label_selector::Selector;
use evenkeel_metrics::pod::PodFacts;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::pod::Pod;
use evenkeel_scaling::targets::bound_setters::BoundSetters;
use futures::StreamExt as _;
use jiff::Timestamp;
use k8s_openapi::NamespaceResourceScope;
use kube::api::{DynamicObject, ListParams};
use kube::core::Resource;
use kube::{Api, Client};
use serde::Deserialize as _;
use serde::de::DeserializeOwned;

pub use self::read_error::HpaReadError;
use self::read_error::{required, right};
use self::scale_target::TargetLookup;
use crate::cluster::paged_list;
use crate::cluster::read_outcome::ReadOutcome;
use crate::cluster::watch::is_served;
use crate::watched_types::{
    WatchedAutoscaler, WatchedCronHpa, WatchedIhpa, WatchedPod, WatchedScaledObject,
};

/// The scales of other HPAs that are read at the same time.
const SIDE_BY_SIDE: usize = 8;

/// The scales of other HPAs that are read at most.
const MOST_OTHERS: usize = 100;

/// HPAs that one sentence names at most.
const NAMED: usize = 3;

/// Reads the HPA `name` of `namespace` at `now`, by the clock of the cluster.
///
/// # Errors
/// The HPA does not exist, or it, the scale of its target or its Pods cannot be read.
pub async fn read(
    client: &Client,
    namespace: &str,
    name: &str,
    now: Timestamp,
) -> Result<HpaSnapshot, HpaReadError> {
    let mut reader = HpaReader {
        client,
        namespace,
        unread: Vec::new(),
    };
    let (autoscaler, hpa) = reader.hpa(name).await?;
    let scale = reader.scale(&autoscaler).await?;
    let readings = match &scale {
        Ok(scale) if scale.pods.is_ok() => {
            metric_readings::read(client, &hpa, &scale.selector, now).await
        }
        _ => Readings::default(),
    };
    let history = past_events::read(client, namespace, &autoscaler.metadata, now).await;
    let setters = reader.bound_setters(&autoscaler).await;
    Ok(HpaSnapshot {
        controller: Controller::default(),
        hpa,
        scale,
        readings,
        history,
        bounds_set_by: setters.sentences(&autoscaler, now),
        unread: reader.unread,
        now,
    })
}

/// The target of some HPAs.
struct SharedTarget<'a> {
    spec: &'a AutoscalerSpec,
    /// The names of the HPAs.
    autoscalers: Vec<&'a str>,
}

fn by_target(autoscalers: &[Autoscaler]) -> Vec<SharedTarget<'_>> {
    let mut targets = BTreeMap::new();
    for autoscaler in autoscalers {
        let spec = &autoscaler.spec;
        let ScaleTarget {
            api_version,
            kind,
            name,
        } = &spec.scale_target_ref;
        let target = targets
            .entry((api_version, kind, name))
            .or_insert_with(|| SharedTarget {
                spec,
                autoscalers: Vec::new(),
            });
        let own = autoscaler.metadata.name.as_deref();
        target.autoscalers.push(own.unwrap_or_default());
    }
    targets.into_values().collect()
}

/// HPAs whose scales cannot be read, with the one cause.
fn perhaps_sharing((cause, names): (&String, &Vec<&str>)) -> String {
    let noun = if names.len() == 1 { "HPA" } else { "HPAs" };
    let (first, others) = names.split_at(names.len().min(NAMED));
    let more = match others.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let first = first.join(", ");
    format!("{noun} {first}{more} may share Pods with this one, because {cause}.")
}

struct HpaReader<'a> {
    client: &'a Client,
    namespace: &'a str,
    /// Failed reads, in sentences.
    unread: Vec<String>,
}

impl HpaReader<'_> {
    async fn hpa(&self, name: &str) -> Result<(Autoscaler, HorizontalPodAutoscaler), HpaReadError> {
        let resource = Kind::HorizontalPodAutoscaler.api_resource();
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), self.namespace, &resource);
        let right = || self.right("get", &Kind::HorizontalPodAutoscaler.qualified());
        let what = format!("the HPA {}/{name}", self.namespace);
        let read = ReadOutcome::of(api.get(name).await, right);
        let object = required(read, &what)?.ok_or_else(|| HpaReadError::Absent {
            namespace: self.namespace.to_owned(),
            name: name.to_owned(),
        })?;
        let failed = |error: serde_json::Error| HpaReadError::Failed {
            what: what.clone(),
            error: error.to_string(),
        };
        let status = object.data.get("status").cloned().unwrap_or_default();
        let value = serde_json::to_value(object).map_err(failed)?;
        let autoscaler = Autoscaler::deserialize(&value).map_err(failed)?;
        let hpa = HorizontalPodAutoscaler {
            namespace: self.namespace.to_owned(),
            name: name.to_owned(),
            generation: autoscaler.metadata.generation,
            spec: autoscaler.spec.hpa(),
            status: status::read(status),
        };
        Ok((autoscaler, hpa))
    }

    async fn scale(
        &mut self,
        autoscaler: &Autoscaler,
    ) -> Result<Result<SnapshotScale, ScaleError>, HpaReadError> {
        let lookup = TargetLookup {
            client: self.client,
            namespace: self.namespace,
        };
        let scale = match lookup.scale(&autoscaler.spec).await? {
            Ok(scale) => scale,
            Err(error) => return Ok(Err(error)),
        };
        let selector = scale.selector;
        let pods = match Selector::parse(&selector) {
            Ok(parsed) if !parsed.to_string().is_empty() => Ok(self.pods(&selector).await?),
            Ok(_) => Ok(Vec::new()),
            Err(error) => Err(error.to_string()),
        };
        let selected = pods.as_deref().unwrap_or_default();
        let own = autoscaler.metadata.name.as_deref().unwrap_or_default();
        let autoscalers = self.sharing_autoscalers(&lookup, own, selected).await;
        Ok(Ok(SnapshotScale {
            spec_replicas: scale.spec_replicas,
            status_replicas: scale.status_replicas,
            selector,
            pods: pods.map(|pods| pods.iter().map(PodFacts::from).collect()),
            autoscalers,
        }))
    }

    async fn pods(&self, selector: &str) -> Result<Vec<Pod>, HpaReadError> {
        let api: Api<WatchedPod> = Api::namespaced(self.client.clone(), self.namespace);
        let params = ListParams::default().labels(selector);
        let listed = paged_list::list::<WatchedPod>(&api, params).await;
        let read = ReadOutcome::of(listed, || self.right("list", "pods"));
        let what = format!("the Pods of the namespace {}", self.namespace);
        let (pods, unreadable) = required(read, &what)?.unwrap_or_default();
        if let Some(unreadable) = unreadable.any() {
            return Err(HpaReadError::Failed {
                what,
                error: unreadable.to_string(),
            });
        }
        Ok(pods.into_iter().map(|one| one.pod).collect())
    }

    /// The HPAs with a target that selects any of these Pods, as `namespace/name`, this one among
    /// them.
    async fn sharing_autoscalers(
        &mut self,
        lookup: &TargetLookup<'_>,
        own: &str,
        pods: &[Pod],
    ) -> Vec<String> {
        let others = if pods.is_empty() {
            Vec::new()
        } else {
            self.list::<WatchedAutoscaler>(Kind::HorizontalPodAutoscaler)
                .await
        };
        let others: Vec<_> = others
            .into_iter()
            .map(|one| one.autoscaler)
            .filter(|one| one.metadata.name.as_deref() != Some(own))
            .collect();
        let targets = by_target(&others);
        if targets.len() > MOST_OTHERS {
            self.unread.push(format!(
                "{} further HPAs of the namespace were not compared with this one.",
                targets.len() - MOST_OTHERS
            ));
        }
        // A stream with a closure over references would make this future one that no task takes.
        let reads: Vec<_> = (targets.iter().take(MOST_OTHERS))
            .map(|target| lookup.scale(target.spec))
            .collect();
        let scales = futures::stream::iter(reads).buffered(SIDE_BY_SIDE);
        let scales: Vec<_> = scales.collect().await;
        let mut sharing = vec![format!("{}/{own}", self.namespace)];
        let mut unread: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (target, scale) in targets.iter().zip(scales) {
            let selector = match scale {
                Ok(Ok(scale)) => Selector::parse(&scale.selector),
                // The controller selects no Pods for a target that is absent.
                Ok(Err(_)) => continue,
                Err(error) => {
                    let names = unread.entry(error.cause()).or_default();
                    names.extend(&target.autoscalers);
                    continue;
                }
            };
            let selects = |selector: Selector| {
                !selector.to_string().is_empty()
                    && pods.iter().any(|pod| selector.matches(&pod.labels))
            };
            if selector.is_ok_and(selects) {
                let names = target.autoscalers.iter();
                sharing.extend(names.map(|name| format!("{}/{name}", self.namespace)));
            }
        }
        self.unread.extend(unread.iter().map(perhaps_sharing));
        sharing.sort();
        sharing
    }

    async fn bound_setters(&mut self, autoscaler: &Autoscaler) -> BoundSetters {
        let scaled_object = match autoscaler.scaled_object() {
            Some(name) => self.scaled_object(name).await,
            None => None,
        };
        let cron_hpas = self.custom::<WatchedCronHpa>(Kind::CronHpa).await;
        let ihpas = self.custom::<WatchedIhpa>(Kind::Ihpa).await;
        BoundSetters {
            scaled_object: scaled_object.map(|one| one.scaled_object),
            cron_hpas: cron_hpas.into_iter().map(|one| one.cron_hpa).collect(),
            ihpas: ihpas.into_iter().map(|one| one.ihpa).collect(),
        }
    }

    async fn scaled_object(&mut self, name: &str) -> Option<WatchedScaledObject> {
        let api: Api<WatchedScaledObject> = Api::namespaced(self.client.clone(), self.namespace);
        let kind = Kind::ScaledObject.qualified();
        let read = ReadOutcome::of(api.get(name).await, || self.right("get", &kind));
        self.optional(read, &kind)
    }

    /// The custom resources of a kind in the namespace; none if the cluster does not serve it. Every
    /// user may ask discovery. A list without its right is refused even if there is no such kind.
    async fn custom<K>(&mut self, kind: Kind) -> Vec<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + DeserializeOwned,
    {
        match is_served(self.client, kind).await {
            Ok(false) => Vec::new(),
            // If discovery fails, the list says why.
            Ok(true) | Err(_) => self.list(kind).await,
        }
    }

    /// The objects of a kind in the namespace; none if the cluster does not serve it.
    async fn list<K>(&mut self, kind: Kind) -> Vec<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + DeserializeOwned,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), self.namespace);
        let kind = kind.qualified();
        let listed = paged_list::list::<K>(&api, ListParams::default()).await;
        let read = ReadOutcome::of(listed, || self.right("list", &kind));
        let Some((objects, unreadable)) = self.optional(read, &kind) else {
            return Vec::new();
        };
        if let Some(unreadable) = unreadable.any() {
            self.unread.push(format!("{kind}: {unreadable}."));
        }
        objects
    }

    fn optional<T>(&mut self, read: ReadOutcome<T>, what: &str) -> Option<T> {
        match required(read, what) {
            Ok(there) => there,
            Err(error) => {
                self.unread.push(format!("{error}."));
                None
            }
        }
    }

    fn right(&self, verb: &str, resource: &str) -> String {
        right(verb, resource, self.namespace)
    }
}
