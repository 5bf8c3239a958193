//! Callers without credentials: each is the Pod with the peer address. Kapacity's jobs speak plain
//! gRPC and cannot be changed, so Evenkeel asks the API server which Pod has the address. It must
//! be one running Pod with its own network that is not being deleted. It may ask about its own
//! namespace alone, within the rights of its ServiceAccount. An address is worth no more than the
//! cluster's network, so this is off unless the operator enables it.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use evenkeel_metrics::series_query::{SeriesQuery, SeriesRefusal};
use evenkeel_objects::truncate::excerpt;
use k8s_openapi::api::authentication::v1::UserInfo;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::{Api, Client};
use moka::future::Cache;
use tokio::sync::Semaphore;

use super::routes::authorise;
use crate::aggregation::Rights;
use crate::cluster::paged_list;
use crate::server::access_reviews::REVIEW_TIME;

/// How long a Pod is known by its address: shorter than an address rests before it is another's.
const HELD: Duration = Duration::from_secs(5);

/// Addresses that are known.
const MOST_HELD: u64 = 1024;

/// Look-ups that are under way at a time: each makes the API server look at all Pods.
const AT_ONCE: usize = 1;

/// Look-ups that are under way or wait.
const WAITING: usize = 16;

pub struct PodCallers {
    pods: Api<Pod>,
    rights: Rights,
    /// The account at each address; `None` if no account has it for sure.
    known: Cache<IpAddr, Option<Account>>,
    turns: Semaphore,
    line: Semaphore,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Account {
    namespace: String,
    name: String,
}

impl fmt::Debug for PodCallers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PodCallers").finish_non_exhaustive()
    }
}

impl PodCallers {
    /// The Pods that the API server behind `client` knows.
    pub fn new(client: Client) -> Self {
        Self {
            pods: Api::all(client.clone()),
            rights: Rights::new(client),
            known: Cache::builder()
                .max_capacity(MOST_HELD)
                .time_to_live(HELD)
                .build(),
            turns: Semaphore::new(AT_ONCE),
            line: Semaphore::new(WAITING),
        }
    }

    /// Checks that the Pod at `address` may ask `query`.
    ///
    /// # Errors
    /// No one Pod has the address, the question is about another namespace than its own, or its
    /// ServiceAccount lacks a right.
    pub(super) async fn authorise(
        &self,
        address: IpAddr,
        query: &SeriesQuery,
    ) -> Result<(), SeriesRefusal> {
        let account = self
            .known
            .try_get_with(address, self.look_up(address))
            .await;
        let account = account.map_err(|refusal| (*refusal).clone())?;
        let account = account.ok_or_else(|| {
            SeriesRefusal::Unauthenticated(format!(
                "no single running Pod with its own network has the address {address}"
            ))
        })?;
        if account.namespace != *query.namespace {
            let Account { namespace, .. } = account;
            return Err(SeriesRefusal::Forbidden {
                user: format!("a Pod of the namespace {namespace}"),
                right: format!(
                    "query the namespace {:?} without a token",
                    excerpt(&query.namespace, 63)
                ),
            });
        }
        authorise(&self.rights, account.user(), query).await
    }

    async fn look_up(&self, address: IpAddr) -> Result<Option<Account>, SeriesRefusal> {
        let _place = self.line.try_acquire().map_err(|_| SeriesRefusal::Busy)?;
        let looked = async {
            let turn = self.turns.acquire().await;
            let _turn = turn.expect("the semaphore is never closed");
            let with_address = format!("status.podIP={address}");
            let params = ListParams::default().fields(&with_address);
            paged_list::list(&self.pods, params).await
        };
        let unknown = || {
            SeriesRefusal::Unreviewed(
                "the API server cannot be asked for the Pod of the address".to_owned(),
            )
        };
        let found = tokio::time::timeout(REVIEW_TIME, looked).await;
        let found = found.map_err(|_| unknown())?.map_err(|error| {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "the Pod of an address could not be looked up");
            unknown()
        })?;
        let (pods, unreadable) = found;
        // A Pod that cannot be read has the address too.
        Ok(one(&pods, address).filter(|_| unreadable.count == 0))
    }
}

impl Account {
    /// As the API server authenticates it.
    fn user(&self) -> UserInfo {
        let Self { namespace, name } = self;
        let groups = [
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{namespace}"),
            "system:authenticated".to_owned(),
        ];
        UserInfo {
            username: Some(format!("system:serviceaccount:{namespace}:{name}")),
            groups: Some(groups.into()),
            ..UserInfo::default()
        }
    }
}

/// The account of the one Pod that has an address for sure; open if a live Pod with the address
/// cannot be the caller.
fn one(pods: &[Pod], address: IpAddr) -> Option<Account> {
    let mut account = None;
    for pod in pods {
        let status = pod.status.as_ref()?;
        let phase = status.phase.as_deref().unwrap_or_default();
        if matches!(phase, "Succeeded" | "Failed") {
            continue;
        }
        let has_address = status
            .pod_ip
            .as_ref()
            .and_then(|ip| ip.parse::<IpAddr>().ok())
            .is_some_and(|ip| ip == address);
        let spec = pod.spec.as_ref()?;
        let is_caller = has_address
            && phase == "Running"
            && pod.metadata.deletion_timestamp.is_none()
            && spec.host_network != Some(true);
        if !is_caller || account.is_some() {
            return None;
        }
        account = Some(Account {
            namespace: pod.metadata.namespace.clone()?,
            name: spec.service_account_name.clone()?,
        });
    }
    account
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(change: impl FnOnce(&mut Value)) -> Pod {
        let mut pod = json!({
            "metadata": {"name": "job", "namespace": "shop"},
            "spec": {"serviceAccountName": "algorithm", "containers": []},
            "status": {"phase": "Running", "podIP": "10.0.0.7"},
        });
        change(&mut pod);
        serde_json::from_value(pod).unwrap()
    }

    #[test]
    fn an_address_is_that_of_one_pod_or_of_nobody() {
        let address = "10.0.0.7".parse().unwrap();
        let known = |pods: &[Pod]| one(pods, address).map(|account| account.namespace);
        let job = || pod(|_| {});
        let ended = || pod(|pod| pod["status"]["phase"] = json!("Succeeded"));
        let shop = Some("shop".to_owned());
        assert_eq!(known(&[job()]), shop);
        assert_eq!(
            known(&[ended(), job(), ended()]),
            shop,
            "it was theirs once"
        );
        assert_eq!(known(&[]), None);
        assert_eq!(known(&[ended()]), None);
        let other = pod(|pod| pod["metadata"]["namespace"] = json!("bank"));
        assert_eq!(known(&[job(), other]), None, "it is either's");
        for (what, unsure) in [
            (
                "the node's own network",
                pod(|pod| pod["spec"]["hostNetwork"] = json!(true)),
            ),
            (
                "an address that is about to be another's",
                pod(|pod| pod["metadata"]["deletionTimestamp"] = json!("2026-03-02T09:00:00Z")),
            ),
            (
                "not started",
                pod(|pod| pod["status"]["phase"] = json!("Pending")),
            ),
            (
                "another address, whatever was asked for",
                pod(|pod| pod["status"]["podIP"] = json!("10.0.0.8")),
            ),
            ("no status", pod(|pod| pod["status"] = Value::Null)),
        ] {
            assert_eq!(known(std::slice::from_ref(&unsure)), None, "{what}");
            assert_eq!(known(&[job(), unsure]), None, "{what}, beside another");
        }
    }

    #[test]
    fn a_pod_is_its_service_account() {
        let account = one(&[pod(|_| {})], "10.0.0.7".parse().unwrap()).unwrap();
        let user = account.user();
        assert_eq!(
            user.username.as_deref(),
            Some("system:serviceaccount:shop:algorithm")
        );
        let groups = user.groups.unwrap();
        assert!(groups.contains(&"system:serviceaccounts:shop".to_owned()));
    }
}
