//! Calls the endpoints that checks name.

use std::sync::OnceLock;

use async_trait::async_trait;
use evenkeel_http_client as http;
use evenkeel_http_client::header::{ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_TYPE};
use evenkeel_http_client::{Request, StatusCode, TrustAnchors};
use evenkeel_objects::truncate::excerpt;
use evenkeel_scaling::external_checks::{ChangeAsked, CheckAnswer, CheckQuestion, StepCheckAnswer};
use evenkeel_scaling::specs::ihpa::Endpoint;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Service;
use kube::Api;

use super::Settings;
use super::address::{CheckAddress, cluster_ip};
use super::error::CheckError;
use crate::account_tokens::AccountTokens;
use crate::metrics::target_queries::TargetQuerySource;

/// The ServiceAccount of the tokens for checks: it has no right at all.
const ACCOUNT: &str = "evenkeel-checks";

const LONGEST: usize = 64 * 1024;

/// The characters of an error of the API server that are repeated.
const TOLD: usize = 200;

pub struct CheckSource {
    settings: Settings,
    client: kube::Client,
    tokens: AccountTokens,
    /// The client that trusts the system's authorities.
    public: OnceLock<http::PooledHttpClient>,
}

struct CheckEndpointClient {
    address: CheckAddress,
    http: http::PooledHttpClient,
}

impl CheckSource {
    /// A source that has made no call yet; `namespace` is Evenkeel's own.
    pub fn new(settings: Settings, client: kube::Client, namespace: &str) -> Self {
        Self {
            settings,
            tokens: AccountTokens::new(client.clone(), namespace, ACCOUNT),
            client,
            public: OnceLock::new(),
        }
    }

    async fn asked(
        &self,
        namespace: &str,
        endpoint: &Endpoint,
    ) -> Result<CheckEndpointClient, CheckError> {
        match endpoint {
            Endpoint::Url(url) => {
                let address = CheckAddress::of_url(url, &self.settings)?;
                let http = match address.uri.scheme_str() {
                    Some("http") => http::PooledHttpClient::plain(),
                    _ => self.public()?,
                };
                Ok(CheckEndpointClient { address, http })
            }
            Endpoint::Service {
                name,
                port,
                path,
                ca,
            } => {
                let scheme = if ca.is_some() { "https" } else { "http" };
                let address = CheckAddress::of_service(scheme, namespace, name, *port, path)?;
                let service = self.service(namespace, name).await?;
                let found = cluster_ip(&service, *port).map_err(|why| CheckError::Service {
                    name: name.clone(),
                    why,
                })?;
                let trust = ca
                    .as_deref()
                    .map(|pem| TrustAnchors::Authorities(pem.as_bytes()));
                let http = http::PooledHttpClient::pinned(found, trust)?;
                Ok(CheckEndpointClient { address, http })
            }
        }
    }

    /// The newest word of the API server: a watch would keep all Services, and may be behind.
    async fn service(&self, namespace: &str, name: &str) -> Result<Service, CheckError> {
        let services: Api<Service> = Api::namespaced(self.client.clone(), namespace);
        let found = services.get_opt(name).await;
        let found = found.map_err(|error| CheckError::Unread {
            name: name.to_owned(),
            cause: match error {
                kube::Error::Api(status) => excerpt(&status.message, TOLD),
                other => excerpt(&other.to_string(), TOLD),
            },
        })?;
        found.ok_or_else(|| CheckError::Service {
            name: name.to_owned(),
            why: "does not exist",
        })
    }

    fn public(&self) -> Result<http::PooledHttpClient, CheckError> {
        if let Some(known) = self.public.get() {
            return Ok(known.clone());
        }
        let built = http::PooledHttpClient::new(TrustAnchors::System, None)?;
        Ok(self.public.get_or_init(|| built).clone())
    }
}

#[async_trait]
impl TargetQuerySource<CheckQuestion> for CheckSource {
    async fn fetch(
        &self,
        question: &CheckQuestion,
        purpose: Option<&ChangeAsked>,
        _: Timestamp,
    ) -> Result<StepCheckAnswer, CheckError> {
        let change = purpose.ok_or(CheckError::NoChange)?;
        let check = &question.asked;
        let asked = self.asked(&question.namespace, &check.endpoint).await?;
        let CheckEndpointClient { address, http } = asked;
        let token = self.tokens.header(Some(&address.audience)).await?;
        // The next question comes with the next tick, and the Service may be another by then.
        let request = Request::post(address.uri)
            .header(AUTHORIZATION, token)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            .header(CONNECTION, "close")
            .body(change.body(question).into())
            .map_err(http::Error::Request)?;
        let response = http.send(request, check.timeout.unsigned_abs()).await?;
        match response.status() {
            StatusCode::OK => {}
            other if other.is_redirection() => return Err(CheckError::Redirect(other.as_u16())),
            other => return Err(CheckError::Status(other.as_u16())),
        }
        let body = response.bytes(LONGEST).await?;
        Ok(StepCheckAnswer {
            answer: CheckAnswer::read(&body)?,
            stepped: change.stepped,
        })
    }
}

#[cfg(test)]
mod tests;
