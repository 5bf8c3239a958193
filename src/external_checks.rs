//! Asks somebody outside whether a change of replicas may go on, as the stability checks of type External say.
//!
//! Addresses are named by tenants. So a Service is asked only in the namespace of who names it, at the ClusterIP that the
//! API server tells at that time, and any other address only below one that the configuration allows; no redirect is
//! followed. With each question goes a token of an account without any right, whose audience is the origin that is
//! asked: nobody can use it elsewhere. What is not a whole answer in time is none.

mod address;
mod allowed_urls;
mod check_client;
mod check_query;
mod error;
mod evidence;

pub use allowed_urls::{AllowedUrl, AllowedUrlError};
pub use check_client::CheckSource;
pub use check_query::{AboutChange, StepCheckAnswer};
pub use error::CheckError;
pub use evidence::evidence;

use std::time::Duration;

use crate::metrics::target_queries::{self, LatestAnswers, Questions};
use evenkeel_kubernetes::external_check::CheckQuestion;

/// The longest that a question takes with its token and the address of its Service: the answer alone may take ten seconds.
pub const TIMEOUT: Duration = Duration::from_secs(20);

/// The asking of checks, as the scaling loop holds it.
pub type CheckQuestions = Questions<CheckQuestion>;

/// A check that is to be asked.
pub type WantedCheck = target_queries::TargetQueryRequest<CheckQuestion>;

/// The newest answers by question.
pub type CheckAnswers = LatestAnswers<CheckQuestion>;

/// Whom checks may ask beside the Services of their namespaces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    pub allowed: Vec<AllowedUrl>,
}
