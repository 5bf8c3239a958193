//! Reads request bodies: JSON, or a message of gRPC. Their size is bounded, and they need a minimum
//! rate and free room.
//!
//! A request without a complete body is refused: an answer that changes nothing would repeat the
//! review's uid or the node names from the body. Both callers treat the refusal as the absence of
//! the service (`failurePolicy: Ignore`, `ignorable: true`). Until its body is complete, a request
//! holds no turn, and only the room of the received bytes.
//!
//! A body that is too large is still read for a while and discarded before the refusal: a client
//! that is reset while it sends never sees the answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, StatusCode, header};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Body as _;
use tokio::sync::OwnedSemaphorePermit;

use super::budget::{BodyBudget, BodyReservation, overloaded};
use super::error::ApiError;
use super::path_limits::{Arrival, LoadShedDecision, PathLimits};
use crate::telemetry::spans::ActiveSpan;

/// Bytes of an unwanted body that are read before its connection is given up.
const DISCARDED: u64 = 1024 * 1024;

const DISCARD_TIME: Duration = Duration::from_secs(1);

/// A request of one of the [`Routes`](super::Routes) with its whole JSON body.
#[derive(Debug, Clone)]
pub struct BufferedRequest {
    /// The body, not parsed.
    pub body: Bytes,
    pub load: LoadShedDecision,
    pub started: Instant,
    /// The span of the call.
    pub(crate) span: ActiveSpan,
    _turn: Arc<Option<OwnedSemaphorePermit>>,
}

/// A call of gRPC with its whole body, which is one message in its frame.
#[derive(Debug, Clone)]
pub struct GrpcCall(pub BufferedRequest);

impl<S: Sync> FromRequest<S> for BufferedRequest {
    type Rejection = ApiError;

    async fn from_request(request: Request, _state: &S) -> Result<Self, ApiError> {
        Self::of(request, "application/json").await
    }
}

impl<S: Sync> FromRequest<S> for GrpcCall {
    type Rejection = ApiError;

    async fn from_request(request: Request, _state: &S) -> Result<Self, ApiError> {
        BufferedRequest::of(request, "application/grpc")
            .await
            .map(Self)
    }
}

impl BufferedRequest {
    async fn of(request: Request, media_type: &'static str) -> Result<Self, ApiError> {
        let Some(Arrival {
            limits,
            budget,
            turns,
            charge,
            started,
        }) = request.extensions().get().cloned()
        else {
            let message = "the route was not set up to accept calls";
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            return Err(ApiError::new(status, "NotARoute", message));
        };
        let span = request.extensions().get().cloned().unwrap_or_default();
        if !is_of(request.headers(), media_type) {
            let reason = if media_type == "application/json" {
                "NotJson"
            } else {
                "NotGrpc"
            };
            let error = ApiError::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                reason,
                format!("the content type must be {media_type}"),
            );
            return Err(refuse(error, request.into_body()).await);
        }
        let (body, room) = read(request.into_body(), started, &limits, &budget).await?;
        charge.set(room);
        let (load, turn) = turns.take().await;
        Ok(Self {
            body,
            load,
            started,
            span,
            _turn: Arc::new(turn),
        })
    }
}

/// True for a type, with whichever suffix and parameters: `application/grpc+proto` is one of gRPC.
fn is_of(headers: &HeaderMap, media_type: &str) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split([';', '+']).next())
        .is_some_and(|value| value.trim().eq_ignore_ascii_case(media_type))
}

/// `error`, after the rest of a small body was read; otherwise the connection closes.
pub(super) async fn refuse(error: ApiError, mut body: Body) -> ApiError {
    match tokio::time::timeout(DISCARD_TIME, discard(&mut body)).await {
        Ok(true) => error,
        Ok(false) | Err(_) => error.closing(),
    }
}

/// Reads the rest of a body; `false` where it is too long or breaks off.
async fn discard(body: &mut Body) -> bool {
    let mut left = DISCARDED;
    while body.size_hint().lower() <= left {
        match body.frame().await {
            None => return true,
            Some(Err(_)) => return false,
            Some(Ok(frame)) => {
                let length = frame.data_ref().map_or(0, |data| data.len() as u64);
                let Some(rest) = left.checked_sub(length) else {
                    return false;
                };
                left = rest;
            }
        }
    }
    false
}

async fn read(
    mut body: Body,
    started: Instant,
    limits: &PathLimits,
    budget: &BodyBudget,
) -> Result<(Bytes, BodyReservation), ApiError> {
    let limit = limits.body.0.min(budget.largest());
    let announced = body.size_hint().lower();
    if announced > limit {
        return Err(too_large(limit, body).await);
    }
    let mut room = budget.begin();
    let mut whole = ReceivedBody::of(announced);
    loop {
        let deadline = started + limits.body_pace.limit(whole.length);
        let frame = tokio::select! {
            biased;
            () = room.cut() => return Err(overloaded().closing()),
            frame = body.frame() => frame,
            () = tokio::time::sleep_until(deadline.into()) => return Err(too_slow()),
        };
        let Some(frame) = frame else { break };
        let Ok(data) = frame.map_err(|_| cut_short())?.into_data() else {
            continue;
        };
        let length = whole.length + data.len() as u64;
        if length > limit {
            return Err(too_large(limit, body).await);
        }
        if let Err(error) = budget.widen(&mut room, length).await {
            return Err(refuse(error, body).await);
        }
        whole.add(data);
    }
    room.complete();
    Ok((whole.into_bytes(), room))
}

struct ReceivedBody {
    announced: u64,
    length: u64,
    entire: Bytes,
    pieces: BytesMut,
}

impl ReceivedBody {
    fn of(announced: u64) -> Self {
        Self {
            announced,
            length: 0,
            entire: Bytes::new(),
            pieces: BytesMut::new(),
        }
    }

    /// Most bodies arrive in one piece, which is passed on. Others are copied into a growing
    /// buffer, because each piece may keep a larger buffer alive.
    fn add(&mut self, data: Bytes) {
        self.length += data.len() as u64;
        if data.len() as u64 == self.announced {
            self.entire = data;
        } else {
            self.pieces.extend_from_slice(&data);
        }
    }

    fn into_bytes(self) -> Bytes {
        if self.entire.is_empty() {
            self.pieces.freeze()
        } else {
            self.entire
        }
    }
}

fn too_slow() -> ApiError {
    let message = "the body did not arrive in time";
    ApiError::new(StatusCode::REQUEST_TIMEOUT, "BodyTooSlow", message).closing()
}

async fn too_large(limit: u64, body: Body) -> ApiError {
    let message = format!("the body is larger than {limit} bytes");
    let error = ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "BodyTooLarge", message);
    refuse(error, body).await
}

fn cut_short() -> ApiError {
    ApiError::bad_request("BodyCutShort", "the body ended before its announced length").closing()
}
