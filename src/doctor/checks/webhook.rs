//! The webhook: registered as shipped, backed by endpoints, and really called.

use evenkeel_objects::annotations::{ENABLED, PROFILE};
use k8s_openapi::api::admissionregistration::v1::{MutatingWebhook, MutatingWebhookConfiguration};
use k8s_openapi::api::core::v1::Service;
use serde_json::Value;

use super::evidence::{CheckFindings, Evidence};
use super::finding_text::count;
use crate::doctor::observation::Look as _;
use crate::doctor::{DoctorFinding, PodOfDryRun};
use evenkeel_service::cluster::registration::{CONFIGURATION, ours};
use evenkeel_service::server::paths;

/// The registration as it is installed.
const SHIPPED: &str = include_str!("../../../webhook-config/mutating-webhook.yaml");
/// The namespace in it.
const SHIPPED_NAMESPACE: &str = "evenkeel-system";
const COMPARED: [&str; 6] = [
    "/rules",
    "/timeoutSeconds",
    "/sideEffects",
    "/reinvocationPolicy",
    "/matchPolicy",
    "/admissionReviewVersions",
];

pub(super) const REGISTRATION: &str = "webhook";
pub(super) const ENDPOINTS: &str = "endpoints";
pub(super) const TRIAL: &str = "webhook-call";

const APPLY: &str = "evenkeel install [your options] | kubectl apply -f -";

pub(super) fn registered<'a>(
    evidence: &Evidence<'a>,
    id: &'static str,
) -> Result<Option<&'a MutatingWebhook>, DoctorFinding> {
    let all = evidence
        .seen
        .webhooks
        .look(id, "the registration of the webhook")?;
    let named =
        |one: &&MutatingWebhookConfiguration| one.metadata.name.as_deref() == Some(CONFIGURATION);
    Ok(all.and_then(|all| ours(all.iter().find(named)?)))
}

pub(super) fn registration(evidence: &Evidence<'_>) -> CheckFindings {
    let Some(webhook) = registered(evidence, REGISTRATION)? else {
        return Ok(vec![DoctorFinding::error(
            REGISTRATION,
            "the webhook is not registered: no Pod is classified",
            APPLY,
        )]);
    };
    let mut found = Vec::new();
    if webhook.failure_policy.as_deref() != Some("Ignore") {
        found.push(DoctorFinding::error(
            REGISTRATION,
            "failurePolicy is not Ignore: while Evenkeel does not answer, no Pod can be created",
            format!("{APPLY} (failurePolicy: Ignore)"),
        ));
    }
    let service = webhook.client_config.service.as_ref();
    let leads = service.is_some_and(|service| {
        service.namespace == evidence.seen.namespace
            && service.name == CONFIGURATION
            && service.path.as_deref() == Some(paths::MUTATE)
    });
    if !leads {
        let (namespace, path) = (&evidence.seen.namespace, paths::MUTATE);
        found.push(DoctorFinding::error(
            REGISTRATION,
            format!(
                "the webhook does not point to the Service {namespace}/{CONFIGURATION}, path {path}"
            ),
            APPLY,
        ));
    }
    found.extend(differences(webhook, &evidence.seen.namespace));
    if found.is_empty() {
        found.push(DoctorFinding::ok(
            REGISTRATION,
            "the webhook is registered as shipped",
        ));
    }
    Ok(found)
}

/// Finding where the registration differs from the shipped one, although it may work.
fn differences(webhook: &MutatingWebhook, namespace: &str) -> Option<DoctorFinding> {
    let text = SHIPPED.replace(SHIPPED_NAMESPACE, namespace);
    let shipped: Value =
        evenkeel_service::config::yaml::parse(&text).expect("the shipped manifest is YAML");
    let shipped = &shipped["webhooks"][0];
    let found = serde_json::to_value(webhook).expect("a webhook is JSON");
    let differs = |path: &&str| shipped.pointer(path) != found.pointer(path);
    let mut fields: Vec<&str> = COMPARED
        .into_iter()
        .filter(differs)
        .map(|path| &path[1..])
        .collect();
    // Selectors may narrow further; what must start without Evenkeel stays excluded.
    let expressions = |webhook: &Value| {
        let found = webhook.pointer("/namespaceSelector/matchExpressions");
        found.and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let kept = expressions(&found);
    if !expressions(shipped).iter().all(|one| kept.contains(one)) {
        fields.push("namespaceSelector");
    }
    (!fields.is_empty()).then(|| {
        DoctorFinding::warning(
            REGISTRATION,
            format!(
                "the webhook differs from the shipped one in {}",
                fields.join(", ")
            ),
            format!("{APPLY}; webhook-config/mutating-webhook.yaml gives the reason of each field"),
        )
    })
}

pub(super) fn endpoints(evidence: &Evidence<'_>) -> CheckFindings {
    let webhook = evidence
        .seen
        .webhook_service
        .look(ENDPOINTS, "the webhook's Service")?;
    let extender = evidence
        .seen
        .extender_service
        .look(ENDPOINTS, "the extender's Service")?;
    [("evenkeel", webhook), ("evenkeel-extender", extender)]
        .into_iter()
        .map(|(name, service)| endpoints_of(evidence, name, service))
        .collect()
}

fn endpoints_of(
    evidence: &Evidence<'_>,
    name: &str,
    service: Option<&Service>,
) -> Result<DoctorFinding, DoctorFinding> {
    let Some(service) = service else {
        let what = format!("there is no Service {name}");
        return Ok(DoctorFinding::error(ENDPOINTS, what, APPLY));
    };
    let external = service
        .spec
        .as_ref()
        .and_then(|spec| spec.external_name.as_deref());
    if let Some(external) = external {
        let what = format!("the Service {name} points to {external}");
        return Ok(DoctorFinding::ok(ENDPOINTS, what));
    }
    let slices = evidence
        .seen
        .endpoints
        .look(ENDPOINTS, "the endpoints of the Services")?;
    let Some(slices) = slices else {
        let what = "the API server does not know EndpointSlices";
        return Ok(DoctorFinding::info(
            ENDPOINTS,
            what,
            evidence.kubectl("get services"),
        ));
    };
    let of_service = slices.iter().filter(|slice| {
        let labels = slice.metadata.labels.as_ref();
        let service = labels.and_then(|labels| labels.get("kubernetes.io/service-name"));
        service.map(String::as_str) == Some(name)
    });
    let ready = of_service
        .flat_map(|slice| &slice.endpoints)
        .filter(|endpoint| {
            let conditions = endpoint.conditions.as_ref();
            conditions.is_none_or(|conditions| conditions.ready != Some(false))
        })
        .count();
    Ok(if ready == 0 {
        DoctorFinding::error(
            ENDPOINTS,
            format!("the Service {name} has no ready Pod"),
            format!(
                "{}: its selector must be app.kubernetes.io/name=evenkeel, and ready Pods must \
                 carry this label",
                evidence.kubectl(&format!("describe service {name}"))
            ),
        )
    } else {
        DoctorFinding::ok(
            ENDPOINTS,
            format!("{} behind the Service {name}", count(ready, "endpoint")),
        )
    })
}

pub(super) fn trial(evidence: &Evidence<'_>) -> CheckFindings {
    let seen = &evidence.seen.trial;
    let Some(trial) = seen.look(TRIAL, "whether the webhook is called")? else {
        return Ok(vec![DoctorFinding::info(
            TRIAL,
            "the webhook was not tried: no namespace has opted in",
            format!("kubectl annotate namespace NAME {ENABLED}=true"),
        )]);
    };
    let namespace = &trial.namespace;
    Ok(vec![match &trial.answer {
        PodOfDryRun::Admitted(annotations) => match annotations.get(PROFILE) {
            Some(profile) => DoctorFinding::ok(
                TRIAL,
                format!("a Pod in {namespace} would be classified ({profile})"),
            ),
            None => DoctorFinding::error(
                TRIAL,
                format!(
                    "a Pod in {namespace} would not be classified: the API server does not reach \
                     the webhook, or does not trust it"
                ),
                "fix webhook, webhook-trust and endpoints first; if they are ok, let the control \
                 plane reach Pods on port 8443 (with a firewall rule, on managed control planes). \
                 kubectl get --raw /metrics | grep 'webhook_fail_open_count.*pods.evenkeel.dev' \
                 counts the failures",
            ),
        },
        PodOfDryRun::Refused(why) => DoctorFinding::warning(
            TRIAL,
            format!("the webhook could not be tried: a Pod in {namespace} is refused"),
            format!("kubectl -n {namespace} run probe --image=registry.k8s.io/pause:3.10 --dry-run=server"),
        )
        .seen_by(why),
    }])
}
