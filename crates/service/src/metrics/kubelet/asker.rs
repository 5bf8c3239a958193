//! Asks the kubelets, a few at a time.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_clock as clock;
use evenkeel_clock::Clock;
use evenkeel_http_client::header::{AUTHORIZATION, CONNECTION};
use evenkeel_http_client::{Request, StatusCode, Uri};
use evenkeel_metrics::kubelet_stats;
use evenkeel_metrics::kubelet_stats::DiskUse;
use evenkeel_units::Bytes;
use jiff::SignedDuration;

use super::disks::Disks;
use crate::account_tokens::AccountTokens;
use crate::metrics::access::{AccessClient, EndpointAccess};
use crate::metrics::api_call::refusal;
use crate::metrics::error::MetricsError;
use crate::metrics::instruments::QueryMetrics;
use crate::metrics::query::UsageQuery;
use crate::metrics::query_queue::{Backoff, LanePolicy, QueryEnd, QueryQueue, QueueKey};
use crate::metrics::query_runner::{EndedQuery, QueryRunner};
use crate::telemetry::{PERIOD, RateLimited};

/// The time between two questions to a kubelet. Disks fill slowly, and to look at them costs a walk over
/// every emptyDir.
pub const INTERVAL: SignedDuration = SignedDuration::from_mins(5);

/// Kubelets that are asked at once: 5,000 nodes are through within five minutes if each takes half a
/// second, and an answer for 110 Pods is some 300 KB.
const LANE: LanePolicy = LanePolicy {
    at_once: 8,
    // All that waits is wanted, and there are no more kubelets than nodes.
    waiting: usize::MAX,
    slow_after: None,
    backoff: Backoff::Every {
        every: INTERVAL,
        first: SignedDuration::from_mins(1),
    },
};

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
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Kubelet {
    pub node: Box<str>,
    pub address: IpAddr,
    pub port: Option<u16>,
}

impl QueueKey for Kubelet {}

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

type KubeletQueryResult = Result<DiskUse, MetricsError>;

impl KubeletPoller {
    /// A poller that puts answers into `disks`. It shows `tokens` if the settings name no
    /// credentials.
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
        let mut runner = QueryRunner::new([LANE]);
        loop {
            tokio::select! {
                () = looks.tick() => self.look(&kubelets(), &mut runner.queue),
                Some(ended) = runner.ended() => self.take(ended, &mut runner.queue),
            }
            runner.begin(|kubelet| {
                let (client, kubelet) = (Arc::clone(&self.client), kubelet.clone());
                async move { client.disk_use(&kubelet).await }
            });
        }
    }

    fn look(&self, kubelets: &[Kubelet], queue: &mut QueryQueue<Kubelet>) {
        queue.want(kubelets.iter(), self.clock.now());
        let nodes: HashSet<&str> = kubelets.iter().map(|kubelet| &*kubelet.node).collect();
        self.disks.retain(|name| nodes.contains(name));
    }

    fn take(
        &self,
        ended: EndedQuery<Kubelet, KubeletQueryResult>,
        queue: &mut QueryQueue<Kubelet>,
    ) {
        let EndedQuery { key, took, answer } = ended;
        let query = UsageQuery::KubeletDisk.as_str();
        let failed = answer.as_ref().err().map(MetricsError::reason);
        self.metrics.observe_call(query, took, failed);
        let now = self.clock.now();
        let answered = answer.is_ok();
        queue.ended(&key, QueryEnd { answered, took }, now);
        let node = key.node;
        match answer {
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
