//! The time by the API server's clock.

use axum::http::{Request, header};
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;

/// The time by the API server's clock, as its answers are dated; objects are stamped by it.
pub async fn server_time(client: &Client) -> Option<Timestamp> {
    let request = Request::get("/version").body(Body::empty());
    let answer = client.send(request.ok()?).await.ok()?;
    let date = answer.headers().get(header::DATE)?.to_str().ok()?;
    let date = jiff::fmt::rfc2822::parse(date).ok()?;
    Some(date.timestamp())
}
