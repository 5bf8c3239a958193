//! Namespaces: those that opted in, annotations on them and on nodes that are not understood, and
//! the label that mirrors the opt-in.

use super::evidence::{Evidence, Found};
use super::webhook;
use super::wording::{count, named};
use crate::doctor::Finding;
use evenkeel_kubernetes::annotations::{ENABLED, InvalidAnnotation};
use evenkeel_kubernetes::capacities::Capacities;
use evenkeel_kubernetes::meta::Meta;
use evenkeel_kubernetes::namespace_policy::NamespacePolicy;
use evenkeel_kubernetes::node::node_facts;
use evenkeel_kubernetes::watched::Namespace;

const OPTED_IN: &str = "opted-in";
const ANNOTATIONS: &str = "annotations";
const MIRROR: &str = "label-mirror";

fn namespaces<'a>(evidence: &Evidence<'a>, id: &'static str) -> Result<&'a [Namespace], Finding> {
    let seen = evidence.seen.namespaces.look(id, "the namespaces")?;
    Ok(seen.map_or(&[], Vec::as_slice))
}

pub(super) fn opted_in(evidence: &Evidence<'_>) -> Found {
    let all = namespaces(evidence, OPTED_IN)?;
    let names = evidence.opted_in();
    Ok(vec![if names.is_empty() {
        Finding::info(
            OPTED_IN,
            format!(
                "none of {} has opted in: Evenkeel does nothing",
                count(all.len(), "namespace")
            ),
            format!("kubectl annotate namespace NAME {ENABLED}=true"),
        )
    } else {
        let what = format!(
            "{} opted in: {}",
            count(names.len(), "namespace"),
            named(&names)
        );
        Finding::ok(OPTED_IN, what)
    }])
}

pub(super) fn annotations(evidence: &Evidence<'_>) -> Found {
    let of_namespaces = namespaces(evidence, ANNOTATIONS)?
        .iter()
        .flat_map(|namespace| {
            let (_, invalid) = NamespacePolicy::parse(&namespace.metadata.annotations);
            refused("namespace", &namespace.metadata, invalid)
        });
    let nodes = evidence.seen.nodes.look(ANNOTATIONS, "the nodes")?;
    let of_nodes = nodes.into_iter().flatten().flat_map(|node| {
        let (_, invalid) = node_facts(node, &Capacities::default());
        refused("node", &node.metadata, invalid)
    });
    let mut found: Vec<Finding> = of_namespaces.chain(of_nodes).collect();
    if found.is_empty() {
        let what = "the annotations on namespaces and nodes are understood";
        found.push(Finding::ok(ANNOTATIONS, what));
    }
    Ok(found)
}

fn refused(kind: &str, meta: &Meta, invalid: Vec<InvalidAnnotation>) -> Vec<Finding> {
    let name = meta.name.as_deref().unwrap_or_default();
    let finding = |invalid: InvalidAnnotation| {
        let InvalidAnnotation {
            key,
            value,
            accepted,
        } = invalid;
        Finding::warning(
            ANNOTATIONS,
            format!("{kind} {name}: {key}: {value:?} is not accepted, the default applies"),
            format!("kubectl annotate --overwrite {kind} {name} {key}=VALUE; accepted: {accepted}"),
        )
    };
    invalid.into_iter().map(finding).collect()
}

pub(super) fn mirror(evidence: &Evidence<'_>) -> Found {
    let differs = |namespace: &&Namespace| {
        let enabled = NamespacePolicy::parse(&namespace.metadata.annotations)
            .0
            .enabled;
        let label = namespace.metadata.labels.get(ENABLED).map(String::as_str);
        label != enabled.then_some("true")
    };
    let names: Vec<&str> = namespaces(evidence, MIRROR)?
        .iter()
        .filter(differs)
        .filter_map(|namespace| namespace.metadata.name.as_deref())
        .collect();
    if names.is_empty() {
        return Ok(vec![Finding::ok(
            MIRROR,
            "the label follows the annotation everywhere",
        )]);
    }
    let what = format!(
        "the label {ENABLED} does not follow the annotation: {}",
        named(&names)
    );
    let fix = "the leader writes it: see leader, kill-switch, rights and write-guard";
    Ok(vec![if selects_by_label(evidence) {
        let what = format!("{what}; the webhook selects by it");
        Finding::error(MIRROR, what, fix)
    } else {
        Finding::warning(MIRROR, what, fix)
    }])
}

/// The webhook is narrowed to namespaces with the label.
fn selects_by_label(evidence: &Evidence<'_>) -> bool {
    let Ok(Some(webhook)) = webhook::registered(evidence, MIRROR) else {
        return false;
    };
    let selector = webhook.namespace_selector.as_ref();
    let labels = selector.and_then(|selector| selector.match_labels.as_ref());
    labels.is_some_and(|labels| labels.contains_key(ENABLED))
}
