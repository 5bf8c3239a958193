//! Sends a Pod through admission as a dry run, the only way to see if the API server reaches and
//! trusts the webhook.

use evenkeel_objects::namespace_policy::NamespacePolicy;
use k8s_openapi::api::core::v1::Pod;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::json;

use crate::doctor::observation::{DoctorObservation, PodOfDryRun, WebhookTrial};
use evenkeel_service::cluster::read_outcome::{ReadFailure, ReadOutcome};

/// Tries the webhook in the first namespace that has opted in; absent where none has.
pub(super) async fn run(client: &Client, seen: &DoctorObservation) -> ReadOutcome<WebhookTrial> {
    let namespaces = match &seen.namespaces {
        ReadOutcome::There(namespaces) => namespaces,
        ReadOutcome::Absent => return ReadOutcome::Absent,
        ReadOutcome::Unseen(unseen) => return ReadOutcome::Unseen(unseen.clone()),
    };
    let opted_in = namespaces
        .iter()
        .filter(|one| one.metadata.deletion_timestamp.is_none())
        .find(|one| NamespacePolicy::parse(&one.metadata.annotations).0.enabled);
    let Some(namespace) = opted_in.and_then(|one| one.metadata.name.as_deref()) else {
        return ReadOutcome::Absent;
    };
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let dry_run = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let answer = match pods.create(&dry_run, &probe()).await {
        Ok(pod) => PodOfDryRun::Admitted(pod.metadata.annotations.unwrap_or_default()),
        Err(kube::Error::Api(status)) if lacks_right(&status) => {
            let right = format!("create pods -n {namespace}");
            return ReadOutcome::Unseen(ReadFailure::Needs(right));
        }
        Err(kube::Error::Api(status)) => PodOfDryRun::Refused(status.message),
        Err(error) => return ReadOutcome::Unseen(ReadFailure::Failed(error.to_string())),
    };
    ReadOutcome::There(WebhookTrial {
        namespace: namespace.to_owned(),
        answer,
    })
}

/// The user may not create Pods; admission refuses with the same code.
fn lacks_right(status: &kube::core::Status) -> bool {
    status.code == 403 && status.message.contains("cannot create resource")
}

/// A Pod that the strictest of the Pod security standards lets through.
fn probe() -> Pod {
    serde_json::from_value(json!({
        "metadata": {"generateName": "evenkeel-doctor-"},
        "spec": {
            "automountServiceAccountToken": false,
            "securityContext": {
                "runAsNonRoot": true,
                "runAsUser": 65532,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [{
                "name": "probe",
                "image": "registry.k8s.io/pause:3.10",
                "resources": {
                    "requests": {"cpu": "10m", "memory": "16Mi"},
                    "limits": {"cpu": "10m", "memory": "16Mi"},
                },
                "securityContext": {
                    "allowPrivilegeEscalation": false,
                    "capabilities": {"drop": ["ALL"]},
                },
            }],
        },
    }))
    .expect("the Pod is well formed")
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn a_missing_right_differs_from_a_refusal_by_admission() {
        let rbac =
            "pods is forbidden: User \"eve\" cannot create resource \"pods\" in API group \"\"";
        let quota = "pods \"x\" is forbidden: exceeded quota: small";
        let status = |message, code| Status::failure(message, "Forbidden").with_code(code);
        assert!(lacks_right(&status(rbac, 403)));
        assert!(!lacks_right(&status(quota, 403)));
        assert_eq!(probe().metadata.name, None);
    }
}
