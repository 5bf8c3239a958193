//! Short-lived tokens of ServiceAccounts that no Pod uses, for external endpoints. An endpoint can
//! use a token that it receives, so Evenkeel never sends its own, but one of an account with
//! minimal rights, for a few minutes, and with an endpoint other than the API server as its
//! audience.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use evenkeel_clock as clock;
use evenkeel_http_client::HeaderValue;
use evenkeel_objects::truncate::excerpt;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use kube::api::PostParams;

/// The life of a token: the shortest that the API server gives.
const LIFE: Duration = Duration::from_mins(10);

/// The time for which a token is shown; the rest of its life is for answers under way.
const SHOWN: Duration = Duration::from_mins(8);

/// The most audiences for which a token is kept.
const MOST: usize = 1000;

/// The longest text of the API server that an error repeats, in characters.
const EXCERPT: usize = 200;

#[derive(Debug, thiserror::Error)]
#[error("no token of the ServiceAccount {account}: {cause}")]
pub struct TokenError {
    account: &'static str,
    cause: String,
}

/// Tokens of one account, one at a time for each audience.
pub struct AccountTokens {
    accounts: Api<ServiceAccount>,
    account: &'static str,
    known: Mutex<HashMap<Audience, Arc<AudienceTokenSlot>>>,
}

/// The audience of a token; `None` for the API server.
type Audience = Option<Arc<str>>;

struct AudienceTokenSlot {
    token: tokio::sync::Mutex<Option<Token>>,
    wanted: Mutex<Instant>,
}

struct Token {
    header: HeaderValue,
    made: Instant,
}

impl AccountTokens {
    /// Those of `account` in `namespace`; none has been made yet.
    pub fn new(client: kube::Client, namespace: &str, account: &'static str) -> Self {
        Self {
            accounts: Api::namespaced(client, namespace),
            account,
            known: Mutex::default(),
        }
    }

    /// The value of `Authorization` for an audience. Concurrent callers share one request.
    ///
    /// # Errors
    /// The API server makes no token.
    pub async fn header(&self, audience: Option<&str>) -> Result<HeaderValue, TokenError> {
        let audience: Audience = audience.map(Into::into);
        let place = self.place(&audience);
        let mut token = place.token.lock().await;
        if let Some(token) = token.as_ref().filter(|token| token.made.elapsed() < SHOWN) {
            return Ok(token.header.clone());
        }
        let made = clock::instant();
        let header = self.make(audience.as_deref()).await?;
        *token = Some(Token {
            header: header.clone(),
            made,
        });
        Ok(header)
    }

    /// The place of an audience's token. If there are too many, the least recently used goes.
    fn place(&self, audience: &Audience) -> Arc<AudienceTokenSlot> {
        let now = clock::instant();
        let mut known = locked(&self.known);
        if let Some(place) = known.get(audience) {
            *locked(&place.wanted) = now;
            return Arc::clone(place);
        }
        if known.len() >= MOST {
            let oldest = known.iter().min_by_key(|(_, place)| *locked(&place.wanted));
            if let Some(oldest) = oldest.map(|(audience, _)| audience.clone()) {
                known.remove(&oldest);
            }
        }
        let place = Arc::new(AudienceTokenSlot {
            token: tokio::sync::Mutex::new(None),
            wanted: Mutex::new(now),
        });
        known.insert(audience.clone(), Arc::clone(&place));
        place
    }

    async fn make(&self, audience: Option<&str>) -> Result<HeaderValue, TokenError> {
        let request = TokenRequest {
            spec: TokenRequestSpec {
                audiences: audience.into_iter().map(ToOwned::to_owned).collect(),
                expiration_seconds: i64::try_from(LIFE.as_secs()).ok(),
                ..TokenRequestSpec::default()
            },
            ..TokenRequest::default()
        };
        let made = self
            .accounts
            .create_token_request(self.account, &PostParams::default(), &request)
            .await
            .map_err(|error| self.refusal(&error))?;
        let status = made.status;
        let status = status.ok_or_else(|| self.unusable("the answer has no token"))?;
        let mut header = HeaderValue::from_str(&format!("Bearer {}", status.token))
            .map_err(|_| self.unusable("characters that no HTTP header can hold"))?;
        header.set_sensitive(true);
        Ok(header)
    }

    fn refusal(&self, error: &kube::Error) -> TokenError {
        match error {
            kube::Error::Api(status) => self.unusable(&status.message),
            other => self.unusable(&other.to_string()),
        }
    }

    fn unusable(&self, cause: &str) -> TokenError {
        TokenError {
            account: self.account,
            cause: excerpt(cause.trim(), EXCERPT),
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http_body_util::BodyExt as _;
    use hyper::{Request, Response};
    use kube::client::Body;
    use serde_json::{Value, json};

    use super::*;

    /// Tokens of an API server that names in each the audience and how many it has made.
    fn tokens() -> AccountTokens {
        let count = Arc::new(Mutex::new(0));
        let service = tower::service_fn(move |request: Request<Body>| {
            let count = Arc::clone(&count);
            async move {
                assert_eq!(
                    request.uri().path(),
                    "/api/v1/namespaces/keel/serviceaccounts/askers/token"
                );
                let body = request.into_body().collect().await.unwrap().to_bytes();
                let asked: Value = serde_json::from_slice(&body).unwrap();
                assert_eq!(asked["spec"]["expirationSeconds"], 600);
                let audience = asked["spec"]["audiences"][0].as_str().unwrap_or("own");
                let number = {
                    let mut count = locked(&count);
                    *count += 1;
                    *count
                };
                let token = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
                    "metadata": {}, "spec": {"audiences": []}, "status": {
                        "token": format!("{audience}-{number}"),
                        "expirationTimestamp": "2100-01-01T00:00:00Z"}});
                let body = Body::from(token.to_string().into_bytes());
                Ok::<_, Infallible>(Response::builder().status(201).body(body).unwrap())
            }
        });
        AccountTokens::new(kube::Client::new(service, "default"), "keel", "askers")
    }

    async fn shown(tokens: &AccountTokens, audience: Option<&str>) -> String {
        let header = tokens.header(audience).await.unwrap();
        assert!(header.is_sensitive());
        header.to_str().unwrap().to_owned()
    }

    #[tokio::test]
    async fn each_audience_has_a_token_of_its_own_which_is_made_once() {
        let tokens = tokens();
        for _ in 0..2 {
            assert_eq!(shown(&tokens, Some("a")).await, "Bearer a-1");
            assert_eq!(shown(&tokens, Some("b")).await, "Bearer b-2");
            assert_eq!(shown(&tokens, None).await, "Bearer own-3");
        }
    }

    /// Audiences are named by tenants.
    #[tokio::test]
    async fn the_tokens_that_are_kept_are_bounded_and_the_one_longest_unwanted_goes() {
        let tokens = tokens();
        for number in 0..MOST {
            shown(&tokens, Some(&number.to_string())).await;
        }
        assert_eq!(shown(&tokens, Some("0")).await, "Bearer 0-1");
        shown(&tokens, Some("one-more")).await;
        assert_eq!(locked(&tokens.known).len(), MOST);
        assert_eq!(shown(&tokens, Some("0")).await, "Bearer 0-1");
        assert_ne!(shown(&tokens, Some("1")).await, "Bearer 1-2");
    }
}
