//! Why a check has no answer. Nothing of what the other side sent is repeated.

use evenkeel_http_client as http;
use evenkeel_http_client::TlsError;
use evenkeel_scaling::external_checks::AnswerError;

use crate::account_tokens::TokenError;

#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The configuration does not let it be asked.
    #[error("{url} is not below a URL of scaling.checks.allowed in Evenkeel's configuration")]
    NotAllowed {
        /// The beginning of the address.
        url: String,
    },
    /// The named address is not an address of a server.
    #[error("the address is invalid: {0}")]
    Address(&'static str),
    #[error("Service {name} {why}")]
    Service { name: String, why: &'static str },
    /// The API server does not tell of the Service.
    #[error("Service {name} cannot be read: {cause}")]
    Unread { name: String, cause: String },
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The authorities cannot be used.
    #[error("caBundle: {0}")]
    Trust(#[from] TlsError),
    #[error("{0}")]
    Http(#[from] http::Error),
    /// It leads elsewhere.
    #[error("HTTP {0}: redirects are not followed")]
    Redirect(u16),
    /// Another status than 200.
    #[error("HTTP {0}; accepted: 200")]
    Status(u16),
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// Token, Service and answer took too long together.
    #[error("no answer within the timeout")]
    Timeout,
    #[error("given up, as the process shuts down")]
    Aborted,
    /// The change in question is not known any more.
    #[error("no change is under way")]
    NoChange,
}

impl CheckError {
    /// The cause as one word of a closed set, for metric labels.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::NotAllowed { .. } => "NotAllowed",
            Self::Address(_) => "InvalidName",
            Self::Service { .. } => "NotServed",
            Self::Unread { .. } => "ServiceUnread",
            Self::Token(_) => "Credentials",
            Self::Trust(_) => "ClientSetup",
            Self::Http(error) => error.reason(),
            Self::Redirect(_) => "Redirect",
            Self::Status(_) => "HttpStatus",
            Self::Answer(_) => "Malformed",
            Self::Timeout => "Timeout",
            Self::Aborted => "Aborted",
            Self::NoChange => "Skipped",
        }
    }
}
