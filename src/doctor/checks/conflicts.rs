//! Contested targets of scaling (refused, or left to another writer), and targets that something
//! keeps from being scaled.

use std::collections::BTreeSet;

use evenkeel_hpa::autoscaler::Autoscaler;
use evenkeel_objects::annotations::BOUNDS;
use evenkeel_objects::meta::Meta;
use evenkeel_scaling::specs::scaling_policy::ScalingPolicy;
use evenkeel_scaling::status::conditions::{CONFLICTS, is_problem};

use super::evidence::{CheckFindings, Evidence};
use super::finding_text::named;
use crate::doctor::DoctorFinding;

pub(super) const CONFLICT: &str = "scaling-conflicts";
pub(super) const PROBLEM: &str = "scaling-targets";

pub(super) fn conflicts(evidence: &Evidence<'_>) -> CheckFindings {
    let wanted = |condition: &str| CONFLICTS.contains(&condition);
    let told = holding(evidence, CONFLICT, "which targets are contested", wanted)?;
    Ok(vec![if told.is_empty() {
        DoctorFinding::ok(CONFLICT, "nothing else scales what Evenkeel scales")
    } else {
        DoctorFinding::warning(
            CONFLICT,
            format!(
                "another controller scales the same targets: {}",
                named(&told)
            ),
            "kubectl describe the object: its Events and the annotation \
             evenkeel.dev/scaling-status name the other; keep one of the two",
        )
    }])
}

pub(super) fn problems(evidence: &Evidence<'_>) -> CheckFindings {
    let told = holding(evidence, PROBLEM, "which targets can be scaled", is_problem)?;
    let mut found = without_room(evidence);
    if !told.is_empty() {
        found.push(DoctorFinding::warning(
            PROBLEM,
            format!("targets are not scaled as requested: {}", named(&told)),
            "kubectl describe the object: the conditions in its annotation \
             evenkeel.dev/scaling-status say what is missing",
        ));
    }
    if found.is_empty() {
        let what = "every target can be scaled as requested";
        found.push(DoctorFinding::ok(PROBLEM, what));
    }
    Ok(found)
}

/// The HPAs to scale without room between their bounds. An HPA with bounds moved by Evenkeel has
/// room.
fn without_room(evidence: &Evidence<'_>) -> Vec<DoctorFinding> {
    let opted_in = evidence.opted_in();
    let autoscalers = evidence.seen.autoscalers.there().into_iter().flatten();
    let stuck = autoscalers.filter(|autoscaler| {
        let Meta {
            namespace,
            annotations,
            ..
        } = &autoscaler.metadata;
        let namespace = namespace.as_deref();
        let is_asked = ScalingPolicy::parse(annotations).0.asks_for_scaling();
        let least = autoscaler.spec.min_replicas.unwrap_or(1);
        namespace.is_some_and(|namespace| opted_in.contains(&namespace))
            && is_asked
            && !annotations.contains_key(BOUNDS)
            && least >= autoscaler.spec.max_replicas
    });
    let finding = |autoscaler: &Autoscaler| {
        let name = |text: &Option<String>| text.clone().unwrap_or_default();
        let (namespace, name) = (
            name(&autoscaler.metadata.namespace),
            name(&autoscaler.metadata.name),
        );
        let most = autoscaler.spec.max_replicas;
        DoctorFinding::warning(
            PROBLEM,
            format!(
                "HPA {namespace}/{name} cannot act: its minReplicas are its maxReplicas ({most})"
            ),
            format!(
                "kubectl -n {namespace} patch hpa {name} --type=merge -p \
                 '{{\"spec\":{{\"maxReplicas\":{}}}}}'",
                most.saturating_mul(2).max(2)
            ),
        )
    };
    stuck.map(finding).collect()
}

/// The conditions that hold of targets, with what they hold of.
fn holding(
    evidence: &Evidence<'_>,
    check: &'static str,
    what: &'static str,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Vec<String>, DoctorFinding> {
    let pages = evidence.pages(check, what)?;
    let conditions = pages
        .iter()
        .flat_map(|(_, page)| page.labelled("evenkeel_scaling_target_condition"));
    let told: BTreeSet<String> = conditions
        .filter(|(_, holds)| *holds > 0.0)
        .filter_map(|(label, _)| {
            let condition = label("condition").filter(|condition| is_wanted(condition))?;
            let (namespace, kind) = (label("namespace")?, label("kind")?);
            Some(format!(
                "{condition} of {kind} {namespace}/{}",
                label("name")?
            ))
        })
        .collect();
    Ok(told.into_iter().collect())
}
