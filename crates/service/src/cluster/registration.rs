//! Evenkeel's entry among the mutating webhooks of a cluster, which tells where it is installed.

use k8s_openapi::api::admissionregistration::v1::{MutatingWebhook, MutatingWebhookConfiguration};

pub const CONFIGURATION: &str = "evenkeel";
pub const WEBHOOK: &str = "pods.evenkeel.dev";

pub fn ours(configuration: &MutatingWebhookConfiguration) -> Option<&MutatingWebhook> {
    let webhooks = configuration.webhooks.as_ref()?;
    webhooks.iter().find(|webhook| webhook.name == WEBHOOK)
}

/// The namespace of the Service that the API server calls; `None` if called by address.
pub fn namespace(configuration: &MutatingWebhookConfiguration) -> Option<&str> {
    let service = ours(configuration)?.client_config.service.as_ref()?;
    Some(&service.namespace)
}
