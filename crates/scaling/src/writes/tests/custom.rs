//! Custom resources, as targets and under HPAs and CronHPAs: by the paths of their definition, and refused
//! where those lead nowhere.

use evenkeel_objects::custom_kind::CustomKind;
use evenkeel_objects::scaled_kind::ScaledKind;
use evenkeel_objects::workload::Workload;

use super::*;
use crate::crons::{CronProblem, CronTarget, assign, scaled};
use crate::specs::cron_hpa::CheckedCronHpa;
use crate::tick::pod_coverage::PodCoverage;

/// Rollouts with counts in deeper fields than most have.
fn rollouts() -> CustomKind {
    let scaled = ScaledKind::new("argoproj.io/v1alpha1", "Rollout").unwrap();
    let paths = json!({"specReplicasPath": ".spec.size.pods", "statusReplicasPath": ".status.pods",
        "labelSelectorPath": ".status.selector"});
    let definition = json!({"spec": {"versions": [
        {"name": "v1alpha1", "subresources": {"scale": paths}}]}});
    let definition = serde_json::from_value(definition).unwrap();
    let found = scaled.found("rollouts", Some(definition)).unwrap();
    found.into_kind()
}

fn rollout(annotations: &[(&str, &str)], spec: &Value, status: &Value) -> Value {
    let annotations: BTreeMap<_, _> = annotations.iter().copied().collect();
    json!({"metadata": {"name": "web", "namespace": "shop", "uid": "r", "resourceVersion": "1",
        "annotations": annotations}, "spec": spec, "status": status})
}

const DIRECT: [(&str, &str); 3] = [
    (SCALING, "direct"),
    ("evenkeel.dev/min-replicas", "2"),
    ("evenkeel.dev/max-replicas", "10"),
];

fn healthy() -> (Value, Value) {
    let spec = json!({"size": {"pods": 4}, "replicas": 99});
    (
        spec,
        json!({"pods": 4, "selector": "tier in (b,a),app=web"}),
    )
}

/// The world's four Pods as those of a Rollout that nothing else scales.
fn observed(object: &Value) -> TargetObjects {
    let kind = Kind::Custom(rollouts());
    TargetObjects {
        workload: Some(Arc::new(Workload::deserialize(kind, object).unwrap())),
        target: TargetRef::of_kind(kind, "shop", "web"),
        ..World::alone(&[]).observed()
    }
}

fn resolved(observed: &TargetObjects) -> ResolvedTarget {
    resolve(observed, false, &settings(), None, at(0))
}

fn kinds(resolved: &ResolvedTarget) -> Vec<&'static str> {
    resolved.problems.iter().map(TargetProblem::kind).collect()
}

#[test]
fn a_custom_resource_is_read_by_the_paths_of_its_definition() {
    let (spec, status) = healthy();
    let observed = observed(&rollout(&DIRECT, &spec, &status));
    let workload = observed.workload.as_ref().unwrap();
    assert_eq!(workload.replicas, 4);
    assert_eq!(workload.selector.as_deref(), Some("app=web,tier in (a,b)"));
    let resolved = resolved(&observed);
    assert_eq!(
        resolved.mode,
        ScalingMode::Direct,
        "{:?}",
        resolved.problems
    );
    assert_eq!(resolved.target.as_ref().unwrap().current, 4);
    assert!(resolved.bounds.is_none(), "its spec is not written");
}

#[test]
fn its_count_is_written_through_scale_and_its_status_and_events_on_itself() {
    let (spec, status) = healthy();
    let observed = observed(&rollout(&DIRECT, &spec, &status));
    let resolved = resolved(&observed);
    let mut report = report(None, 0);
    report.decision.replicas = 7;
    let mut memory = PlanMemory::default();
    let writes = plan(
        &observed,
        &resolved,
        Some(&report),
        &mut memory,
        &context(at(0)),
    );
    let targets: Vec<_> = writes
        .iter()
        .map(|write| write.target.to_string())
        .collect();
    assert_eq!(
        targets[..2],
        [
            "rollouts.argoproj.io/scale shop/web",
            "rollouts.argoproj.io shop/web"
        ]
    );
    let WriteOperation::Conditional(patch) = &writes[0].operation else {
        panic!("{:?}", writes[0].operation);
    };
    let mut scale = json!({"metadata": {"uid": "r"}, "spec": {"replicas": 4}});
    conditional_patch::apply(&mut scale, patch).unwrap();
    assert_eq!(scale["spec"]["replicas"], 7);
}

#[test]
fn what_its_scale_is_not_made_of_is_refused_and_told_on_it() {
    let (spec, status) = healthy();
    for (spec, status, pods, refused) in [
        (
            json!({"replicas": 4}),
            &status,
            4,
            Some(("NoCount", ".spec.size.pods")),
        ),
        (
            json!({"size": {"pods": "4"}}),
            &status,
            4,
            Some(("NoCount", "set it")),
        ),
        (
            spec.clone(),
            &status,
            0,
            Some(("PodsUnknown", "ReplicaSet of its own")),
        ),
        (spec.clone(), &json!({"pods": 0}), 0, None),
        (spec.clone(), &json!({}), 0, None),
        (json!({"size": {"pods": 0}}), &status, 0, None),
    ] {
        let mut observed = observed(&rollout(&DIRECT, &spec, status));
        observed.pods.members.truncate(pods);
        let resolved = resolved(&observed);
        let told = resolved.problems.iter().map(ToString::to_string);
        let told: Vec<String> = told.collect();
        let Some((kind, why)) = refused else {
            assert!(!kinds(&resolved).contains(&"PodsUnknown"), "{told:?}");
            continue;
        };
        assert_eq!(kinds(&resolved), [kind], "{spec} {status}");
        assert!(told[0].contains(why), "{told:?}");
        let mut memory = PlanMemory::default();
        let writes = plan(&observed, &resolved, None, &mut memory, &context(at(0)));
        assert_eq!(writes[0].purpose, Purpose::ScalingStatus);
        assert_eq!(
            writes[0].target.to_string(),
            "rollouts.argoproj.io shop/web"
        );
    }
}

/// The harm: with one of ten Pods known, the count became what that one needs.
#[test]
fn a_count_is_not_made_of_some_of_the_pods() {
    let (spec, _) = healthy();
    for (there, known, refused) in [
        (10, 1, true),
        (10, 4, true),
        (6, 4, true),
        (5, 4, false),
        (4, 4, false),
        (3, 4, false),
        (0, 4, false),
    ] {
        let status = json!({"pods": there, "selector": "app=web"});
        let mut observed = observed(&rollout(&DIRECT, &spec, &status));
        observed.pods.members.truncate(known);
        let mut missing = PodCoverage::default();
        let place = format!("{known} of {there}");
        assert_eq!(
            missing.see(&observed, at(0)),
            None,
            "{place}: they may only lag"
        );
        assert_eq!(missing.are_missing(), refused, "{place}");
        assert_eq!(missing.see(&observed, at(60)), None, "{place}");
        let problem = missing.see(&observed, at(61));
        assert_eq!(problem.is_some(), refused, "{place}");
        let mut resolved = resolved(&observed);
        assert!(resolved.target.is_some(), "{place}");
        if let Some(problem) = problem {
            resolved.refuse(problem);
            assert!(resolved.target.is_none());
            assert_eq!(kinds(&resolved), ["PodsUnknown"]);
        }
        let whole = self::observed(&rollout(&DIRECT, &spec, &healthy().1));
        assert_eq!(missing.see(&whole, at(62)), None);
        assert!(!missing.are_missing(), "{place}");
    }
}

#[test]
fn pods_are_missing_from_the_last_time_that_they_began_to_be() {
    let (spec, _) = healthy();
    let status = json!({"pods": 10});
    let few = observed(&rollout(&DIRECT, &spec, &status));
    let mut missing = PodCoverage::default();
    assert_eq!(missing.see(&few, at(100)), None);
    // The clock is set back.
    assert_eq!(missing.see(&few, at(0)), None);
    assert_eq!(missing.see(&few, at(50)), None);
    assert!(missing.see(&few, at(70)).is_some());
}

/// The harm: an empty selector asks for the values of all Pods of the namespace.
#[test]
fn a_selector_that_selects_everything_is_none() {
    let (spec, _) = healthy();
    for (selector, kept) in [("", None), (" ", None), ("app=web", Some("app=web"))] {
        let status = json!({"pods": 4, "selector": selector});
        let observed = observed(&rollout(&DIRECT, &spec, &status));
        let workload = observed.workload.as_ref().unwrap();
        assert_eq!(workload.selector.as_deref(), kept, "{selector:?}");
    }
}

#[test]
fn an_hpa_of_a_custom_resource_has_its_floor() {
    let (spec, status) = healthy();
    let plain = rollout(&[], &spec, &status);
    let observed = TargetObjects {
        workload: observed(&plain).workload,
        target: observed(&plain).target,
        ..World::new().observed()
    };
    let found = resolved(&observed);
    assert_eq!(found.mode, ScalingMode::Floor, "{:?}", found.problems);
    assert_eq!(found.target.unwrap().current, 4);
    // The word of the workload is direct: then one of the two is too many.
    let direct = rollout(&DIRECT, &spec, &status);
    let observed = TargetObjects {
        workload: self::observed(&direct).workload,
        ..observed
    };
    assert_eq!(kinds(&resolved(&observed)), ["DirectConflict"]);
}

#[test]
fn a_reference_without_a_group_and_version_is_told_and_becomes_no_path() {
    let mut observed = World::new().observed();
    observed.workload = None;
    let written = "argoproj.io/v1alpha1%2Fnamespaces%2Fother%2Frollouts";
    observed.target = TargetRef::new(written, "Rollout", "shop", "web");
    let resolved = resolved(&observed);
    assert_eq!(kinds(&resolved), ["InvalidTarget"]);
    let told = resolved.problems[0].to_string();
    assert!(told.contains("apps/v1"), "{told}");
}

#[test]
fn crons_move_the_bounds_of_mode_direct_and_write_no_count() {
    let object = json!({
        "metadata": {"name": "sale", "namespace": "shop"},
        "spec": {"crons": [{"schedule": "0 8 * * *", "target": 6}],
            "scaleTargetRef": {"apiVersion": "argoproj.io/v1", "kind": "Rollout", "name": "web"}}});
    let object = Arc::new(serde_json::from_value(object).unwrap());
    let cron = Arc::new(CheckedCronHpa::new(object, None));
    let (spec, status) = healthy();
    let direct = observed(&rollout(&DIRECT, &spec, &status));
    let found = [direct.clone()];
    let crons = [Arc::clone(&cron)];
    assert_eq!(
        assign(&found, &[false], &crons),
        [CronTarget::Target(0)],
        "in whichever version"
    );
    let moved = scaled(&direct, &resolved(&direct), &cron, &[&cron]).unwrap();
    assert_eq!((moved.user.min, moved.user.max), (Some(2), 10));

    let plain = observed(&rollout(&[], &spec, &status));
    let refused = scaled(&plain, &resolved(&plain), &cron, &[&cron]).unwrap_err();
    assert!(matches!(refused, CronProblem::NotDirect(_)), "{refused}");
    assert!(refused.to_string().contains("evenkeel.dev/scaling: direct"));
    let none = assign(&[], &[], &crons);
    let [CronTarget::Refused(problem)] = none.as_slice() else {
        panic!("{none:?}");
    };
    assert!(problem.to_string().contains("scaling.kinds"), "{problem}");
}

#[test]
fn what_sleeps_is_woken_by_whoever_takes_evenkeel_away() {
    let told = json!({"mode": "direct", "replicas": 0, "conditions": [{
        "type": "ScaledToZero", "status": "True", "reason": "ScaledToZero", "message": "",
        "lastTransitionTime": "1970-01-01T00:00:00Z"}]});
    let told = told.to_string();
    let asleep = [(SCALING, "off"), (SCALING_STATUS, &*told)];
    let object = rollout(&asleep, &json!({"size": {"pods": 0}}), &json!({}));
    let observed = observed(&object);
    for writes in [
        plan(
            &observed,
            &resolved(&observed),
            None,
            &mut PlanMemory::default(),
            &context(at(0)),
        ),
        restore(&observed, &resolved(&observed)),
    ] {
        let scale = "rollouts.argoproj.io/scale shop/web";
        assert_eq!(writes[0].target.to_string(), scale);
    }
}
