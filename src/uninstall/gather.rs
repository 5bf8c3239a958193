//! Reads what is left of an installation, kind by kind; a kind that the cluster does not have is a
//! kind of which nothing is left.

use jiff::Timestamp;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, PartialObjectMeta};
use kube::{Api, Client, ResourceExt as _};
use serde_json::Value;

use super::{Blind, Inventory, Mark, Object, Yours};
use crate::doctor::Seen;
use crate::doctor::gather::read::list;
use evenkeel_kubernetes::annotations::ENABLED;
use evenkeel_kubernetes::plan::uninstall::{Marked, traces};

/// What every manifest labels its objects with.
const LABELLED: &str = "app.kubernetes.io/name in (evenkeel, evenkeel-scheduler)";
/// The name of the objects that the service makes itself, without a label.
const LEASE: &str = "evenkeel";
/// Where kube-scheduler's rights to the cluster's authentication are granted.
const SYSTEM: &str = "kube-system";
/// The most objects in one answer.
const PAGE: u32 = 500;

/// Where a kind of the installation's objects is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Cluster,
    Own,
    System,
}

/// Group, version, kind and plural of what an installation is made of.
const KINDS: [(Scope, [&str; 4]); 21] = [
    (Scope::Own, ["apps", "v1", "Deployment", "deployments"]),
    (Scope::Own, ["", "v1", "Service", "services"]),
    (Scope::Own, ["", "v1", "ConfigMap", "configmaps"]),
    (Scope::Own, ["", "v1", "Secret", "secrets"]),
    (Scope::Own, ["", "v1", "ServiceAccount", "serviceaccounts"]),
    (
        Scope::Own,
        [
            "policy",
            "v1",
            "PodDisruptionBudget",
            "poddisruptionbudgets",
        ],
    ),
    (
        Scope::Own,
        [
            "networking.k8s.io",
            "v1",
            "NetworkPolicy",
            "networkpolicies",
        ],
    ),
    (
        Scope::Own,
        ["rbac.authorization.k8s.io", "v1", "Role", "roles"],
    ),
    (
        Scope::Own,
        [
            "rbac.authorization.k8s.io",
            "v1",
            "RoleBinding",
            "rolebindings",
        ],
    ),
    (
        Scope::System,
        [
            "rbac.authorization.k8s.io",
            "v1",
            "RoleBinding",
            "rolebindings",
        ],
    ),
    (
        Scope::Cluster,
        [
            "rbac.authorization.k8s.io",
            "v1",
            "ClusterRole",
            "clusterroles",
        ],
    ),
    (
        Scope::Cluster,
        [
            "rbac.authorization.k8s.io",
            "v1",
            "ClusterRoleBinding",
            "clusterrolebindings",
        ],
    ),
    (
        Scope::Cluster,
        [
            "admissionregistration.k8s.io",
            "v1",
            "MutatingWebhookConfiguration",
            "mutatingwebhookconfigurations",
        ],
    ),
    (
        Scope::Cluster,
        [
            "admissionregistration.k8s.io",
            "v1",
            "ValidatingAdmissionPolicy",
            "validatingadmissionpolicies",
        ],
    ),
    (
        Scope::Cluster,
        [
            "admissionregistration.k8s.io",
            "v1",
            "ValidatingAdmissionPolicyBinding",
            "validatingadmissionpolicybindings",
        ],
    ),
    (
        Scope::Cluster,
        ["apiregistration.k8s.io", "v1", "APIService", "apiservices"],
    ),
    (Scope::Cluster, ["", "v1", "Namespace", "namespaces"]),
    (
        Scope::Own,
        [
            "monitoring.coreos.com",
            "v1",
            "ServiceMonitor",
            "servicemonitors",
        ],
    ),
    (
        Scope::Own,
        ["cert-manager.io", "v1", "Certificate", "certificates"],
    ),
    (Scope::Own, ["cert-manager.io", "v1", "Issuer", "issuers"]),
    (Scope::Own, ["coordination.k8s.io", "v1", "Lease", "leases"]),
];

/// What is left in the cluster behind `client`, of an installation in `namespace`.
pub async fn gather(client: &Client, namespace: &str, now: Timestamp) -> Inventory {
    let mut found = Inventory::default();
    for kind in Marked::ALL {
        marked(client, kind, now, &mut found).await;
    }
    for (scope, names) in KINDS {
        owned(client, (scope, names), namespace, &mut found).await;
    }
    found.objects.sort();
    found
}

pub(super) fn resource([group, version, kind, plural]: [&str; 4]) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

/// The resource as `kubectl auth can-i` takes it.
fn right([group, _, _, plural]: [&str; 4], place: &str) -> String {
    let dot = if group.is_empty() { "" } else { "." };
    format!("list {plural}{dot}{group} {place}")
}

/// Looks for what was written on the objects of one kind.
async fn marked(client: &Client, kind: Marked, now: Timestamp, found: &mut Inventory) {
    let names = kind.names();
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource(names));
    let read = if kind.bounds().is_some() {
        list(&api, ListParams::default()).await
    } else {
        metadata(&api).await
    };
    match Seen::of(read, || right(names, "--all-namespaces")) {
        Seen::There(objects) => {
            for object in objects {
                note(kind, &object, now, found);
            }
        }
        Seen::Absent => {}
        Seen::Unseen(unseen) => found.unseen.push(Blind::new(names[3].to_owned(), &unseen)),
    }
}

/// The objects without their specs, of which there may be many.
async fn metadata(api: &Api<DynamicObject>) -> kube::Result<Vec<DynamicObject>> {
    let bare = |object: PartialObjectMeta<DynamicObject>| DynamicObject {
        types: object.types,
        metadata: object.metadata,
        data: Value::Null,
    };
    let mut params = ListParams::default().limit(PAGE);
    let mut all = Vec::new();
    loop {
        let page = api.list_metadata(&params).await?;
        all.extend(page.items.into_iter().map(bare));
        match page.metadata.continue_.filter(|more| !more.is_empty()) {
            Some(more) => params = params.continue_token(&more),
            None => return Ok(all),
        }
    }
}

fn note(kind: Marked, of: &DynamicObject, now: Timestamp, found: &mut Inventory) {
    let traces = traces(kind, &of.metadata, &of.data["spec"], now);
    let object = Object {
        kind: kind.names()[2].to_owned(),
        namespace: of.namespace(),
        name: of.name_any(),
    };
    if !traces.own.is_empty() {
        found.yours.push(Yours {
            object: object.clone(),
            annotations: traces.own.clone(),
        });
    }
    if traces.is_clean() {
        return;
    }
    let (kept, damaged) = match traces.bounds {
        Some(Ok(kept)) => (Some(kept), None),
        Some(Err(error)) => (None, Some(error.to_string())),
        None => (None, None),
    };
    found.marks.push(Mark {
        object,
        kind,
        user_bounds: kept.map(|kept| kept.user),
        bounds_now: kept.map(|kept| kept.now),
        damaged,
        annotations: traces.annotations,
        label: traces.label.then_some(ENABLED),
        outcome: None,
    });
}

/// Looks for the installation's own objects of one kind.
async fn owned(
    client: &Client,
    (scope, names): (Scope, [&str; 4]),
    own: &str,
    found: &mut Inventory,
) {
    let resource = resource(names);
    let (api, place): (Api<DynamicObject>, String) = match scope {
        Scope::Cluster => (Api::all_with(client.clone(), &resource), String::new()),
        Scope::Own => (
            Api::namespaced_with(client.clone(), own, &resource),
            format!("-n {own}"),
        ),
        Scope::System => (
            Api::namespaced_with(client.clone(), SYSTEM, &resource),
            format!("-n {SYSTEM}"),
        ),
    };
    // What has no label is told by its name, or by whom it serves.
    let everything = ["Lease", "APIService"].contains(&names[2]);
    let params = if everything {
        ListParams::default()
    } else {
        ListParams::default().labels(LABELLED)
    };
    match Seen::of(list(&api, params).await, || right(names, &place)) {
        Seen::There(objects) => found.objects.extend(
            objects
                .into_iter()
                .filter(|object| !everything || is_own(object, names[2], own))
                .map(|object| Object {
                    kind: names[2].to_owned(),
                    namespace: object.namespace(),
                    name: object.name_any(),
                }),
        ),
        Seen::Absent => {}
        Seen::Unseen(unseen) => found.unseen.push(Blind::new(
            format!("{} {place}", names[3]).trim().to_owned(),
            &unseen,
        )),
    }
}

/// Whether a Lease is the leader's, or an APIService is served by Evenkeel.
fn is_own(object: &DynamicObject, kind: &str, namespace: &str) -> bool {
    if kind == "Lease" {
        return object.name_any() == LEASE;
    }
    let service = &object.data["spec"]["service"];
    let name = service["name"].as_str().unwrap_or_default();
    service["namespace"] == namespace && name.starts_with("evenkeel")
}
