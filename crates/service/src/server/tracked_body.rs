//! Answers on their way to their clients. hyper keeps an answer's pieces for as long as the
//! client's window is closed, and an HTTP/2 client that never opens it can ask for many. So a
//! request's resources hang on the bytes of its answer, and are released when the last of them has
//! left or is dropped.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};

/// The body of an answer, with what is given back when it is gone.
#[derive(Debug)]
pub(super) struct TrackedBody<T> {
    body: Body,
    held: Arc<T>,
}

/// A piece of the body, which may outlive it in hyper's buffers.
struct Piece<T> {
    data: Bytes,
    _held: Arc<T>,
}

impl<T> TrackedBody<T> {
    pub(super) fn new(body: Body, held: T) -> Self {
        let held = Arc::new(held);
        Self { body, held }
    }
}

impl<T> AsRef<[u8]> for Piece<T> {
    fn as_ref(&self) -> &[u8] {
        &self.data
    }
}

impl<T: Send + Sync + 'static> HttpBody for TrackedBody<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        polled.map_ok(|frame| {
            frame.map_data(|data| {
                Bytes::from_owner(Piece {
                    data,
                    _held: Arc::clone(&self.held),
                })
            })
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn what_is_held_is_given_back_with_the_last_byte() {
        let held = Arc::new(());
        let mut sending = TrackedBody::new(Body::from("answer"), Arc::clone(&held));
        assert_eq!(sending.size_hint().exact(), Some(6));
        let frame = sending.frame().await.unwrap().unwrap();
        let mut piece = frame.into_data().unwrap();
        assert!(sending.frame().await.is_none());
        drop(sending);
        let rest = piece.split_off(3);
        drop(piece);
        assert_eq!((&rest[..], Arc::strong_count(&held)), (&b"wer"[..], 2));
        drop(rest);
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
