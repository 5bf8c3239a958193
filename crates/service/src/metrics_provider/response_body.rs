//! Answers under way: a query's turn is over when its answer's last byte has been sent.

use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use http_body_util::BodyExt as _;

use super::provider::SeriesQueryTurn;

/// Bytes that are held together with a turn. A server takes a body piece by piece, and keeps unsent
/// pieces after the body's end.
struct TurnBytes {
    bytes: Bytes,
    _turn: Arc<SeriesQueryTurn>,
}

impl AsRef<[u8]> for TurnBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The body of an answer, which holds its turn until it has been sent or given up.
pub(super) fn until_sent(body: Body, turn: Arc<SeriesQueryTurn>) -> Body {
    Body::new(body.map_frame(move |frame| {
        frame.map_data(|bytes| {
            Bytes::from_owner(TurnBytes {
                bytes,
                _turn: Arc::clone(&turn),
            })
        })
    }))
}

#[cfg(test)]
mod tests {
    use super::super::provider::LANE;
    use super::*;
    use crate::metrics::query_turns::QueryTurns;

    /// The harm: the turn ended before any write, and any number of answers waited for readers.
    #[tokio::test]
    async fn a_turn_lasts_until_nobody_holds_a_byte_of_the_answer() {
        let turns = QueryTurns::new(LANE);
        let shop: Arc<str> = "shop".into();
        let turn = Arc::new(turns.take(Some(&shop)).await.unwrap());
        let mut body = until_sent(Body::from("abc"), turn);
        let frame = body.frame().await.unwrap().unwrap();
        let bytes = frame.into_data().unwrap();
        assert_eq!(&bytes[..], b"abc");
        assert!(body.frame().await.is_none());
        drop(body);
        assert_eq!(turns.under_way(), 1, "a server still holds the bytes");
        let part = bytes.slice(1..);
        drop(bytes);
        assert_eq!(turns.under_way(), 1);
        drop(part);
        assert_eq!(turns.under_way(), 0);
        let turn = Arc::new(turns.take(Some(&shop)).await.unwrap());
        drop(until_sent(Body::from("abc"), turn));
        assert_eq!(turns.under_way(), 0, "the reader has gone");
    }
}
