//! One list of what scaling reads, put together as the watches of the service do.

use std::collections::{BTreeSet, HashSet};

use evenkeel_objects::annotations::ENABLED;
use evenkeel_scaling::targets::scaled_object::ScaledObject;
use evenkeel_scaling::targets::target_objects::TargetObjects;
use evenkeel_service::cluster::watch::WatchedObject;
use evenkeel_service::cluster::{ClusterState, paged_list};
use evenkeel_service::config::Config;
use evenkeel_service::watched_types::{
    Namespace, WatchedAutoscaler, WatchedDeployment, WatchedPod, WatchedReplicaSet,
    WatchedScaledObject, WatchedStatefulSet,
};
use evenkeel_terminal::output;
use evenkeel_terminal::output::CliFailure;
use jiff::Timestamp;
use k8s_openapi::NamespaceResourceScope;
use kube::api::ListParams;
use kube::{Api, Client, Resource};

use super::args::Args;

#[derive(Debug)]
pub(super) struct AssessObjects {
    /// The HPAs, each with its workload, its Pods and its ScaledObject.
    pub autoscalers: Vec<TargetObjects>,
    /// The ScaledObjects that no HPA is there for.
    pub without_autoscaler: Vec<ScaledObject>,
}

struct Listing<'a> {
    client: &'a Client,
    namespace: Option<&'a str>,
    state: ClusterState,
}

/// The HPAs and ScaledObjects that are asked for, as if their namespaces had opted in.
///
/// # Errors
/// The API server cannot be reached, or refuses a list.
pub(super) async fn observe(
    client: &Client,
    args: &Args,
    config: &Config,
) -> Result<AssessObjects, CliFailure> {
    let listing = Listing {
        client,
        namespace: args.namespace.as_deref(),
        state: ClusterState::new(config.cluster.clone()),
    };
    let all = ListParams::default;
    let wanted = || match args.selector.as_deref() {
        Some(labels) => all().labels(labels),
        None => all(),
    };
    let mut namespaces = BTreeSet::new();
    let of_autoscaler = |one: WatchedAutoscaler| namespaces.extend(one.metadata.namespace);
    listing.list(wanted(), of_autoscaler).await?;
    // The state skips namespaces without opt-in, but here every load is assessed.
    for namespace in namespaces {
        listing.opt_in(namespace);
    }
    let mut scaled_objects = Vec::new();
    let of_keda = |one: WatchedScaledObject| scaled_objects.push(one.scaled_object);
    listing.list(wanted(), of_keda).await?;
    if args.selector.is_some() {
        // The labels of an HPA may be others than those of its ScaledObject.
        listing.list::<WatchedScaledObject>(all(), drop).await?;
    }
    listing.list::<WatchedDeployment>(all(), drop).await?;
    listing.list::<WatchedStatefulSet>(all(), drop).await?;
    listing.list::<WatchedReplicaSet>(all(), drop).await?;
    listing.list::<WatchedPod>(all(), drop).await?;
    let mut autoscalers = listing.state.scaling_view().targets;
    autoscalers.retain(|one| one.autoscaler.is_some());
    Ok(AssessObjects::new(autoscalers, scaled_objects))
}

impl AssessObjects {
    fn new(autoscalers: Vec<TargetObjects>, mut without_autoscaler: Vec<ScaledObject>) -> Self {
        let with_one = autoscalers.iter().filter_map(|one| {
            let name = one.autoscaler.as_deref()?.scaled_object()?;
            Some((&*one.namespace, name))
        });
        let with_one: HashSet<_> = with_one.collect();
        without_autoscaler.retain(|object| {
            let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
            let name = object.metadata.name.as_deref().unwrap_or_default();
            !with_one.contains(&(namespace, name))
        });
        drop(with_one);
        Self {
            autoscalers,
            without_autoscaler,
        }
    }
}

impl Listing<'_> {
    /// Lists a kind into the snapshot, and hands each object on; a kind that the cluster does not
    /// serve is empty.
    async fn list<K>(&self, params: ListParams, mut take: impl FnMut(K)) -> Result<(), CliFailure>
    where
        K: WatchedObject + Resource<Scope = NamespaceResourceScope>,
    {
        let client = self.client.clone();
        let api: Api<K> = match self.namespace {
            Some(namespace) => Api::namespaced(client, namespace),
            None => Api::all(client),
        };
        let listed = paged_list::for_each_readable(&api, params, |object: K| {
            object.apply(&self.state);
            take(object);
        });
        let unreadable = match listed.await {
            Ok(unreadable) => unreadable,
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
            Err(error) => return Err(self.refused::<K>(error)),
        };
        if let Some(unreadable) = unreadable.any() {
            let plural = K::plural(&());
            output::warn(&format!("{plural}: {unreadable}; it is left out"));
        }
        Ok(())
    }

    fn opt_in(&self, namespace: String) {
        let mut opted_in = Namespace::default();
        opted_in.metadata.name = Some(namespace);
        let annotations = &mut opted_in.metadata.annotations;
        annotations.insert(ENABLED.to_owned(), "true".to_owned());
        self.state.apply_namespace(&opted_in, Timestamp::UNIX_EPOCH);
    }

    fn refused<K: Resource<DynamicType = ()>>(&self, error: kube::Error) -> CliFailure {
        let (plural, group) = (K::plural(&()), K::group(&()));
        let kind = if group.is_empty() {
            plural.into_owned()
        } else {
            format!("{plural}.{group}")
        };
        let place = self.namespace.map_or_else(
            || "--all-namespaces".to_owned(),
            |namespace| format!("--namespace {namespace}"),
        );
        match error {
            kube::Error::Api(status) if [401, 403].contains(&status.code) => {
                CliFailure::work(format_args!(
                    "the API server refuses to list {kind}: {}; you need the right that `kubectl \
                     auth can-i list {kind} {place}` shows",
                    status.message
                ))
            }
            kube::Error::Api(status) if status.code == 400 => CliFailure::call(format_args!(
                "the API server does not accept the list of {kind}: {}",
                status.message
            )),
            error => CliFailure::Work(
                anyhow::Error::new(error).context(format!("{kind} cannot be listed")),
            ),
        }
    }
}
