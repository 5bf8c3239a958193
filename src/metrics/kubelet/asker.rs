//! Asks the kubelets, a few at a time.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_http_client::header::{AUTHORIZATION, CONNECTION};
use evenkeel_http_client::{Request, StatusCode, Uri};
use jiff::{SignedDuration, Timestamp};
use tokio::task::JoinSet;

use super::agenda::KubeletSchedule;
use super::disks::Disks;
use crate::account_tokens::AccountTokens;
use crate::metrics::access::{AccessClient, EndpointAccess};
use crate::metrics::api_call::refusal;
use crate::metrics::error::MetricsError;
use crate::metrics::instruments::QueryMetrics;
use crate::metrics::query::UsageQuery;
use crate::telemetry::{PERIOD, RateLimited};
use evenkeel_clock::{self as clock, Clock};
use evenkeel_core::units::Bytes;
use evenkeel_kubernetes::kubelet_stats::{self, DiskUse};

/// Concurrent kubelet queries: 5,000 nodes take five minutes at half a second each; an answer for
/// 110 Pods has some 300 KB.
const AT_ONCE: usize = 8;

/// The longest answer: one of 250 Pods with several containers and volumes each is 2 MB.
const LONGEST: Bytes = Bytes(16 * 1024 * 1024);

/// The port of kubelets that tell none.
const PORT: u16 = 10250;

/// The time between two looks for kubelets that are due.
const LOOK: SignedDuration = SignedDuration::from_secs(5);

/// How kubelets are spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub access: EndpointAccess,
    /// The longest that one may take to answer.
    pub timeout: Duration,
}

/// Where a node's kubelet listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kubelet {
    pub node: Box<str>,
    pub address: IpAddr,
    pub port: Option<u16>,
}

/// The task that asks the kubelets of all nodes in turns.
pub struct KubeletPoller {
    client: Arc<KubeletClient>,
    disks: Disks,
    clock: Clock,
    metrics: QueryMetrics,
    faults: RateLimited<&'static str>,
}

struct KubeletClient {
    access: AccessClient,
    tokens: Option<AccountTokens>,
    timeout: Duration,
}

struct KubeletQueryResult {
    node: Box<str>,
    took: Duration,
    outcome: Result<DiskUse, MetricsError>,
}

impl KubeletPoller {
    /// A poller that puts answers into `disks`. It shows `tokens` if the settings name no
    /// credentials.
    #[must_use]
    pub fn new(
        settings: Settings,
        tokens: Option<AccountTokens>,
        disks: Disks,
        clock: Clock,
        metrics: QueryMetrics,
    ) -> Self {
        let Settings { access, timeout } = settings;
        Self {
            client: Arc::new(KubeletClient {
                access: AccessClient::new(access),
                tokens,
                timeout,
            }),
            disks,
            clock,
            metrics,
            faults: RateLimited::new(PERIOD),
        }
    }

    /// Asks for as long as it is polled; `kubelets` are those of the nodes that there are.
    pub async fn run(self, kubelets: impl Fn() -> Vec<Kubelet>) {
        let mut looks = self.clock.ticks(LOOK);
        let (mut agenda, mut under_way) = (KubeletSchedule::default(), JoinSet::new());
        let mut due: Vec<Kubelet> = Vec::new();
        loop {
            tokio::select! {
                () = looks.tick() => due = self.look(&mut agenda, kubelets()),
                Some(joined) = under_way.join_next() => match joined {
                    Ok(asked) => self.take(asked, &mut agenda),
                    Err(error) => if let Ok(panic) = error.try_into_panic() {
                        std::panic::resume_unwind(panic);
                    },
                },
            }
            while under_way.len() < AT_ONCE
                && let Some(kubelet) = due.pop()
            {
                agenda.begin(&kubelet.node);
                let client = Arc::clone(&self.client);
                under_way.spawn(async move { client.ask(kubelet).await });
            }
        }
    }

    /// The kubelets that are due, the last one first.
    fn look(&self, agenda: &mut KubeletSchedule, kubelets: Vec<Kubelet>) -> Vec<Kubelet> {
        let names = kubelets.iter().map(|kubelet| &*kubelet.node);
        let due = agenda.due(names, self.clock.now());
        let mut by_name: std::collections::HashMap<Box<str>, Kubelet> = kubelets
            .into_iter()
            .map(|kubelet| (kubelet.node.clone(), kubelet))
            .collect();
        self.disks.retain(|name| by_name.contains_key(name));
        due.iter()
            .rev()
            .filter_map(|name| by_name.remove(name))
            .collect()
    }

    fn take(&self, asked: KubeletQueryResult, agenda: &mut KubeletSchedule) {
        let KubeletQueryResult {
            node,
            took,
            outcome,
        } = asked;
        let query = UsageQuery::KubeletDisk.as_str();
        let failed = outcome.as_ref().err().map(MetricsError::reason);
        self.metrics.observe_call(query, took, failed);
        let now: Timestamp = self.clock.now();
        agenda.end(&node, now, outcome.is_ok());
        match outcome {
            Ok(answer) => {
                if answer.unreadable.count > 0
                    && let Some(suppressed) = self.faults.permit("Unreadable", clock::instant())
                {
                    let unreadable = &answer.unreadable;
                    tracing::warn!(%node, %unreadable, suppressed, "Pods in a kubelet's answer were left out");
                }
                self.disks.put(&node, &answer, now);
            }
            Err(error) => {
                if let Some(suppressed) = self.faults.permit(error.reason(), clock::instant()) {
                    tracing::warn!(
                        %node,
                        reason = error.reason(),
                        %error,
                        suppressed,
                        "a kubelet does not report the disk use of its Pods"
                    );
                }
            }
        }
    }
}

impl KubeletClient {
    async fn ask(&self, kubelet: Kubelet) -> KubeletQueryResult {
        let begun = clock::instant();
        let outcome = self.disk_use(&kubelet).await;
        KubeletQueryResult {
            node: kubelet.node,
            took: begun.elapsed(),
            outcome,
        }
    }

    async fn disk_use(&self, kubelet: &Kubelet) -> Result<DiskUse, MetricsError> {
        let Kubelet {
            node,
            address,
            port,
        } = kubelet;
        let host = match address {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        };
        let unaskable = |error: hyper::http::Error| MetricsError::Client(error.into());
        let port = port.unwrap_or(PORT);
        let uri = Uri::try_from(format!("https://{host}:{port}/stats/summary"));
        let uri = uri.map_err(|error| unaskable(error.into()))?;
        let (http, mut authorization) = self.access.open(&uri).await?;
        if let (Some(tokens), None) = (&self.tokens, &authorization) {
            authorization = Some(tokens.header(None).await?);
        }
        // The next query comes in minutes, and kept connections to each of 5,000 nodes would wait.
        let mut request = Request::get(uri).header(CONNECTION, "close");
        if let Some(value) = authorization {
            request = request.header(AUTHORIZATION, value);
        }
        let request = request.body(String::new().into()).map_err(unaskable)?;
        let response = http.send(request, self.timeout).await?;
        let status = response.status();
        let limit = usize::try_from(LONGEST.0).unwrap_or(usize::MAX);
        let body = response.bytes(limit).await?;
        if status != StatusCode::OK {
            return Err(refusal(status, &body));
        }
        let found = kubelet_stats::disk_use(&body)
            .map_err(|error| MetricsError::malformed(&error, &body))?;
        if *found.node != **node {
            let cause = format!("it is the kubelet of node {:?}", found.node);
            return Err(MetricsError::malformed(&cause, &body));
        }
        Ok(found)
    }
}
