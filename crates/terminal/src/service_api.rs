//! Asks the dashboard's API of a running service, past any proxy of the environment, and within
//! limits of time and size.

use std::time::Duration;

use bytes::Bytes;
use evenkeel_http_client::header::CONTENT_TYPE;
use evenkeel_http_client::{Error, PooledHttpClient, Request, StatusCode, TrustAnchors, Uri, join};
use http_body_util::Full;
use serde::de::DeserializeOwned;

use crate::output::CliFailure;

/// Time limit of one answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Size limit of one answer: ten thousand targets are some 10 MB.
const MOST: usize = 256 << 20;

/// The address of a dashboard's listener.
pub fn parse_url(text: &str) -> Result<Uri, String> {
    evenkeel_http_client::server_address(text)
        .map_err(|_| "accepted: an address such as http://127.0.0.1:8081".to_owned())
}

pub struct ServiceApi<'a> {
    base: &'a Uri,
    client: PooledHttpClient,
}

impl<'a> ServiceApi<'a> {
    /// The API behind the address of the dashboard's listener.
    pub fn new(base: &'a Uri) -> Result<Self, CliFailure> {
        let client = if base.scheme_str() == Some("https") {
            PooledHttpClient::new(TrustAnchors::System, None).map_err(CliFailure::work)?
        } else {
            PooledHttpClient::plain()
        };
        Ok(Self { base, client })
    }

    /// The answer of a path with these fields in its query.
    pub async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        fields: &[(&str, &str)],
    ) -> Result<T, CliFailure> {
        let url = join(self.base, path, fields).map_err(CliFailure::call)?;
        let request = Request::get(url.clone()).body(Full::default());
        self.ask(&url, request.map_err(CliFailure::call)?).await
    }

    /// The answer to a body in JSON.
    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        fields: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Result<T, CliFailure> {
        let url = join(self.base, path, fields).map_err(CliFailure::call)?;
        let request = Request::post(url.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(body.into());
        self.ask(&url, request.map_err(CliFailure::call)?).await
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        url: &Uri,
        request: Request<Full<Bytes>>,
    ) -> Result<T, CliFailure> {
        let answer = self.client.send(request, PATIENCE).await;
        let answer = answer.map_err(|error| self.unreachable(&error))?;
        let status = answer.status();
        let body = answer.bytes(MOST).await;
        let body = body.map_err(|error| self.unreachable(&error))?;
        if status != StatusCode::OK {
            let text = String::from_utf8_lossy(&body);
            let text: String = text.trim().chars().take(300).collect();
            return Err(CliFailure::work(format_args!(
                "{url} answers {status}: {text}"
            )));
        }
        serde_json::from_slice(&body).map_err(|error| {
            CliFailure::work(format_args!("the answer of {url} cannot be read: {error}"))
        })
    }

    fn unreachable(&self, error: &Error) -> CliFailure {
        let base = self.base;
        CliFailure::work(format_args!(
            "{base} does not answer: {error}\n  the service listens on the loopback address of its Pods only: \
             kubectl -n evenkeel-system port-forward deploy/evenkeel 8081"
        ))
    }
}
