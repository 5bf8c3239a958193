//! Why a cluster does not start.

use evenkeel_sandbox::scheduler::configuration;

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Api(#[from] evenkeel_apiserver::StartError),
    /// A file or a port.
    #[error("{what}: {source}")]
    Io {
        what: &'static str,
        source: std::io::Error,
    },
    /// An object that the API server did not take, or a client that could not be made.
    #[error("the cluster's first objects: {0}")]
    Objects(#[from] kube::Error),
    #[error("the scenario's object {object}: {source}")]
    Object {
        /// Kind and name.
        object: String,
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
