//! One GET of the API server, or of what it hands on to an adapter, with every way to fail told apart.

use std::time::Duration;

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::{Request, Response, StatusCode};
use kube::client::Body;

use super::error::{MetricsError, excerpt};
use evenkeel_core::units::Bytes;

/// Bounds of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The longest that it may take.
    pub timeout: Duration,
    /// The longest answer that is read.
    pub body_limit: Bytes,
}

/// Gets `path` and returns the body of a success.
pub(super) async fn get(
    client: &kube::Client,
    path: &str,
    bounds: Bounds,
) -> Result<Vec<u8>, MetricsError> {
    let reading = async {
        let request = Request::get(path)
            .header("accept", "application/json")
            .body(Body::empty())
            .map_err(|error| MetricsError::Client(error.into()))?;
        let sent = client.send(request).await;
        let response = sent.map_err(|error| MetricsError::Connect(error.into()))?;
        body(response, bounds.body_limit).await
    };
    tokio::time::timeout(bounds.timeout, reading)
        .await
        .unwrap_or(Err(MetricsError::Timeout))
}

async fn body(response: Response<Body>, limit: Bytes) -> Result<Vec<u8>, MetricsError> {
    let (head, body) = response.into_parts();
    let most = usize::try_from(limit.0).unwrap_or(usize::MAX);
    let body = match Limited::new(body, most).collect().await {
        Ok(body) => body.to_bytes().to_vec(),
        Err(error) if error.is::<LengthLimitError>() => {
            return Err(MetricsError::TooLarge { limit });
        }
        Err(error) => return Err(MetricsError::Transport(error)),
    };
    let status = head.status.as_u16();
    let text = || excerpt(&String::from_utf8_lossy(&body));
    match head.status {
        StatusCode::OK => Ok(body),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            Err(MetricsError::Unauthorized { status })
        }
        StatusCode::NOT_FOUND => Err(MetricsError::NotServed { excerpt: text() }),
        _ => Err(MetricsError::Status {
            status,
            excerpt: text(),
        }),
    }
}
