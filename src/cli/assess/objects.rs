//! One list of what scaling reads, put together as the watches of the service do.

use std::collections::BTreeSet;
use std::fmt::Debug;

use jiff::Timestamp;
use k8s_openapi::NamespaceResourceScope;
use kube::api::ListParams;
use kube::core::DeserializeGuard;
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;

use super::args::Args;
use crate::cli::output::{self, Failure};
use crate::cluster::ClusterState;
use crate::cluster::watch::WatchedObject;
use crate::config::Config;
use crate::doctor::gather::read;
use evenkeel_kubernetes::annotations::ENABLED;
use evenkeel_kubernetes::plan::scaling::Observed;
use evenkeel_kubernetes::watched::{
    Namespace, WatchedAutoscaler, WatchedDeployment, WatchedPod, WatchedReplicaSet,
    WatchedScaledObject, WatchedStatefulSet,
};

/// The cluster as it is listed into a picture.
struct Listing<'a> {
    client: &'a Client,
    namespace: Option<&'a str>,
    state: ClusterState,
}

/// The HPAs that are asked for, each with its workload, its Pods and its ScaledObject, as if their
/// namespaces had opted in.
///
/// # Errors
/// The API server cannot be reached, or refuses a list.
pub(super) async fn observe(
    client: &Client,
    args: &Args,
    config: &Config,
) -> Result<Vec<Observed>, Failure> {
    let listing = Listing {
        client,
        namespace: args.namespace.as_deref(),
        state: ClusterState::new(config.cluster),
    };
    let params = args.selector.as_deref();
    let params = params.map_or_else(ListParams::default, |labels| {
        ListParams::default().labels(labels)
    });
    // The picture leaves out what is nobody's concern; here everybody's load is.
    for namespace in listing.list::<WatchedAutoscaler>(params).await? {
        listing.opt_in(namespace);
    }
    let all = ListParams::default;
    listing.list::<WatchedScaledObject>(all()).await?;
    listing.list::<WatchedDeployment>(all()).await?;
    listing.list::<WatchedStatefulSet>(all()).await?;
    listing.list::<WatchedReplicaSet>(all()).await?;
    listing.list::<WatchedPod>(all()).await?;
    let targets = listing.state.scaling_view().targets;
    let scaled = targets.into_iter();
    Ok(scaled.filter(|one| one.autoscaler.is_some()).collect())
}

impl Listing<'_> {
    /// Lists a kind into the picture, and gives the namespaces of its objects; a kind that the cluster
    /// does not serve has none.
    async fn list<K>(&self, params: ListParams) -> Result<BTreeSet<String>, Failure>
    where
        K: WatchedObject
            + Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        let client = self.client.clone();
        let api: Api<DeserializeGuard<K>> = match self.namespace {
            Some(namespace) => Api::namespaced(client, namespace),
            None => Api::all(client),
        };
        let (mut namespaces, mut unreadable) = (BTreeSet::new(), 0);
        let listed = read::for_each(&api, params, |guarded| match guarded.0 {
            Ok(object) => {
                object.apply(&self.state);
                namespaces.extend(object.meta().namespace.clone());
            }
            Err(_) => unreadable += 1,
        });
        match listed.await {
            Ok(()) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => return Err(self.refused::<K>(error)),
        }
        if unreadable > 0 {
            let plural = K::plural(&());
            output::warn(&format!(
                "{unreadable} of {plural} cannot be read and are left out"
            ));
        }
        Ok(namespaces)
    }

    fn opt_in(&self, namespace: String) {
        let mut opted_in = Namespace::default();
        opted_in.metadata.name = Some(namespace);
        let annotations = &mut opted_in.metadata.annotations;
        annotations.insert(ENABLED.to_owned(), "true".to_owned());
        self.state.apply_namespace(&opted_in, Timestamp::UNIX_EPOCH);
    }

    fn refused<K: Resource<DynamicType = ()>>(&self, error: kube::Error) -> Failure {
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
                Failure::work(format_args!(
                    "the API server refuses to list {kind}: {}; it takes the right of `kubectl auth can-i \
                     list {kind} {place}`",
                    status.message
                ))
            }
            kube::Error::Api(status) if status.code == 400 => Failure::call(format_args!(
                "the API server does not accept the list of {kind}: {}",
                status.message
            )),
            error => {
                Failure::Work(anyhow::Error::new(error).context(format!("{kind} cannot be listed")))
            }
        }
    }
}
