//! Pages that a service shows over plain HTTP.

use std::time::Duration;

use evenkeel_http_client::{Error, PooledHttpClient, StatusCode};

/// The longest that an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest page that is read, in bytes.
const LIMIT: usize = 64 << 20;

/// The status at `url`.
pub(crate) async fn status(url: &str) -> Result<StatusCode, Error> {
    Ok(PooledHttpClient::plain().get(url, PATIENCE).await?.status())
}

/// The text at `url`, whatever its status.
pub(crate) async fn text(url: &str) -> Result<String, Error> {
    let answer = PooledHttpClient::plain().get(url, PATIENCE).await?;
    answer.text(LIMIT).await
}
