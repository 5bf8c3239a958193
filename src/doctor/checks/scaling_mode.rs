//! The check that scaling acts anywhere: by default Evenkeel recommends, and changes no replicas.

use evenkeel_hpa::autoscaler::Autoscaler;
use evenkeel_objects::annotations::SCALING;
use evenkeel_objects::meta::RelevantAnnotations;
use evenkeel_objects::namespace_policy::NamespacePolicy;
use evenkeel_objects::scaling_mode::ScalingMode;
use evenkeel_scaling::specs::scaling_policy::ScalingPolicy;
use evenkeel_service::annotation_check::Carrier;

use super::evidence::{CheckFindings, Evidence};
use super::finding_text::count;
use crate::doctor::DoctorFinding;
use crate::doctor::observation::Look as _;

pub(super) const MODE: &str = "scaling-mode";

pub(super) fn check(evidence: &Evidence<'_>) -> CheckFindings {
    let autoscalers = &evidence.seen.autoscalers;
    let autoscalers = autoscalers.look(MODE, "which HPAs there are")?;
    let opted_in = evidence.opted_in();
    if evidence.seen.objects.is_empty() || opted_in.is_empty() {
        return Ok(Vec::new());
    }
    let configured = evidence.config().map(|config| config.scaling.mode);
    if let Some(mode) = configured.filter(|mode| acts(*mode)) {
        let what = format!("scaling acts by default (scaling.mode: {})", mode.as_str());
        return Ok(vec![DoctorFinding::ok(MODE, what)]);
    }
    let acting = acting(evidence, &opted_in);
    if acting > 0 {
        let verb = if acting == 1 { "asks" } else { "ask" };
        let objects = count(acting, "namespace or object");
        let what = format!("{objects} {verb} for scaling that acts");
        return Ok(vec![DoctorFinding::ok(MODE, what)]);
    }
    let ours = |one: &&Autoscaler| {
        let namespace = one.metadata.namespace.as_deref();
        namespace.is_some_and(|namespace| opted_in.contains(&namespace))
    };
    let mut targets = autoscalers.into_iter().flatten().filter(ours);
    let Some(first) = targets.next() else {
        let what = "no HPA is in a namespace that has opted in: there is nothing to scale";
        return Ok(vec![DoctorFinding::ok(MODE, what)]);
    };
    let name = |text: &Option<String>| text.clone().unwrap_or_default();
    Ok(vec![DoctorFinding::info(
        MODE,
        format!(
            "scaling only recommends: {} in opted-in namespaces, none in mode floor or direct",
            count(targets.count() + 1, "HPA")
        ),
        format!(
            "to let Evenkeel raise replicas ahead of load: kubectl -n {} annotate hpa {} {SCALING}=floor",
            name(&first.metadata.namespace),
            name(&first.metadata.name)
        ),
    )])
}

/// How many namespaces and objects ask for scaling that changes replicas.
fn acting(evidence: &Evidence<'_>, opted_in: &[&str]) -> usize {
    let namespaces = evidence.seen.namespaces.there().into_iter().flatten();
    let by_namespace = namespaces.filter(|namespace| {
        let (policy, _) = NamespacePolicy::parse(&namespace.metadata.annotations);
        policy.enabled && policy.scaling.is_some_and(acts)
    });
    let by_object = evidence.objects().filter(|(of, object)| {
        let scales = matches!(of.carrier(), Carrier::Workload | Carrier::Autoscaler);
        opted_in.contains(&object.namespace())
            && (of.is_own() || scales && is_acting(&object.metadata.annotations))
    });
    by_namespace.count() + by_object.count()
}

fn is_acting(annotations: &RelevantAnnotations) -> bool {
    let (policy, _) = ScalingPolicy::parse(annotations);
    policy.scaling.is_some_and(acts)
}

const fn acts(mode: ScalingMode) -> bool {
    matches!(mode, ScalingMode::Floor | ScalingMode::Direct)
}
