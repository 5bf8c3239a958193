//! Checks that an installation is in its stated namespace: the Lease guards a leader, and a wrong
//! namespace has none.

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use kube::{Api, Client};

use super::leader::Election;
use crate::cluster::registration;
use crate::cluster::registration::CONFIGURATION;

/// A reason to take a namespace for the wrong one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NamespaceMismatch {
    #[error("the webhook configuration {CONFIGURATION} names the namespace {registered}")]
    Elsewhere { registered: String },
    #[error("there is no Lease of a leader in the namespace {namespace}")]
    NoLease { namespace: String },
}

/// A reason for which Evenkeel seems not to be installed in `namespace`, if there is one.
///
/// # Errors
/// The webhook configuration or the Lease cannot be read.
pub async fn misplaced(
    client: &Client,
    namespace: &str,
    election: &Election,
) -> kube::Result<Option<NamespaceMismatch>> {
    let webhooks: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
    let configuration = webhooks.get_opt(CONFIGURATION).await?;
    let registered = configuration.as_ref().and_then(registration::namespace);
    if let Some(registered) = registered.filter(|registered| *registered != namespace) {
        return Ok(Some(NamespaceMismatch::Elsewhere {
            registered: registered.to_owned(),
        }));
    }
    let has_lease = election.has_lease().await?;
    Ok((!has_lease).then(|| NamespaceMismatch::NoLease {
        namespace: namespace.to_owned(),
    }))
}
