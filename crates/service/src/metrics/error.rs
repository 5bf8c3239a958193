//! Faults of metrics sources. Each variant is a distinct thing for an operator to mend, which
//! `reason` names in metrics and logs. Foreign texts are cut short, and addresses are left out of
//! transport errors, because they may hold credentials.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;

use evenkeel_http_client as http_client;
use evenkeel_metrics::metric_query::QueryError;
use evenkeel_metrics::metric_values::ValuesError;
use evenkeel_objects::truncate;
use evenkeel_units::Bytes;

use crate::account_tokens::TokenError;

/// The longest text of the other side that an error repeats, in characters.
const EXCERPT: usize = 200;

/// Cause for which a source, or one query of it, has no answer.
#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
    /// The HTTP client could not be set up (TLS roots, CA file).
    #[error("HTTP client: {0}")]
    Client(#[source] Box<dyn Error + Send + Sync>),
    /// A file with credentials could not be read or holds no usable text.
    #[error("credentials in {}: {cause}", path.display())]
    Credentials {
        path: PathBuf,
        /// Its fault; never its content.
        cause: String,
    },
    /// The API server makes no token to be shown.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// No connection: refused, no such host, TLS handshake failed.
    #[error("cannot connect: {}", chain(.0.as_ref()))]
    Connect(#[source] Box<dyn Error + Send + Sync>),
    /// No whole answer within the time allowed.
    #[error("no answer within the timeout")]
    Timeout,
    /// The connection broke before the answer was whole.
    #[error("connection broke: {}", chain(.0.as_ref()))]
    Transport(#[source] Box<dyn Error + Send + Sync>),
    /// The server sends the caller elsewhere, which is not followed: a login page or a wrong URL.
    #[error("HTTP {status}: redirected to {location:?}; set the URL of the API itself")]
    Redirect { status: u16, location: String },
    /// The server does not let the caller in (401, 403).
    #[error("HTTP {status}: not allowed; check the credentials and their rights")]
    Unauthorized { status: u16 },
    /// The API is not served there (404).
    #[error("HTTP 404: not served there: {excerpt}")]
    NotServed {
        /// The beginning of the answer.
        excerpt: String,
    },
    #[error("HTTP {status}: {excerpt}")]
    Status {
        status: u16,
        /// The beginning of the answer.
        excerpt: String,
    },
    /// The server understood and says that the query failed.
    #[error("query refused ({kind}): {message}")]
    Refused {
        /// The server's class of error, such as `bad_data` or `execution`.
        kind: String,
        message: String,
    },
    /// The answer is not what the API answers: not JSON, cut short, or of another shape.
    #[error("the answer cannot be read: {cause}; it begins with {excerpt:?}")]
    Malformed {
        /// The fault and its place.
        cause: String,
        excerpt: String,
    },
    /// The API server does not tell what it serves there. Nothing of its answer is repeated.
    #[error("{path} does not list the served APIs")]
    Undiscovered { path: String },
    /// The query gives something else than what was asked for.
    #[error("the query returns a {given}, not a {wanted}")]
    ResultType {
        given: String,
        /// `vector` for one value per series, `matrix` for a range.
        wanted: &'static str,
    },
    /// The answer is marked incomplete or doubtful, so a missing node may be anything.
    #[error("answer with a warning: {first}")]
    Warnings { first: String },
    /// The answer is longer than allowed.
    #[error("answer longer than {} bytes", limit.0)]
    TooLarge {
        /// The most that is read.
        limit: Bytes,
    },
    /// The answer holds no value to scale by.
    #[error("{0}")]
    Values(#[from] ValuesError),
    #[error("{0}")]
    Query(#[from] QueryError),
    /// A query for one value gives none, or several.
    #[error(
        "the query returns {given} series, and one is needed: aggregate, for example with sum()"
    )]
    SeriesCount { given: usize },
    /// A value that is no finite number.
    #[error("the query returns {0}, which is not an amount")]
    NoAmount(f64),
    /// Under way still, or resting after it was slow; the answer before it counts, if there is one.
    #[error("slower than a round; the previous answer counts until the new one arrives")]
    Late,
    /// Not asked, because the queries before it could not reach the server.
    #[error("not sent, because the server did not answer the queries before it")]
    Skipped,
    /// The process is shutting down.
    #[error("given up, as the process shuts down")]
    Aborted,
}

impl From<http_client::Error> for MetricsError {
    fn from(error: http_client::Error) -> Self {
        match error {
            http_client::Error::Connect(cause) => Self::Connect(cause.into()),
            http_client::Error::Timeout => Self::Timeout,
            http_client::Error::Broken(cause) => Self::Transport(cause),
            http_client::Error::TooLarge { limit } => Self::TooLarge {
                limit: Bytes(u64::try_from(limit).unwrap_or(u64::MAX)),
            },
            error @ (http_client::Error::Request(_) | http_client::Error::NotText) => {
                Self::Client(error.into())
            }
        }
    }
}

impl MetricsError {
    /// The cause as one word of a closed set, for metric labels and conditions.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Client(_) => "ClientSetup",
            Self::Credentials { .. } | Self::Token(_) => "Credentials",
            Self::Connect(_) => "Connect",
            Self::Timeout => "Timeout",
            Self::Transport(_) => "Transport",
            Self::Redirect { .. } => "Redirect",
            Self::Unauthorized { .. } => "Unauthorized",
            Self::NotServed { .. } => "NotServed",
            Self::Status { .. } => "HttpStatus",
            Self::Refused { .. } => "QueryRefused",
            Self::Malformed { .. } | Self::Undiscovered { .. } => "Malformed",
            Self::ResultType { .. } => "ResultType",
            Self::Warnings { .. } => "Warnings",
            Self::TooLarge { .. } => "TooLarge",
            Self::Values(error) => error.reason(),
            Self::Query(error) => error.reason(),
            Self::SeriesCount { given: 0 } => "NoValues",
            Self::SeriesCount { .. } => "SeveralValues",
            Self::NoAmount(_) => "NoAmount",
            Self::Late => "Late",
            Self::Skipped => "Skipped",
            Self::Aborted => "Aborted",
        }
    }

    /// True where the server itself seems out of reach, so that asking it more is a waste of time.
    pub(crate) const fn is_unreachable(&self) -> bool {
        matches!(self, Self::Connect(_) | Self::Timeout)
    }

    /// True where it was answered, and there is nothing in the answer.
    pub const fn is_empty(&self) -> bool {
        matches!(
            self,
            Self::SeriesCount { given: 0 } | Self::Values(ValuesError::Empty)
        )
    }

    pub(crate) fn malformed(cause: &dyn fmt::Display, body: &[u8]) -> Self {
        Self::Malformed {
            cause: excerpt(&cause.to_string()),
            excerpt: excerpt(&String::from_utf8_lossy(
                &body[..body.len().min(4 * EXCERPT)],
            )),
        }
    }
}

/// The beginning of a foreign text, on one line.
pub(crate) fn excerpt(text: &str) -> String {
    truncate::excerpt(text.trim(), EXCERPT)
}

/// An error with its causes; the HTTP client's own text names none of them.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_texts_are_cut_and_kept_on_one_line() {
        assert_eq!(excerpt("  <html>\n<body> "), "<html> <body>");
        let long = excerpt(&"ä".repeat(10 * EXCERPT));
        assert_eq!(long.chars().count(), EXCERPT + 1);
        assert!(long.ends_with('…'));
    }

    #[test]
    fn an_excerpt_of_bytes_that_are_no_text_does_not_panic() {
        let error = MetricsError::malformed(&"line 1", &[0xff; 2000]);
        assert_eq!(error.reason(), "Malformed");
    }
}
