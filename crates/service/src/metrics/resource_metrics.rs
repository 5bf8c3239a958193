//! Calls of `metrics.k8s.io` in the version that the cluster serves: `v1beta1`, newer ones also
//! `v1`, in time `v1` alone, all of one form. The version that answered last is asked first.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::api_call::{self, ApiCallBody, ApiCallLimits, LongAnswers};
use super::error::MetricsError;

const VERSIONS: [&str; 2] = ["v1beta1", "v1"];

/// The resource metrics of a cluster; clones share what is known of its version.
#[derive(Clone)]
pub(super) struct ResourceMetrics {
    client: kube::Client,
    bounds: ApiCallLimits,
    /// The position of the version that answered last.
    served: Arc<AtomicUsize>,
}

impl ResourceMetrics {
    /// Those behind `client`, with nothing known of their version.
    pub(super) fn new(client: kube::Client, bounds: ApiCallLimits) -> Self {
        Self {
            client,
            bounds,
            served: Arc::default(),
        }
    }

    /// The answer at a path below the version, such as `namespaces/shop/pods`.
    ///
    /// # Errors
    /// The call fails, or no version is served.
    pub(super) async fn get(&self, path: &str) -> Result<Vec<u8>, MetricsError> {
        Ok(self.get_among(path, None).await?.body)
    }

    /// The same as one of many calls, which share the places for long answers.
    pub(super) async fn get_among(
        &self,
        path: &str,
        long: Option<&LongAnswers>,
    ) -> Result<ApiCallBody, MetricsError> {
        let first = self.served.load(Ordering::Relaxed) % VERSIONS.len();
        let refused = match self.call(first, path, long).await {
            Err(refused @ MetricsError::NotServed { .. }) => refused,
            outcome => return outcome,
        };
        let other = (first + 1) % VERSIONS.len();
        match self.call(other, path, long).await {
            Err(MetricsError::NotServed { .. }) => Err(refused),
            Ok(answer) => {
                self.served.store(other, Ordering::Relaxed);
                Ok(answer)
            }
            Err(error) => Err(error),
        }
    }

    async fn call(
        &self,
        version: usize,
        path: &str,
        long: Option<&LongAnswers>,
    ) -> Result<ApiCallBody, MetricsError> {
        let version = VERSIONS.get(version).copied().unwrap_or_default();
        let path = format!("/apis/metrics.k8s.io/{version}/{path}");
        api_call::get_among(&self.client, &path, self.bounds, long).await
    }
}
