//! The manifests that are shipped, on the control plane: what `kubectl apply -k deploy/` applies,
//! except that the Deployment is only validated, since the tests run its program themselves, and
//! that the webhook's Service leads to them.

use std::path::{Path, PathBuf};
use std::process::Command;

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams,
    PostParams, TypeMeta, ValidationDirective,
};
use kube::{Api, Client};
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::ControlPlane;
use super::wait::{eventually, holds};
use crate::support::overlay::moved;

/// Where the shipped manifests put everything.
pub(crate) const NAMESPACE: &str = "evenkeel-system";

/// Kinds of the cluster that kustomize gives a namespace all the same. kubectl asks the API server for
/// the scope of a kind, and the API server drops the namespace.
const UNSCOPED: [&str; 2] = [
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
];

/// The parts of the shipped manifests that say how the program is run.
#[derive(Debug)]
pub(crate) struct Installation {
    /// Credentials of the replicas' ServiceAccount.
    pub kubeconfig: PathBuf,
    /// Credentials of the signer's.
    pub signer: PathBuf,
    /// The shipped configuration file.
    pub configuration: Value,
}

/// Applies the shipped manifests, with a webhook that is served at `port` of loopback. What an
/// earlier installation made for itself is taken off. `timeout` replaces the webhook's own, in
/// seconds.
pub(crate) async fn install(plane: &ControlPlane, port: u16, timeout: Option<u32>) -> Installation {
    let documents = built(&shipped());
    install_in(plane, NAMESPACE, documents, Webhook { port, timeout }).await
}

/// The same with a user's own overlay, which puts everything into `namespace`.
pub(crate) async fn install_moved(plane: &ControlPlane, namespace: &str) -> Installation {
    let overlay = tempfile::tempdir().expect("a folder");
    moved(overlay.path(), "deploy", namespace);
    let webhook = Webhook {
        port: 443,
        timeout: None,
    };
    install_in(plane, namespace, built(overlay.path()), webhook).await
}

/// Where the webhook is served, and its time limit.
struct Webhook {
    port: u16,
    timeout: Option<u32>,
}

async fn install_in(
    plane: &ControlPlane,
    namespace: &str,
    mut documents: Vec<Value>,
    webhook: Webhook,
) -> Installation {
    let Webhook { port, timeout } = webhook;
    forget(&plane.client, namespace).await;
    take_back(&plane.client, &documents).await;
    // Server-side apply needs the Namespace first; kustomize prints it first.
    for document in &mut documents {
        match document["kind"].as_str() {
            Some("MutatingWebhookConfiguration") => lead_webhook_to(document, port, timeout),
            Some("Service") if document["metadata"]["name"] == "evenkeel" => {
                document["spec"] = json!({"type": "ExternalName", "externalName": "localhost"});
            }
            _ => {}
        }
        let only_validated = document["kind"] == "Deployment";
        send(&plane.client, document, only_validated).await;
    }
    // The last of the grants is the signer's.
    await_rights(
        &plane.client,
        namespace,
        &account(&documents, "evenkeel-signer"),
    )
    .await;
    let credentials = async |deployment| {
        let token = token(&plane.client, namespace, &account(&documents, deployment)).await;
        plane.kubeconfig(deployment, &json!({"token": token}))
    };
    let file = of_kind(&documents, "ConfigMap")["data"]["config.yaml"]
        .as_str()
        .expect("the ConfigMap holds the configuration file");
    Installation {
        kubeconfig: credentials("evenkeel").await,
        signer: credentials("evenkeel-signer").await,
        configuration: serde_saphyr::from_str(file).expect("the configuration is YAML"),
    }
}

/// Makes the shipped Deployments real ones, with Pods that answer for metrics at the port `metrics`.
pub(crate) async fn deploy(client: &Client, metrics: u16) {
    let documents = built(&shipped());
    for name in ["evenkeel", "evenkeel-signer"] {
        let mut deployment = deployment(&documents, name).clone();
        let container = &mut deployment["spec"]["template"]["spec"]["containers"][0];
        let ports = container["ports"].as_array_mut().expect("it has ports");
        for port in ports.iter_mut().filter(|port| port["name"] == "metrics") {
            port["containerPort"] = json!(metrics);
        }
        send(client, &deployment, false).await;
    }
}

/// The kinds of objects that grant, and that narrow what is granted.
const GRANTING: [&str; 6] = [
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "ValidatingAdmissionPolicy",
];

/// Grants what a kustomization grants beside an installation, with what narrows it; the base takes back what
/// components have granted.
pub(crate) async fn grant(client: &Client, kustomization: &str) {
    let documents = built(&root().join(kustomization));
    if kustomization == "deploy/base" {
        take_back(client, &documents).await;
    }
    for document in documents {
        let kind = document["kind"].as_str().expect("a kind");
        if GRANTING.contains(&kind) {
            send(client, &document, false).await;
        }
    }
}

/// The same with the bindings of the policies that a component brings.
pub(crate) async fn grant_with_bindings(client: &Client, kustomization: &str) {
    grant(client, kustomization).await;
    for document in built(&root().join(kustomization)) {
        if document["kind"] == "ValidatingAdmissionPolicyBinding" {
            send(client, &document, false).await;
        }
    }
}

/// Takes away the bindings of Evenkeel's that are not among the documents, which applying these does not.
async fn take_back(client: &Client, documents: &[Value]) {
    let api: Api<ClusterRoleBinding> = Api::all(client.clone());
    let own = ListParams::default().labels("app.kubernetes.io/name=evenkeel");
    for binding in api.list(&own).await.expect("a list") {
        let name = binding.metadata.name.as_deref().unwrap_or_default();
        let is_kept = documents.iter().any(|document| {
            document["kind"] == "ClusterRoleBinding" && document["metadata"]["name"] == *name
        });
        if !is_kept {
            let deleted = api.delete(name, &DeleteParams::default()).await;
            deleted.expect("a binding is deleted");
        }
    }
}

/// The one document of a kustomization.
pub(crate) fn document(kustomization: &str) -> Value {
    let mut documents = built(&root().join(kustomization));
    assert_eq!(documents.len(), 1, "{kustomization}");
    documents.remove(0)
}

/// The kube-scheduler configuration that a kustomization ships in a ConfigMap.
pub(crate) fn scheduler_configuration(kustomization: &str) -> Value {
    let documents = built(&root().join(kustomization));
    let mut files = documents
        .iter()
        .filter_map(|document| document["data"]["scheduler-config.yaml"].as_str());
    let file = files.next().expect("a ConfigMap has the file");
    serde_saphyr::from_str(file).expect("the configuration is YAML")
}

/// Lets the API server check what `kubectl apply -k` would apply, on top of an installation.
pub(crate) async fn validate(client: &Client, kustomization: &str) {
    for document in built(&root().join(kustomization)) {
        send(client, &document, true).await;
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn shipped() -> PathBuf {
    root().join("deploy")
}

/// The documents that kustomize makes of a folder.
fn built(kustomization: &Path) -> Vec<Value> {
    let output = Command::new("kubectl")
        .arg("kustomize")
        .arg(kustomization)
        .output()
        .expect("kubectl is on PATH");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "kubectl kustomize: {errors}");
    let text = String::from_utf8(output.stdout).expect("manifests are text");
    serde_saphyr::from_multiple(&text).expect("manifests are YAML")
}

fn of_kind<'a>(documents: &'a [Value], kind: &str) -> &'a Value {
    let mut found = documents.iter().filter(|document| document["kind"] == kind);
    found
        .next()
        .unwrap_or_else(|| panic!("no {kind} is shipped"))
}

fn deployment<'a>(documents: &'a [Value], name: &str) -> &'a Value {
    let named = |document: &&Value| {
        document["kind"] == "Deployment" && document["metadata"]["name"] == name
    };
    let found = documents.iter().find(named);
    found.unwrap_or_else(|| panic!("no Deployment {name} is shipped"))
}

/// The ServiceAccount that the Pods of a Deployment run by.
fn account(documents: &[Value], name: &str) -> String {
    deployment(documents, name)["spec"]["template"]["spec"]["serviceAccountName"]
        .as_str()
        .expect("the Deployment names its ServiceAccount")
        .to_owned()
}

/// The API server calls `<service>.<namespace>.svc`, as in production; only the port differs.
fn lead_webhook_to(document: &mut Value, port: u16, timeout: Option<u32>) {
    let webhooks = document["webhooks"].as_array_mut();
    for webhook in webhooks.expect("there are webhooks") {
        webhook["clientConfig"]["service"]["port"] = json!(port);
        if let Some(timeout) = timeout {
            webhook["timeoutSeconds"] = json!(timeout);
        }
    }
}

async fn send(client: &Client, document: &Value, dry_run: bool) {
    let meta = TypeMeta::deserialize(document).expect("a document has a kind");
    let gvk = GroupVersionKind::try_from(&meta).expect("the apiVersion is well formed");
    let resource = ApiResource::from_gvk(&gvk);
    let name = document["metadata"]["name"].as_str().expect("a name");
    let namespace = document["metadata"]["namespace"].as_str();
    let api: Api<DynamicObject> = match namespace.filter(|_| !UNSCOPED.contains(&&*meta.kind)) {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let params = PatchParams {
        field_validation: Some(ValidationDirective::Strict),
        dry_run,
        ..PatchParams::apply("control-plane-test").force()
    };
    api.patch(name, &params, &Patch::Apply(document))
        .await
        .unwrap_or_else(|error| panic!("{} {name}: {error}", meta.kind));
}

/// Each test begins without certificates and with a lease that is free.
async fn forget(client: &Client, namespace: &str) {
    let all = ListParams::default();
    let now = DeleteParams::default();
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    secrets
        .delete_collection(&now, &all)
        .await
        .expect("Secrets are deleted");
    let leases: Api<Lease> = Api::namespaced(client.clone(), namespace);
    leases
        .delete_collection(&now, &all)
        .await
        .expect("Leases are deleted");
}

/// The API server obeys new bindings a moment after it has stored them. This one is the last.
async fn await_rights(client: &Client, namespace: &str, account: &str) {
    let reviews: Api<SubjectAccessReview> = Api::all(client.clone());
    let review = serde_json::from_value(json!({"spec": {
        "user": format!("system:serviceaccount:{namespace}:{account}"),
        "resourceAttributes": {
            "group": "admissionregistration.k8s.io",
            "resource": "mutatingwebhookconfigurations",
            "name": "evenkeel",
            "verb": "patch",
        },
    }}))
    .expect("the review is well formed");
    eventually("the ServiceAccount has its rights", async || {
        let answer = reviews.create(&PostParams::default(), &review).await;
        let status = answer.map_err(|error| error.to_string())?.status;
        let allowed = status.as_ref().is_some_and(|status| status.allowed);
        holds(allowed, || format!("{status:?}"))
    })
    .await;
}

/// A token of the ServiceAccount, as kubelet would mount it.
pub(crate) async fn token(client: &Client, namespace: &str, account: &str) -> String {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    let request = TokenRequest {
        spec: TokenRequestSpec {
            expiration_seconds: Some(24 * 60 * 60),
            ..TokenRequestSpec::default()
        },
        ..TokenRequest::default()
    };
    let answer = accounts
        .create_token_request(account, &PostParams::default(), &request)
        .await
        .expect("a token is issued");
    answer.status.expect("the answer holds the token").token
}
