//! Namespaces: opted-in ones, objects that wait in others, and the mirror label.

use std::collections::BTreeMap;

use evenkeel_objects::annotations::ENABLED;
use evenkeel_objects::namespace_policy::NamespacePolicy;

use super::evidence::{CheckFindings, Evidence};
use super::finding_text::{count, named};
use super::webhook;
use crate::doctor::DoctorFinding;
use crate::doctor::observation::Look as _;
use evenkeel_service::annotation_check;
use evenkeel_service::annotation_check::Carrier;
use evenkeel_service::watched_types::Namespace;

pub(super) const OPTED_IN: &str = "opted-in";
pub(super) const NOT_OPTED_IN: &str = "not-opted-in";
pub(super) const MIRROR: &str = "label-mirror";

fn namespaces<'a>(
    evidence: &Evidence<'a>,
    id: &'static str,
) -> Result<&'a [Namespace], DoctorFinding> {
    let seen = evidence.seen.namespaces.look(id, "the namespaces")?;
    Ok(seen.map_or(&[], Vec::as_slice))
}

pub(super) fn opted_in(evidence: &Evidence<'_>) -> CheckFindings {
    let all = namespaces(evidence, OPTED_IN)?;
    let names = evidence.opted_in();
    Ok(vec![if names.is_empty() {
        DoctorFinding::info(
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
        DoctorFinding::ok(OPTED_IN, what)
    }])
}

/// Objects of Evenkeel's own kinds, and annotated objects, that have no effect.
pub(super) fn not_opted_in(evidence: &Evidence<'_>) -> CheckFindings {
    namespaces(evidence, NOT_OPTED_IN)?;
    if evidence.seen.objects.is_empty() {
        return Ok(Vec::new());
    }
    let opted_in = evidence.opted_in();
    let mut waiting: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (of, object) in evidence.objects() {
        let asks = of.is_own()
            || annotation_check::asks(of.carrier(), &object.metadata.annotations)
            || object
                .template()
                .is_some_and(|pods| annotation_check::asks(Carrier::Pod, pods));
        if asks && !opted_in.contains(&object.namespace()) {
            let name = format!("{} {}", of.kind, object.name());
            waiting.entry(object.namespace()).or_default().push(name);
        }
    }
    let mut found: Vec<DoctorFinding> = waiting
        .iter()
        .map(|(namespace, names)| {
            DoctorFinding::warning(
                NOT_OPTED_IN,
                format!(
                    "namespace {namespace} has not opted in, so Evenkeel ignores {} there",
                    count(names.len(), "object")
                ),
                format!("kubectl annotate namespace {namespace} {ENABLED}=true"),
            )
            .seen_by(named(names))
        })
        .collect();
    if found.is_empty() {
        let what = "everything that asks for Evenkeel is in a namespace that has opted in";
        found.push(DoctorFinding::ok(NOT_OPTED_IN, what));
    }
    Ok(found)
}

pub(super) fn mirror(evidence: &Evidence<'_>) -> CheckFindings {
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
        return Ok(vec![DoctorFinding::ok(
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
        DoctorFinding::error(MIRROR, what, fix)
    } else {
        DoctorFinding::warning(MIRROR, what, fix)
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
