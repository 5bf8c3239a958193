//! Why a cluster does not start.

use evenkeel_sandbox::scheduler::configuration;

/// Why a cluster does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Api(#[from] evenkeel_apiserver::StartError),
    /// A file or a port.
    #[error("{what}: {source}")]
    Io {
        /// The step that failed.
        what: &'static str,
        /// Why it could not.
        source: std::io::Error,
    },
    /// An object that the API server did not take, or a client that could not be made.
    #[error("the cluster's first objects: {0}")]
    Objects(#[from] kube::Error),
    /// An object of the scenario that the API server did not take.
    #[error("the scenario's object {object}: {source}")]
    Object {
        /// Its kind and name.
        object: String,
        /// Why it was not taken.
        source: kube::Error,
    },
    /// A shipped manifest, a kubeconfig or a certificate that cannot be used.
    #[error("{0}")]
    Unusable(String),
    #[error(transparent)]
    Scheduler(#[from] configuration::Error),
    /// The service ended, or did not become ready in time.
    #[error("the service did not become ready: {0}")]
    NotReady(String),
}
