//! NetworkPolicies: callers must get in, and Evenkeel out to Prometheus and kubelets. Judged as
//! written; enforcement is not visible.

use crate::doctor::observation::Look as _;
use std::collections::BTreeMap;

use k8s_openapi::api::networking::v1::{NetworkPolicy, NetworkPolicyPort, NetworkPolicySpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::evidence::{CheckFindings, Evidence};
use super::external_instance;
use super::finding_text::named;
use crate::doctor::DoctorFinding;

/// The port of webhook and extender, and its name in the Deployment.
const HTTPS: (i32, &str) = (8443, "https");

pub(super) const NETWORK: &str = "network-policy";

pub(super) fn check(evidence: &Evidence<'_>) -> CheckFindings {
    // A NetworkPolicy selects Pods.
    if external_instance::address(evidence).is_some() {
        return Ok(Vec::new());
    }
    let policies = evidence
        .seen
        .network_policies
        .look(NETWORK, "the NetworkPolicies")?;
    let ours: Vec<(&str, &NetworkPolicySpec)> = policies
        .into_iter()
        .flatten()
        .filter_map(selecting)
        .collect();
    if ours.is_empty() {
        return Ok(vec![DoctorFinding::info(
            NETWORK,
            "no NetworkPolicy selects Evenkeel's Pods: every client that reaches them may call",
            "kubectl apply -f deploy/base/network-policy.yaml",
        )]);
    }
    let found = [
        callers(&ours),
        prometheus(evidence, &ours),
        kubelets(evidence, &ours),
    ];
    let mut found: Vec<DoctorFinding> = found.into_iter().flatten().collect();
    if found.is_empty() {
        found.push(DoctorFinding::ok(
            NETWORK,
            "the NetworkPolicies allow callers in and Evenkeel's calls out",
        ));
    }
    Ok(found)
}

fn selecting(policy: &NetworkPolicy) -> Option<(&str, &NetworkPolicySpec)> {
    let spec = policy.spec.as_ref()?;
    let selects = spec.pod_selector.as_ref().is_none_or(selects_us);
    selects.then_some((policy.metadata.name.as_deref()?, spec))
}

fn selects_us(selector: &LabelSelector) -> bool {
    let ours = BTreeMap::from([("app.kubernetes.io/name", "evenkeel")]);
    let labels = selector.match_labels.iter().flatten();
    let mut labels = labels.map(|(key, value)| ours.get(&**key) == Some(&&**value));
    labels.all(|matches| matches) && selector.match_expressions.iter().flatten().next().is_none()
}

/// Finding where callers from outside of the cluster's Pods cannot reach webhook and extender.
fn callers(ours: &[(&str, &NetworkPolicySpec)]) -> Option<DoctorFinding> {
    let ours: Vec<_> = ours
        .iter()
        .filter(|(_, spec)| concerns(spec, "Ingress"))
        .collect();
    let mut rules = ours
        .iter()
        .flat_map(|(_, spec)| spec.ingress.iter().flatten());
    let lets_in = rules.any(|rule| {
        let ports = rule.ports.as_deref();
        let from = rule.from.iter().flatten();
        let beyond_pods = rule.from.as_ref().is_none_or(Vec::is_empty)
            || from.into_iter().any(|peer| peer.ip_block.is_some());
        beyond_pods && opens(ports, HTTPS.0, Some(HTTPS.1))
    });
    let names: Vec<&str> = ours.iter().map(|(name, _)| *name).collect();
    (!names.is_empty() && !lets_in).then(|| {
        DoctorFinding::warning(
            NETWORK,
            format!(
                "no NetworkPolicy allows the API server and kube-scheduler in, which are not Pods \
                 ({})",
                named(&names)
            ),
            format!(
                "kubectl apply -f deploy/base/network-policy.yaml (port {} without `from`)",
                HTTPS.0
            ),
        )
    })
}

/// Finding where the port of kubelets that are to be asked is closed.
fn kubelets(evidence: &Evidence<'_>, ours: &[(&str, &NetworkPolicySpec)]) -> Option<DoctorFinding> {
    const PORT: i32 = 10250;
    evidence.config()?.metrics.kubelet.as_ref()?;
    (!lets_out(ours, PORT)?).then(|| {
        DoctorFinding::warning(
            NETWORK,
            format!("no NetworkPolicy allows Evenkeel to call the kubelets on port {PORT}"),
            "kubectl apply -f deploy/base/network-policy.yaml, or set metrics.disk: none in the \
             configuration",
        )
    })
}

/// True where egress to the port is open; `None` where nothing bounds egress.
fn lets_out(ours: &[(&str, &NetworkPolicySpec)], port: i32) -> Option<bool> {
    let mut bounded = ours
        .iter()
        .filter(|(_, spec)| concerns(spec, "Egress"))
        .peekable();
    bounded.peek()?;
    let mut rules = bounded.flat_map(|(_, spec)| spec.egress.iter().flatten());
    Some(rules.any(|rule| opens(rule.ports.as_deref(), port, None)))
}

/// Finding where the port of Prometheus is closed.
fn prometheus(
    evidence: &Evidence<'_>,
    ours: &[(&str, &NetworkPolicySpec)],
) -> Option<DoctorFinding> {
    let source = &evidence.config()?.metrics.source;
    let url = &source.prometheus()?.connection.url;
    let port = match (url.port_u16(), url.scheme_str()) {
        (Some(port), _) => i32::from(port),
        (None, Some("https")) => 443,
        (None, _) => 80,
    };
    (!lets_out(ours, port)?).then(|| {
        DoctorFinding::warning(
            NETWORK,
            format!("no NetworkPolicy allows Evenkeel to call Prometheus on port {port}"),
            format!(
                "add `- port: {port}` to egress in deploy/base/network-policy.yaml and apply it \
                 (behind a Service, the port of its Pods)"
            ),
        )
    })
}

fn concerns(spec: &NetworkPolicySpec, direction: &str) -> bool {
    let types = spec.policy_types.iter().flatten();
    let mut types = types.map(String::as_str);
    types.any(|kind| kind == direction)
}

/// One of `ports` is the TCP port `number`, or has the name; no list stands for all ports.
fn opens(ports: Option<&[NetworkPolicyPort]>, number: i32, name: Option<&str>) -> bool {
    let Some(ports) = ports.filter(|ports| !ports.is_empty()) else {
        return true;
    };
    ports.iter().any(|port| {
        let tcp = port
            .protocol
            .as_deref()
            .is_none_or(|protocol| protocol == "TCP");
        let covers = match &port.port {
            None => true,
            Some(IntOrString::String(found)) => Some(&**found) == name,
            Some(IntOrString::Int(first)) => {
                (*first..=port.end_port.unwrap_or(*first)).contains(&number)
            }
        };
        tcp && covers
    })
}
