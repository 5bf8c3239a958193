//! One GET of the API server, or of an adapter behind it, with distinct errors.

use std::sync::Arc;
use std::time::Duration;

use evenkeel_units::Bytes;
use http_body_util::BodyExt;
use hyper::{Request, StatusCode};
use kube::client::Body;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::{MetricsError, excerpt};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApiCallLimits {
    /// The longest that it may take.
    pub timeout: Duration,
    /// The longest answer that is read.
    pub body_limit: Bytes,
}

/// The length of an answer up to which any number may be under way.
const SMALL: usize = 256 * 1024;

/// The places for long answers, so that many calls at once hold no more memory than a few of them.
/// They arrive in one go: an adapter's computing time comes before them.
#[derive(Debug, Clone)]
pub(super) struct LongAnswers(Arc<Semaphore>);

impl LongAnswers {
    pub(super) fn at_once(places: usize) -> Self {
        Self(Arc::new(Semaphore::new(places)))
    }

    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        // It is never closed.
        Arc::clone(&self.0).acquire_owned().await.ok()
    }
}

/// The body of a success, with the place that it takes while it is held.
pub(super) struct ApiCallBody {
    pub(super) body: Vec<u8>,
    _place: Option<OwnedSemaphorePermit>,
}

/// Gets `path` and returns a success's body; concurrent calls share the places for long answers.
pub(super) async fn get_among(
    client: &kube::Client,
    path: &str,
    bounds: ApiCallLimits,
    long: Option<&LongAnswers>,
) -> Result<ApiCallBody, MetricsError> {
    let reading = async {
        let request = Request::get(path)
            .header("accept", "application/json")
            .body(Body::empty())
            .map_err(|error| MetricsError::Client(error.into()))?;
        let sent = client.send(request).await;
        let response = sent.map_err(|error| MetricsError::Connect(error.into()))?;
        let (head, body) = response.into_parts();
        let answer = collect(body, bounds.body_limit, long).await?;
        success(head.status, answer)
    };
    tokio::time::timeout(bounds.timeout, reading)
        .await
        .unwrap_or(Err(MetricsError::Timeout))
}

/// Reads a body to its end, unless it is too long.
async fn collect(
    mut body: Body,
    limit: Bytes,
    long: Option<&LongAnswers>,
) -> Result<ApiCallBody, MetricsError> {
    let most = usize::try_from(limit.0).unwrap_or(usize::MAX);
    let (mut read, mut place) = (Vec::new(), None);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| MetricsError::Transport(error.into()))?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        let length = read.len() + data.len();
        if length > most {
            return Err(MetricsError::TooLarge { limit });
        }
        if let Some(long) = long.filter(|_| length > SMALL && place.is_none()) {
            place = long.place().await;
        }
        read.extend_from_slice(&data);
    }
    Ok(ApiCallBody {
        body: read,
        _place: place,
    })
}

fn success(status: StatusCode, answer: ApiCallBody) -> Result<ApiCallBody, MetricsError> {
    if status == StatusCode::OK {
        return Ok(answer);
    }
    Err(refusal(status, &answer.body))
}

/// The error of an answer with another status than 200.
pub(super) fn refusal(status: StatusCode, body: &[u8]) -> MetricsError {
    let text = || excerpt(&String::from_utf8_lossy(body));
    let number = status.as_u16();
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            MetricsError::Unauthorized { status: number }
        }
        StatusCode::NOT_FOUND => MetricsError::NotServed { excerpt: text() },
        _ => MetricsError::Status {
            status: number,
            excerpt: text(),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures::Stream;
    use http_body_util::StreamBody;
    use hyper::Response;
    use hyper::body::{Bytes as Data, Frame};
    use tokio::sync::Notify;

    use super::*;

    /// A server of two answers: a long one, with its second half once `rest` is notified, and a
    /// short one.
    fn client(rest: &Arc<Notify>) -> kube::Client {
        let rest = Arc::clone(rest);
        let service = tower::service_fn(move |request: Request<Body>| {
            let is_long = request.uri().path() == "/long";
            let body = StreamBody::new(halves(is_long, Arc::clone(&rest)));
            async move { Ok::<_, Infallible>(Response::new(body)) }
        });
        kube::Client::new(service, "default")
    }

    fn halves(
        is_long: bool,
        rest: Arc<Notify>,
    ) -> impl Stream<Item = Result<Frame<Data>, Infallible>> + Send + 'static {
        let size = if is_long { SMALL } else { 1 };
        futures::stream::unfold(0, move |half| {
            let rest = Arc::clone(&rest);
            async move {
                if half == 1 && is_long {
                    rest.notified().await;
                }
                let data = Data::from(vec![b' '; size]);
                (half < 2).then(|| (Ok(Frame::data(data)), half + 1))
            }
        })
    }

    /// The harm: as many long answers in memory as there are calls under way.
    #[tokio::test(start_paused = true)]
    async fn long_answers_wait_for_places_and_short_ones_for_nobody() {
        let rest = Arc::new(Notify::new());
        let client = client(&rest);
        let bounds = ApiCallLimits {
            timeout: Duration::from_secs(5),
            body_limit: Bytes(4 * 1024 * 1024),
        };
        let long = LongAnswers::at_once(1);
        let held = {
            rest.notify_one();
            let answer = get_among(&client, "/long", bounds, Some(&long)).await;
            answer.unwrap()
        };
        assert_eq!(held.body.len(), 2 * SMALL);
        rest.notify_one();
        let second = get_among(&client, "/long", bounds, Some(&long)).await;
        assert_eq!(second.err().map(|error| error.reason()), Some("Timeout"));
        let short = get_among(&client, "/short", bounds, Some(&long)).await;
        assert_eq!(short.unwrap().body.len(), 2);
        drop(held);
        rest.notify_one();
        let third = get_among(&client, "/long", bounds, Some(&long)).await;
        assert_eq!(third.unwrap().body.len(), 2 * SMALL);
    }
}
