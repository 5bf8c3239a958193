//! HTTP to Prometheus: one query, one answer, with every way to fail told apart.

use std::time::Duration;

use evenkeel_http_client as http;
use evenkeel_http_client::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION};
use evenkeel_http_client::{HeaderMap, HeaderValue, Request, Response, StatusCode, Uri};
use evenkeel_units::Bytes;
use jiff::Timestamp;

use super::answer;
use super::grid::Grid;
use crate::metrics::access::{AccessClient, EndpointAccess};
use crate::metrics::api_call;
use crate::metrics::error::{MetricsError, excerpt};

/// The most that is read of an answer that is not a success.
const ERROR_BODY: Bytes = Bytes(64 * 1024);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrometheusConnection {
    /// The base address; a path in it is kept, for servers behind a prefix.
    pub url: Uri,
    /// Sent with each query, such as the tenant of a Mimir.
    pub headers: HeaderMap,
    pub access: EndpointAccess,
    /// The longest that one query may take.
    pub timeout: Duration,
    /// The longest answer that is read.
    pub body_limit: Bytes,
}

pub(super) struct PrometheusClient {
    connection: PrometheusConnection,
    access: AccessClient,
}

pub(super) struct Session<'c> {
    connection: &'c PrometheusConnection,
    http: http::PooledHttpClient,
    authorization: Option<HeaderValue>,
}

impl PrometheusClient {
    pub(super) fn new(connection: PrometheusConnection) -> Self {
        Self {
            access: AccessClient::new(connection.access.clone()),
            connection,
        }
    }

    /// Reads the files and gets the client ready.
    pub(super) async fn session(&self) -> Result<Session<'_>, MetricsError> {
        let (http, authorization) = self.access.open(&self.connection.url).await?;
        Ok(Session {
            connection: &self.connection,
            http,
            authorization,
        })
    }
}

impl Session<'_> {
    /// Asks for the instant vector of `promql` and returns the body of a success.
    pub(super) async fn query(&self, promql: &str) -> Result<Vec<u8>, MetricsError> {
        let limit = self.connection.body_limit;
        self.query_within(promql, limit).await
    }

    /// The same for an answer that is read up to another length than others.
    pub(super) async fn query_within(
        &self,
        promql: &str,
        limit: Bytes,
    ) -> Result<Vec<u8>, MetricsError> {
        self.ask("api/v1/query", &[("query", promql)], limit).await
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
        let limit = self.connection.body_limit;
        self.ask("api/v1/query_range", &form, limit).await
    }

    async fn ask(
        &self,
        path: &str,
        form: &[(&str, &str)],
        limit: Bytes,
    ) -> Result<Vec<u8>, MetricsError> {
        let PrometheusConnection {
            url,
            headers,
            access: _,
            timeout,
            body_limit: _,
        } = self.connection;
        // Prometheus gives up when we do, so that late answers do not pile up there.
        let patience = format!("{}ms", timeout.as_millis());
        let mut form = form.to_vec();
        form.push(("timeout", &patience));
        let mut request = Request::post(http::join(url, path, &[]).map_err(unaskable)?)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(value) = &self.authorization {
            request = request.header(AUTHORIZATION, value);
        }
        let request = request.body(http::form(&form).into()).map_err(unaskable)?;
        let response = self.http.send(request, *timeout).await?;
        if response.status() == StatusCode::OK {
            return Ok(response.bytes(size(limit)).await?);
        }
        Err(failure(response).await)
    }
}

/// The error of an answer with another status than 200.
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
    let body = response.bytes(size(ERROR_BODY)).await.unwrap_or_default();
    answer::refusal(&body).unwrap_or_else(|| api_call::refusal(status, &body))
}

fn size(bytes: Bytes) -> usize {
    usize::try_from(bytes.0).unwrap_or(usize::MAX)
}

fn unaskable(error: hyper::http::Error) -> MetricsError {
    MetricsError::Client(error.into())
}
