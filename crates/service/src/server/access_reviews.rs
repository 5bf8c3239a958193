//! The API server's verdicts on users' requests, held briefly: not every call depends on its
//! answer, and a revoked right soon ends.

use std::fmt;
use std::time::Duration;

use k8s_openapi::api::authentication::v1::UserInfo;
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};
use moka::future::Cache;
use tokio::time::Instant;

use evenkeel_clock as clock;

/// The length of the periods; all verdicts end with their period.
const HELD: Duration = Duration::from_secs(30);

/// Time limit of all reviews of one caller: Prometheus waits 10 s for a page, and the HPA
/// controller longer for a metric.
pub(crate) const REVIEW_TIME: Duration = Duration::from_secs(5);

/// The hash of a verdict's subject, because the subject may hold secrets.
pub(crate) type ReviewDigest = [u8; 32];

/// Verdicts, each held until the end of a period; a refusal is `R`.
pub(crate) struct HeldVerdicts<R> {
    verdicts: Cache<(ReviewDigest, u64), Result<(), R>>,
    /// The beginning of the first period.
    begun: Instant,
}

impl<R> fmt::Debug for HeldVerdicts<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldVerdicts").finish_non_exhaustive()
    }
}

impl<R: Clone + Send + Sync + 'static> HeldVerdicts<R> {
    /// No verdict yet, and at most so many.
    pub(crate) fn new(most: u64) -> Self {
        Self {
            verdicts: Cache::builder()
                .max_capacity(most)
                .time_to_live(HELD)
                .build(),
            begun: clock::runtime(),
        }
    }

    /// The verdict on a request at `now`, by a review if none is held. Concurrent equal requests
    /// share one review; a failed one is not held.
    pub(crate) async fn get(
        &self,
        on: ReviewDigest,
        now: Instant,
        review: impl Future<Output = Result<Result<(), R>, R>>,
    ) -> Result<(), R> {
        let period = now.saturating_duration_since(self.begun).as_secs() / HELD.as_secs();
        let reviewed = self.verdicts.try_get_with((on, period), review).await;
        reviewed.unwrap_or_else(|failure| Err((*failure).clone()))
    }
}

/// The action that a user attempts.
#[derive(Debug, Clone)]
pub(crate) enum AuthorizationAttributes {
    Get(&'static str),
    /// Something with objects.
    Resource(Box<ResourceAttributes>),
}

/// Asks the API server whether users may do what they would do.
#[derive(Clone)]
pub(crate) struct AccessReviews(Api<SubjectAccessReview>);

impl fmt::Debug for AccessReviews {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AccessReviews").finish()
    }
}

impl AccessReviews {
    /// Reviews by the API server behind `client`.
    pub(crate) fn new(client: Client) -> Self {
        Self(Api::all(client))
    }

    /// True where `user` may.
    ///
    /// # Errors
    /// The API server does not answer.
    pub(crate) async fn may(
        &self,
        user: UserInfo,
        attempt: AuthorizationAttributes,
    ) -> kube::Result<bool> {
        let UserInfo {
            extra,
            groups,
            uid,
            username,
        } = user;
        let (path, resource) = match attempt {
            AuthorizationAttributes::Get(path) => (Some(path), None),
            AuthorizationAttributes::Resource(attributes) => (None, Some(*attributes)),
        };
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: username,
                uid,
                groups,
                extra,
                non_resource_attributes: path.map(|path| NonResourceAttributes {
                    path: Some(path.to_owned()),
                    verb: Some("get".to_owned()),
                }),
                resource_attributes: resource,
            },
            ..SubjectAccessReview::default()
        };
        let answer = self.0.create(&PostParams::default(), &review).await?;
        Ok(answer.status.is_some_and(|status| status.allowed))
    }
}
