//! Access to `/metrics`, which shows the names of namespaces and workloads. As for Kubernetes' own
//! components, the caller shows a bearer token: the API server names the token's user (TokenReview)
//! and says if this user may `get` the path (SubjectAccessReview). The verdict is kept briefly, so
//! that scrapes do not depend on every call and a revoked right soon ends. Without an answer of the
//! API server, only recently admitted readers are admitted. However many tokens strangers show, an
//! admitted reader is reviewed anew without delay.

mod token_review_limiter;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, StatusCode, header};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use kube::api::PostParams;
use kube::{Api, Client};
use moka::future::Cache;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use self::token_review_limiter::TokenReviewLimiter;
use super::access_reviews::{
    AccessReviews, AuthorizationAttributes, HeldVerdicts, REVIEW_TIME, ReviewDigest,
};
use super::paths;
use crate::telemetry::RateLimited;
use evenkeel_clock as clock;

/// Tokens with held answers: more than are reviewed in that time.
const MOST_HELD: u64 = 1024;

/// Tokens that are remembered as admitted, and the time after which an unused one is forgotten:
/// longer than an update of Prometheus takes.
const MOST_KNOWN: u64 = 256;
const KNOWN: Duration = Duration::from_hours(1);

/// A ServiceAccount's token has some 1,000 characters, other issuers' a few thousand.
const LONGEST_TOKEN: usize = 16 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MetricsAuthentication {
    /// By a bearer token that the API server judges, over HTTPS, since a token is a secret.
    #[default]
    Kubernetes,
    /// Not at all: every client that reaches the port reads them, in plain HTTP.
    None,
}

/// The clients that may read the metrics.
#[derive(Debug, Clone)]
pub enum ScrapeAccess {
    /// Every client that reaches the listener.
    Everybody,
    /// The clients that the API server authorises.
    Authorised(Arc<Reviewer>),
}

/// Cause for which a reader is not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScrapeRefusal {
    /// There is no token, or one that the API server does not know.
    #[error("a bearer token that the API server knows is required")]
    Unauthenticated,
    #[error(
        "the owner of the token may not get /metrics: bind the ClusterRole evenkeel-metrics-reader \
         to it"
    )]
    Forbidden,
    #[error("the API server cannot be asked to review the token")]
    Unavailable,
    /// Too many tokens are shown that were never admitted.
    #[error("too many other tokens are being reviewed")]
    Busy,
}

impl ScrapeRefusal {
    /// A short name for answers.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Unauthenticated => "Unauthenticated",
            Self::Forbidden => "Forbidden",
            Self::Unavailable => "ReviewUnavailable",
            Self::Busy => "ReviewsBusy",
        }
    }

    pub(super) const fn status(self) -> StatusCode {
        match self {
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::Unavailable | Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

impl ScrapeAccess {
    /// Access for clients that the API server behind `client` authorises.
    pub fn authorised(client: Client) -> Self {
        Self::Authorised(Arc::new(Reviewer::new(client)))
    }

    pub(super) async fn admit(&self, headers: &HeaderMap) -> Result<(), ScrapeRefusal> {
        match self {
            Self::Everybody => Ok(()),
            Self::Authorised(reviewer) => {
                let token = token(headers).ok_or(ScrapeRefusal::Unauthenticated)?;
                let attempt = AuthorizationAttributes::Get(paths::METRICS);
                reviewer.admit(token, &[attempt]).await
            }
        }
    }
}

/// The token of a request: a bearer, or the header that the API server's proxy passes on.
pub(crate) fn token(headers: &HeaderMap) -> Option<&str> {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| {
        let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(token)
    });
    let forwarded = || headers.get(paths::FORWARDED_TOKEN)?.to_str().ok();
    let token = bearer.or_else(forwarded)?.trim();
    (!token.is_empty() && token.len() <= LONGEST_TOKEN).then_some(token)
}

pub struct Reviewer {
    tokens: Api<TokenReview>,
    accesses: AccessReviews,
    /// By the digests of the tokens, which are secrets, and of what their owners would do.
    verdicts: HeldVerdicts<ScrapeRefusal>,
    /// Tokens that were admitted.
    known: Cache<ReviewDigest, ()>,
    turns: TokenReviewLimiter,
    warned: RateLimited<()>,
}

impl fmt::Debug for Reviewer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reviewer").finish_non_exhaustive()
    }
}

impl Reviewer {
    /// A reviewer that asks the API server behind `client`.
    pub(crate) fn new(client: Client) -> Self {
        Self {
            tokens: Api::all(client.clone()),
            accesses: AccessReviews::new(client),
            verdicts: HeldVerdicts::new(MOST_HELD),
            known: Cache::builder()
                .max_capacity(MOST_KNOWN)
                .time_to_idle(KNOWN)
                .build(),
            turns: TokenReviewLimiter::default(),
            warned: RateLimited::default(),
        }
    }

    /// Checks that the owner of a token may do all that is attempted.
    ///
    /// # Errors
    /// The API server does not know the token, does not allow it, or cannot be asked.
    pub(crate) async fn admit(
        &self,
        token: &str,
        attempts: &[AuthorizationAttributes],
    ) -> Result<(), ScrapeRefusal> {
        let digest: ReviewDigest = Sha256::digest(token).into();
        let mut on = Sha256::new_with_prefix(digest);
        on.update(format!("{attempts:?}"));
        let now = clock::runtime();
        let review = self.review(token, digest, attempts, now);
        self.verdicts.get(on.finalize().into(), now, review).await
    }

    /// The verdict on a token in its turn, and whether it has turns of its own from now on.
    async fn review(
        &self,
        token: &str,
        digest: ReviewDigest,
        attempts: &[AuthorizationAttributes],
        now: Instant,
    ) -> Result<Result<(), ScrapeRefusal>, ScrapeRefusal> {
        let reviewed = async {
            let _turn = match self.known.get(&digest).await {
                Some(()) => self.turns.known().await,
                None => self.turns.stranger(now).await.ok_or(ScrapeRefusal::Busy)?,
            };
            self.ask(token, attempts).await
        };
        let verdict = match tokio::time::timeout(REVIEW_TIME, reviewed).await {
            Ok(verdict) => verdict?,
            Err(_) => return Err(self.failed("no answer in time")),
        };
        match verdict {
            Ok(()) => self.known.insert(digest, ()).await,
            Err(_) => self.known.invalidate(&digest).await,
        }
        Ok(verdict)
    }

    async fn ask(
        &self,
        token: &str,
        attempts: &[AuthorizationAttributes],
    ) -> Result<Result<(), ScrapeRefusal>, ScrapeRefusal> {
        let asked = async {
            match self.owner(token).await? {
                Some(owner) => self.may(owner, attempts).await,
                None => Ok(Err(ScrapeRefusal::Unauthenticated)),
            }
        };
        let answer: kube::Result<_> = asked.await;
        answer.map_err(|error| self.failed(&error.to_string()))
    }

    /// The refusal where the API server did not answer, which is logged now and then.
    fn failed(&self, error: &str) -> ScrapeRefusal {
        if let Some(suppressed) = self.warned.permit((), clock::instant()) {
            tracing::warn!(
                error,
                suppressed,
                "the owner of a token could not be authenticated"
            );
        }
        ScrapeRefusal::Unavailable
    }

    async fn owner(&self, token: &str) -> kube::Result<Option<UserInfo>> {
        let review = TokenReview {
            spec: TokenReviewSpec {
                token: Some(token.to_owned()),
                audiences: None,
            },
            ..TokenReview::default()
        };
        let answer = self.tokens.create(&PostParams::default(), &review).await?;
        let status = answer.status.unwrap_or_default();
        let known = status.authenticated == Some(true);
        Ok(known.then(|| status.user.unwrap_or_default()))
    }

    async fn may(
        &self,
        owner: UserInfo,
        attempts: &[AuthorizationAttributes],
    ) -> kube::Result<Result<(), ScrapeRefusal>> {
        for attempt in attempts {
            if !self.accesses.may(owner.clone(), attempt.clone()).await? {
                return Ok(Err(ScrapeRefusal::Forbidden));
            }
        }
        Ok(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_found_in_either_header() {
        let of = |name: &str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(
                header::HeaderName::try_from(name).unwrap(),
                value.parse().unwrap(),
            );
            token(&headers).map(str::to_owned)
        };
        let long = "x".repeat(LONGEST_TOKEN + 1);
        for (name, value, expected) in [
            ("authorization", "Bearer abc", Some("abc")),
            ("authorization", "bearer  abc ", Some("abc")),
            ("authorization", "Basic abc", None),
            ("authorization", "Bearer", None),
            ("authorization", "Bearer  ", None),
            (paths::FORWARDED_TOKEN, "abc", Some("abc")),
            ("authorization", &format!("Bearer {long}"), None),
            ("x-other", "abc", None),
        ] {
            assert_eq!(of(name, value).as_deref(), expected, "{name}: {value}");
        }
    }
}
