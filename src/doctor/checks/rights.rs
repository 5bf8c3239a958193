//! Rights of the ServiceAccounts, compared with everything that the code does.

use std::collections::BTreeSet;

use evenkeel_objects::kinds::Kind;

use super::evidence::{CheckFindings, Evidence};
use super::external_instance;
use super::finding_text::count;
use crate::doctor::observation::Look as _;
use crate::doctor::{DoctorFinding, Right};
use evenkeel_service::cluster::access::Identity;
use evenkeel_service::metrics::Authorization;

pub(super) const RIGHTS: &str = "rights";

/// The manifest by which rights to custom resources are taken in.
pub(super) const CUSTOM_KINDS: &str = "deploy/components/custom-kinds/rbac.yaml";

pub(super) fn check(evidence: &Evidence<'_>) -> CheckFindings {
    if external_instance::address(evidence).is_some() {
        let what =
            "Evenkeel has the rights of its own kubeconfig, not those of the ServiceAccounts";
        return Ok(vec![DoctorFinding::info(
            RIGHTS,
            what,
            external_instance::OWN_RIGHTS,
        )]);
    }
    let seen = &evidence.seen.rights;
    let Some(rights) = seen.look(RIGHTS, "the ServiceAccounts' rights")? else {
        let what = "the API server does not answer questions about rights";
        let fix = "kubectl get clusterrolebinding,rolebinding -A | grep evenkeel";
        return Ok(vec![DoctorFinding::info(RIGHTS, what, fix)]);
    };
    let needed: Vec<&Right> = rights
        .iter()
        .filter(|right| is_needed(right, evidence))
        .collect();
    let missing: Vec<&Right> = needed
        .iter()
        .copied()
        .filter(|right| !right.allowed)
        .collect();
    if missing.is_empty() {
        let what = format!(
            "the ServiceAccounts have their {}",
            count(needed.len(), "right")
        );
        return Ok(vec![DoctorFinding::ok(RIGHTS, what)]);
    }
    let shown: Vec<String> = missing.iter().map(|right| shown(right)).collect();
    let files: BTreeSet<&str> = missing.iter().map(|right| file(right)).collect();
    let applied: Vec<String> = files.iter().map(|file| format!("-f {file}")).collect();
    let labelled = if files.contains(CUSTOM_KINDS) {
        ", and a ClusterRole labelled evenkeel.dev/aggregate-to-evenkeel for each other kind of \
         scaling.kinds (docs/howto/direct.md)"
    } else {
        ""
    };
    Ok(vec![
        DoctorFinding::error(
            RIGHTS,
            format!("the ServiceAccounts lack {}", count(missing.len(), "right")),
            format!("kubectl apply {}{labelled}", applied.join(" ")),
        )
        .seen_by(shown.join(", ")),
    ])
}

fn is_needed(right: &Right, evidence: &Evidence<'_>) -> bool {
    let config = evidence.config();
    let has_second_scheduler = config.is_some_and(|config| config.policy.scheduler_name.is_some());
    let balances_scale_in = config.is_some_and(|config| config.cluster.balances_scale_in);
    let follows_profiles = config.is_some_and(|config| config.scaling.follows_profiles);
    let resizes = config.is_some_and(|config| config.tuning.resizes);
    let runs_external_algorithms = config.is_some_and(|config| config.external_algorithms.are_run);
    let asks_checks = config.is_some_and(|config| config.external_checks.is_some());
    // A token from the configuration has its own rights; without one, Evenkeel needs this right.
    let asks_kubelets = config
        .and_then(|config| config.metrics.kubelet.as_ref())
        .is_some_and(|kubelets| kubelets.access.authorization == Authorization::None);
    (!right.for_certificates || evidence.makes_certificates())
        && (!right.for_second_scheduler || has_second_scheduler)
        && (!right.for_scale_in_balance || balances_scale_in)
        && (!right.for_replica_profiles || follows_profiles)
        && (!right.for_in_place_tuning || resizes)
        && (!right.for_external_algorithms || runs_external_algorithms)
        && (!right.for_external_checks || asks_checks)
        && is_asked_for_its_group(right, evidence)
        && (!is_for_metrics(right) || evidence.authenticates_metrics())
        && (!is_for_kubelets(right) || asks_kubelets)
}

/// The ServiceAccount and the right as `kubectl auth can-i` takes it.
fn shown(right: &Right) -> String {
    let mut text = format!("{} {}", right.verb, right.resource);
    if !right.group.is_empty() {
        text = format!("{text}.{}", right.group);
    }
    if let Some(name) = &right.name {
        text = format!("{text}/{name}");
    }
    format!("{} {text}", right.account)
}

/// False for a right of a group that is not served, or of the signer where there is none.
fn is_asked_for_its_group(right: &Right, evidence: &Evidence<'_>) -> bool {
    let is_served = match (right.for_external_metrics, right.for_metrics_provider) {
        (false, false) => return true,
        (true, _) => evidence.serves_external_metrics(),
        (false, true) => evidence.serves_series(),
    };
    let of_signer = right.account == Identity::Signer.as_str();
    is_served && (!of_signer || evidence.makes_certificates())
}

/// True for a right by which readers of the metrics are authenticated.
fn is_for_metrics(right: &Right) -> bool {
    !right.for_external_metrics
        && !right.for_metrics_provider
        && [Kind::TokenReview, Kind::SubjectAccessReview]
            .iter()
            .any(|kind| right.group == kind.group() && right.resource == kind.plural())
}

fn is_for_kubelets(right: &Right) -> bool {
    let is_for_token = right.resource == "serviceaccounts/token" && !right.for_external_checks;
    right.account == Identity::Kubelets.as_str() || is_for_token
}

/// The manifest that grants it.
fn file(right: &Right) -> &'static str {
    if right.for_certificates {
        "deploy/base/rbac-certificates.yaml"
    } else if right.for_external_metrics {
        "deploy/components/external-metrics/rbac.yaml"
    } else if right.for_metrics_provider {
        "deploy/components/metrics-provider/rbac.yaml"
    } else if right.for_custom_kinds {
        CUSTOM_KINDS
    } else if is_for_metrics(right) {
        "deploy/base/rbac-metrics.yaml"
    } else if is_for_kubelets(right) {
        "deploy/base/rbac-kubelets.yaml"
    } else if right.for_scale_in_balance {
        "deploy/components/scale-in-balance/rbac.yaml"
    } else if right.for_replica_profiles {
        "deploy/components/replica-profiles/rbac.yaml"
    } else if right.for_in_place_tuning {
        "deploy/components/in-place-tuning/rbac.yaml"
    } else if right.for_external_algorithms {
        "deploy/components/external-algorithms/rbac.yaml"
    } else if right.for_external_checks {
        "deploy/components/external-checks/rbac.yaml"
    } else if right.for_second_scheduler {
        "deploy/components/second-scheduler/rbac.yaml"
    } else if right.group == Kind::ClusterRole.group() || right.resource == "serviceaccounts" {
        "deploy/base/clean-up.yaml"
    } else {
        "deploy/base/rbac.yaml"
    }
}
