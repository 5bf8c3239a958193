//! Failures of a call, distinguished by what a caller can do about them.

use std::error::Error as StdError;

use hyper_util::client::legacy;

/// A call without a whole answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An address that does not parse, or a header that HTTP cannot hold.
    #[error("invalid request: {0}")]
    Request(#[source] http::Error),
    /// Refused, no such host, or a failed TLS handshake.
    #[error("cannot connect: {}", causes(.0))]
    Connect(#[source] legacy::Error),
    /// No whole answer within the time limit.
    #[error("no answer within the timeout")]
    Timeout,
    /// The connection broke before the answer was whole.
    #[error("connection broke: {}", causes(.0.as_ref()))]
    Broken(#[source] Box<dyn StdError + Send + Sync>),
    #[error("answer longer than {limit} bytes")]
    TooLarge {
        /// Most bytes that are read.
        limit: usize,
    },
    #[error("the answer is not text")]
    NotText,
}

impl Error {
    pub(crate) fn of_request(error: legacy::Error) -> Self {
        if error.is_connect() {
            Self::Connect(error)
        } else {
            Self::Broken(error.into())
        }
    }

    /// One word of a closed set, for metric labels and conditions.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Request(_) => "Request",
            Self::Connect(_) => "Connect",
            Self::Timeout => "Timeout",
            Self::Broken(_) => "Transport",
            Self::TooLarge { .. } => "TooLarge",
            Self::NotText => "NotText",
        }
    }
}

/// hyper's own text has no causes.
fn causes(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
