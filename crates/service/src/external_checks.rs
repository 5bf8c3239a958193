//! Asks an outside endpoint if a change of replicas may go on, as stability checks of type External
//! say. Tenants name the endpoints. So Evenkeel calls a Service only in the tenant's namespace, at
//! the ClusterIP that the API server reports at that time. It calls any other address only below a
//! configured URL, and follows no redirect. Each call carries a token without any right and with
//! the called origin as its audience, so it is useless elsewhere. An incomplete or late answer is
//! none.

mod address;
mod allowed_urls;
mod check_client;
mod check_query;
mod error;

pub use allowed_urls::{AllowedUrl, AllowedUrlError};
pub use check_client::CheckSource;
pub use error::CheckError;

use std::time::Duration;

use evenkeel_scaling::external_checks::CheckQuestion;

use crate::metrics::target_queries::Questions;

/// The time limit of a query with its token and Service address; the answer may take 10 s.
pub const TIMEOUT: Duration = Duration::from_secs(20);

/// The asking of checks, as the scaling loop holds it.
pub type CheckQuestions = Questions<CheckQuestion>;

/// The URLs that checks may call beside the Services of their namespaces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    pub allowed: Vec<AllowedUrl>,
}
