//! The API server's verdicts on users' requests, held for a while.

use k8s_openapi::api::authentication::v1::UserInfo;
use k8s_openapi::api::authorization::v1::ResourceAttributes;
use kube::Client;
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;

use crate::server::access_reviews::{
    AccessReviews, AuthorizationAttributes, HeldVerdicts, REVIEW_TIME, ReviewDigest,
};
use crate::telemetry::RateLimited;
use evenkeel_clock as clock;

/// Verdicts that are held: a user's on one right each.
const MOST_HELD: u64 = 16 * 1024;

/// Concurrent reviews. The API server has already identified these callers, so no strangers need to
/// be limited.
const AT_ONCE: usize = 8;

#[derive(Debug)]
pub struct Rights {
    reviews: AccessReviews,
    verdicts: HeldVerdicts<AccessDeniedError>,
    turns: Semaphore,
    warned: RateLimited<()>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AccessDeniedError {
    #[error("the API server does not allow it")]
    Forbidden,
    #[error("the API server cannot be asked for the caller's rights")]
    Unreviewed,
}

impl Rights {
    /// The rights that the API server behind `client` tells.
    pub fn new(client: Client) -> Self {
        Self {
            reviews: AccessReviews::new(client),
            verdicts: HeldVerdicts::new(MOST_HELD),
            turns: Semaphore::new(AT_ONCE),
            warned: RateLimited::default(),
        }
    }

    /// Checks that `user` may do what `attempt` says.
    ///
    /// # Errors
    /// The user may not, or the API server cannot be asked.
    pub(crate) async fn check(
        &self,
        user: UserInfo,
        attempt: ResourceAttributes,
    ) -> Result<(), AccessDeniedError> {
        let on = digest(&user, &attempt);
        let review = self.review(user, attempt);
        self.verdicts.get(on, clock::runtime(), review).await
    }

    async fn review(
        &self,
        user: UserInfo,
        attempt: ResourceAttributes,
    ) -> Result<Result<(), AccessDeniedError>, AccessDeniedError> {
        let reviewed = async {
            let turn = self.turns.acquire().await;
            let _turn = turn.expect("the semaphore is never closed");
            self.reviews
                .may(user, AuthorizationAttributes::Resource(Box::new(attempt)))
                .await
        };
        match tokio::time::timeout(REVIEW_TIME, reviewed).await {
            Ok(Ok(true)) => Ok(Ok(())),
            Ok(Ok(false)) => Ok(Err(AccessDeniedError::Forbidden)),
            Ok(Err(error)) => Err(self.failed(&error.to_string())),
            Err(_) => Err(self.failed("no answer in time")),
        }
    }

    /// The denial where the API server did not answer, which is logged now and then.
    fn failed(&self, error: &str) -> AccessDeniedError {
        if let Some(suppressed) = self.warned.permit((), clock::instant()) {
            tracing::warn!(error, suppressed, "a caller could not be authorised");
        }
        AccessDeniedError::Unreviewed
    }
}

fn digest(user: &UserInfo, attempt: &ResourceAttributes) -> ReviewDigest {
    let UserInfo {
        extra,
        groups,
        uid,
        username,
    } = user;
    let all = serde_json::json!([extra, groups, uid, username, attempt]);
    Sha256::digest(all.to_string()).into()
}
