//! Tokens that kubelets are shown.
//!
//! A kubelet, and whoever holds its node, could use what it is shown. So it is no token of Evenkeel's own
//! but one of a ServiceAccount that may read such figures and nothing else, made for a few minutes.

use std::time::{Duration, Instant};

use evenkeel_http_client::HeaderValue;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use kube::api::PostParams;
use tokio::sync::Mutex;

use crate::metrics::error::{MetricsError, excerpt};
use evenkeel_clock as clock;

/// The ServiceAccount in whose name kubelets are asked.
const ACCOUNT: &str = "evenkeel-kubelets";

/// The life of a token: the shortest that the API server gives.
const LIFE: Duration = Duration::from_mins(10);

/// The time for which a token is shown; the rest of its life is for answers under way.
const SHOWN: Duration = Duration::from_mins(8);

/// Tokens of the account, one at a time.
pub struct Tokens {
    accounts: Api<ServiceAccount>,
    known: Mutex<Option<Token>>,
}

struct Token {
    header: HeaderValue,
    made: Instant,
}

impl Tokens {
    /// None has been made yet; the account is in `namespace`.
    #[must_use]
    pub fn new(client: kube::Client, namespace: &str) -> Self {
        Self {
            accounts: Api::namespaced(client, namespace),
            known: Mutex::new(None),
        }
    }

    /// What is sent as `Authorization`; all who ask meanwhile wait for the one token that is being made.
    pub(super) async fn header(&self) -> Result<HeaderValue, MetricsError> {
        let mut known = self.known.lock().await;
        if let Some(token) = known.as_ref().filter(|token| token.made.elapsed() < SHOWN) {
            return Ok(token.header.clone());
        }
        let made = clock::instant();
        let header = self.make().await?;
        *known = Some(Token {
            header: header.clone(),
            made,
        });
        Ok(header)
    }

    async fn make(&self) -> Result<HeaderValue, MetricsError> {
        let request = TokenRequest {
            spec: TokenRequestSpec {
                expiration_seconds: i64::try_from(LIFE.as_secs()).ok(),
                ..TokenRequestSpec::default()
            },
            ..TokenRequest::default()
        };
        let made = self
            .accounts
            .create_token_request(ACCOUNT, &PostParams::default(), &request)
            .await
            .map_err(refusal)?;
        let unusable = |cause: &str| MetricsError::Token {
            account: ACCOUNT,
            cause: cause.to_owned(),
        };
        let status = made.status.ok_or_else(|| unusable("there is none in it"))?;
        let mut header = HeaderValue::from_str(&format!("Bearer {}", status.token))
            .map_err(|_| unusable("characters that no HTTP header can hold"))?;
        header.set_sensitive(true);
        Ok(header)
    }
}

fn refusal(error: kube::Error) -> MetricsError {
    let cause = match error {
        kube::Error::Api(status) => excerpt(&status.message),
        other => excerpt(&other.to_string()),
    };
    MetricsError::Token {
        account: ACCOUNT,
        cause,
    }
}
