//! Who may ask for values: whom the API server's front proxy introduces, and whom the API server lets
//! list the metric.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::request::Parts;
use k8s_openapi::api::authentication::v1::UserInfo;
use k8s_openapi::api::authorization::v1::ResourceAttributes;
use kube::Client;
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;

use super::front_proxy::CallerHeaders;
use crate::server::reviews::{AccessReviews, Attempt, Digested, HeldVerdicts, REVIEW_TIME};
use crate::server::tls::{Authority, Peer};
use crate::telemetry::RateLimited;
use evenkeel_clock as clock;
use evenkeel_kubernetes::external_metrics::Refusal;
use evenkeel_kubernetes::kinds::Kind;

/// Verdicts that are held: a user's on one metric of one namespace each.
const MOST_HELD: u64 = 16 * 1024;

/// Reviews that are under way at a time. Whoever gets here has been authorised by the API server once
/// already, so that there are no strangers to guard against.
const AT_ONCE: usize = 8;

/// Decides who may ask.
#[derive(Debug)]
pub struct Access {
    headers: CallerHeaders,
    reviews: AccessReviews,
    verdicts: HeldVerdicts<Refusal>,
    turns: Semaphore,
    warned: RateLimited<()>,
}

impl Access {
    /// Those whom the API server behind `client` lets ask, introduced by `headers`.
    #[must_use]
    pub fn new(client: Client, headers: CallerHeaders) -> Self {
        Self {
            headers,
            reviews: AccessReviews::new(client),
            verdicts: HeldVerdicts::new(MOST_HELD),
            turns: Semaphore::new(AT_ONCE),
            warned: RateLimited::default(),
        }
    }

    /// The caller that the front proxy introduces. Without the proxy's certificate its headers are
    /// anybody's words.
    ///
    /// # Errors
    /// A connection that is not the front proxy's, or a caller without a name.
    pub(super) fn caller(&self, request: &Parts) -> Result<UserInfo, Refusal> {
        let refused = |why: &str| Refusal::Unauthenticated(why.to_owned());
        let peer = request.extensions.get::<Arc<Peer>>();
        let peer = peer.ok_or_else(|| refused("callers show a certificate, over TLS"))?;
        peer.authorise(Authority::FrontProxy, clock::now())
            .map_err(|error| refused(&error.to_string()))?;
        let names = self.headers.names();
        let names = names.ok_or_else(|| refused("the API server tells no headers of callers"))?;
        let caller = names.caller(&texts(&request.headers));
        caller.ok_or_else(|| refused("the front proxy names no user"))
    }

    /// Checks that `user` may list `metric` in `namespace`.
    ///
    /// # Errors
    /// The user may not, or the API server cannot be asked.
    pub(super) async fn authorise(
        &self,
        user: UserInfo,
        namespace: &str,
        metric: &str,
    ) -> Result<(), Refusal> {
        let on = digest(&user, namespace, metric);
        let review = self.review(user, namespace, metric);
        self.verdicts.get(on, clock::runtime(), review).await
    }

    async fn review(
        &self,
        user: UserInfo,
        namespace: &str,
        metric: &str,
    ) -> Result<Result<(), Refusal>, Refusal> {
        let name = user.username.clone().unwrap_or_default();
        let attempt = ResourceAttributes {
            group: Some(Kind::ExternalMetrics.group().to_owned()),
            version: Some(Kind::ExternalMetrics.version().to_owned()),
            resource: Some(metric.to_owned()),
            namespace: Some(namespace.to_owned()),
            verb: Some("list".to_owned()),
            ..ResourceAttributes::default()
        };
        let reviewed = async {
            let turn = self.turns.acquire().await;
            let _turn = turn.expect("the semaphore is never closed");
            self.reviews
                .may(user, Attempt::Resource(Box::new(attempt)))
                .await
        };
        match tokio::time::timeout(REVIEW_TIME, reviewed).await {
            Ok(Ok(true)) => Ok(Ok(())),
            Ok(Ok(false)) => Ok(Err(Refusal::Forbidden {
                user: name,
                metric: metric.to_owned(),
                namespace: namespace.to_owned(),
            })),
            Ok(Err(error)) => Err(self.failed(&error.to_string())),
            Err(_) => Err(self.failed("no answer in time")),
        }
    }

    /// The refusal where the API server did not answer, which is logged now and then.
    fn failed(&self, error: &str) -> Refusal {
        if let Some(suppressed) = self.warned.permit((), clock::instant()) {
            tracing::warn!(
                error,
                suppressed,
                "a reader of external metrics could not be authorised"
            );
        }
        Refusal::Unreviewed("the API server cannot be asked whether the caller may".to_owned())
    }
}

/// The headers that are text, in the order in which they came.
fn texts(headers: &HeaderMap) -> Vec<(&str, &str)> {
    let texts = headers.iter().filter_map(|(name, value)| {
        let value = std::str::from_utf8(value.as_bytes()).ok()?;
        Some((name.as_str(), value))
    });
    texts.collect()
}

fn digest(user: &UserInfo, namespace: &str, metric: &str) -> Digested {
    let UserInfo {
        extra,
        groups,
        uid,
        username,
    } = user;
    let all = serde_json::json!([extra, groups, uid, username, namespace, metric]);
    Sha256::digest(all.to_string()).into()
}
