//! HTTP to Prometheus: one query, one answer, with every way to fail told apart.
//!
//! Redirects are not followed and proxies of the environment are not used: either would send the
//! bearer token somewhere that nobody configured. The token and the CA are read anew, since
//! kubelet renews both in place.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{HeaderValue, LOCATION};
use reqwest::{Certificate, Response, StatusCode, Url, redirect};

use super::answer;
use super::range::Grid;
use crate::metrics::MetricsError;
use crate::metrics::error::excerpt;
use evenkeel_core::units::Bytes;

/// The most that is read of an answer that is not a success.
const ERROR_BODY: Bytes = Bytes(64 * 1024);

/// Where Prometheus is and how to speak to it.
#[derive(Debug, Clone)]
pub struct Connection {
    /// The base address; a path in it is kept, for servers behind a prefix.
    pub url: Url,
    /// A file with the bearer token, read anew for each round.
    pub bearer_token_file: Option<PathBuf>,
    /// A PEM file with the certificate authorities to trust, instead of the system's; read anew
    /// for each round.
    pub ca_file: Option<PathBuf>,
    /// The longest that one query may take.
    pub timeout: Duration,
    /// The longest answer that is read.
    pub body_limit: Bytes,
}

/// The HTTP client, built again when the CA file changes.
pub(super) struct Client {
    connection: Connection,
    endpoint: Url,
    range_endpoint: Url,
    built: Mutex<Option<Built>>,
}

#[derive(Clone)]
struct Built {
    ca: Option<Vec<u8>>,
    http: reqwest::Client,
}

/// The client as it is for one round.
pub(super) struct Session<'c> {
    client: &'c Client,
    http: reqwest::Client,
    authorization: Option<HeaderValue>,
}

impl Client {
    pub(super) fn new(connection: Connection) -> Self {
        let base = connection.url.path().trim_end_matches('/').to_owned();
        let of = |path: &str| {
            let mut url = connection.url.clone();
            url.set_path(&format!("{base}/api/v1/{path}"));
            url
        };
        Self {
            endpoint: of("query"),
            range_endpoint: of("query_range"),
            connection,
            built: Mutex::new(None),
        }
    }

    /// Reads the files and gets the client ready for some queries.
    pub(super) async fn session(&self) -> Result<Session<'_>, MetricsError> {
        let ca = match &self.connection.ca_file {
            Some(path) => Some(read(path).await?),
            None => None,
        };
        Ok(Session {
            client: self,
            http: self.http(ca)?,
            authorization: self.authorization().await?,
        })
    }

    fn http(&self, ca: Option<Vec<u8>>) -> Result<reqwest::Client, MetricsError> {
        let mut built = self
            .built
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(known) = built.as_ref().filter(|known| known.ca == ca) {
            return Ok(known.http.clone());
        }
        let http = self.build(ca.as_deref())?;
        *built = Some(Built {
            ca,
            http: http.clone(),
        });
        Ok(http)
    }

    fn build(&self, ca: Option<&[u8]>) -> Result<reqwest::Client, MetricsError> {
        let setup = |error: reqwest::Error| MetricsError::Client(error.into());
        let builder = reqwest::Client::builder()
            .timeout(self.connection.timeout)
            .redirect(redirect::Policy::none())
            .no_proxy();
        let builder = match ca {
            Some(pem) => {
                let certificates = Certificate::from_pem_bundle(pem).map_err(setup)?;
                if certificates.is_empty() {
                    return Err(MetricsError::Client(
                        "the CA file holds no certificate".into(),
                    ));
                }
                builder.tls_certs_only(certificates)
            }
            // An image without system roots can still speak plain HTTP.
            None if self.endpoint.scheme() == "http" => builder.tls_certs_only([]),
            None => builder,
        };
        builder.build().map_err(setup)
    }

    async fn authorization(&self) -> Result<Option<HeaderValue>, MetricsError> {
        let Some(path) = &self.connection.bearer_token_file else {
            return Ok(None);
        };
        let refused = |cause: &str| MetricsError::Credentials {
            path: path.clone(),
            cause: cause.to_owned(),
        };
        let content = read(path).await?;
        let token = str::from_utf8(&content)
            .map_err(|_| refused("not text"))?
            .trim();
        if token.is_empty() {
            return Err(refused("empty"));
        }
        let mut value = HeaderValue::from_str(&format!("Bearer {token}"))
            .map_err(|_| refused("characters that no HTTP header can hold"))?;
        value.set_sensitive(true);
        Ok(Some(value))
    }
}

async fn read(path: &PathBuf) -> Result<Vec<u8>, MetricsError> {
    tokio::fs::read(path)
        .await
        .map_err(|error| MetricsError::Credentials {
            path: path.clone(),
            cause: error.to_string(),
        })
}

impl Session<'_> {
    /// Asks for the instant vector of `promql` and returns the body of a success.
    pub(super) async fn query(&self, promql: &str) -> Result<Vec<u8>, MetricsError> {
        self.ask(&self.client.endpoint, &[("query", promql)]).await
    }

    /// Asks for `promql` at each point of `grid` and returns the body of a success.
    pub(super) async fn query_range(
        &self,
        promql: &str,
        grid: &Grid,
    ) -> Result<Vec<u8>, MetricsError> {
        let seconds = |time: Timestamp| {
            let since = time.duration_since(Timestamp::UNIX_EPOCH);
            format!("{}.{:03}", since.as_secs(), since.subsec_millis())
        };
        let step = format!("{}ms", grid.step.as_millis());
        let (start, end) = (seconds(grid.first), seconds(grid.last()));
        let form = [
            ("query", promql),
            ("start", &start),
            ("end", &end),
            ("step", &step),
        ];
        self.ask(&self.client.range_endpoint, &form).await
    }

    async fn ask(&self, endpoint: &Url, form: &[(&str, &str)]) -> Result<Vec<u8>, MetricsError> {
        let connection = &self.client.connection;
        // Prometheus gives up when we do, so that late answers do not pile up there.
        let patience = format!("{}ms", connection.timeout.as_millis());
        let mut form = form.to_vec();
        form.push(("timeout", &patience));
        let mut request = self.http.post(endpoint.clone()).form(&form);
        if let Some(value) = &self.authorization {
            request = request.header(reqwest::header::AUTHORIZATION, value.clone());
        }
        let response = request.send().await.map_err(transport)?;
        if response.status() == StatusCode::OK {
            return body(response, connection.body_limit).await;
        }
        Err(failure(response).await)
    }
}

/// What an answer with another status than 200 means.
async fn failure(response: Response) -> MetricsError {
    let status = response.status();
    if status.is_redirection() {
        let location = response.headers().get(LOCATION);
        let location = location.and_then(|value| value.to_str().ok()).unwrap_or("");
        return MetricsError::Redirect {
            status: status.as_u16(),
            location: excerpt(location),
        };
    }
    // Whatever the body is, even if it cannot be read, the status is what went wrong.
    let body = body(response, ERROR_BODY).await.unwrap_or_default();
    let text = || excerpt(&String::from_utf8_lossy(&body));
    if let Some(refusal) = answer::refusal(&body) {
        return refusal;
    }
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => MetricsError::Unauthorized {
            status: status.as_u16(),
        },
        StatusCode::NOT_FOUND => MetricsError::NotServed { excerpt: text() },
        _ => MetricsError::Status {
            status: status.as_u16(),
            excerpt: text(),
        },
    }
}

async fn body(mut response: Response, limit: Bytes) -> Result<Vec<u8>, MetricsError> {
    let most = usize::try_from(limit.0).unwrap_or(usize::MAX);
    let announced = response.content_length().unwrap_or(0);
    if announced > limit.0 {
        return Err(MetricsError::TooLarge { limit });
    }
    let mut body = Vec::with_capacity(usize::try_from(announced).unwrap_or(0));
    while let Some(chunk) = response.chunk().await.map_err(transport)? {
        if chunk.len() > most - body.len() {
            return Err(MetricsError::TooLarge { limit });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn transport(error: reqwest::Error) -> MetricsError {
    if error.is_timeout() {
        return MetricsError::Timeout;
    }
    let unconnected = error.is_connect();
    // The address may hold a password.
    let cause: Box<dyn Error + Send + Sync> = error.without_url().into();
    if unconnected {
        MetricsError::Connect(cause)
    } else {
        MetricsError::Transport(cause)
    }
}
