//! Writes: the leader, the kill switch, the policies that guard writes and resize records, and the
//! job that restores abandoned values.

use jiff::SignedDuration;
use k8s_openapi::api::admissionregistration::v1::{
    NamedRuleWithOperations, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::api::batch::v1::CronJob;

use super::evidence::{CheckFindings, Evidence, replicas};
use super::external_instance;
use super::finding_text::about;
use crate::doctor::DoctorFinding;
use crate::doctor::observation::Look as _;
use evenkeel_service::controller::switch::Writes;

/// Age of its renewal after which a Lease is taken for abandoned, where it does not say.
const LEASE: SignedDuration = SignedDuration::from_secs(10);
/// Difference that the clocks of two machines may have.
const SKEW: SignedDuration = SignedDuration::from_secs(5);

pub(super) const LEADER: &str = "leader";
pub(super) const SWITCH: &str = "kill-switch";
pub(super) const GUARD: &str = "write-guard";
pub(super) const RECORD_GUARD: &str = "resize-record-guard";
pub(super) const CLEAN_UP: &str = "clean-up";
/// Age of its last success from which the clean-up, which runs every ten minutes, is in trouble.
const CLEAN_UP_DUE: SignedDuration = SignedDuration::from_hours(1);
/// The ClusterRoleBinding of the ServiceAccount that the guard narrows.
const GRANT: &str = "evenkeel";

pub(super) fn leader(evidence: &Evidence<'_>) -> CheckFindings {
    let lease = evidence
        .seen
        .lease
        .look(LEADER, "the Lease of the leader")?;
    let spec = lease.and_then(|lease| lease.spec.as_ref());
    let holder = spec.and_then(|spec| spec.holder_identity.as_deref());
    let holder = holder.filter(|holder| !holder.is_empty());
    let renewed = spec.and_then(|spec| spec.renew_time.as_ref());
    let (Some(holder), Some(renewed)) = (holder, renewed) else {
        return Ok(vec![leaderless(evidence, "no replica leads")]);
    };
    let seconds = spec.and_then(|spec| spec.lease_duration_seconds);
    let valid = seconds.map_or(LEASE, |seconds| SignedDuration::from_secs(seconds.into()));
    let age = evidence.seen.now.duration_since(renewed.0);
    Ok(vec![if age > valid + SKEW {
        let what = format!("{holder} last renewed the Lease {} ago", about(age));
        leaderless(evidence, &what)
    } else {
        let known = replicas(evidence.seen)
            .iter()
            .any(|replica| replica.pod.metadata.name.as_deref() == Some(holder));
        let who = if known { "replica " } else { "" };
        DoctorFinding::ok(LEADER, format!("{who}{holder} leads"))
    }])
}

fn leaderless(evidence: &Evidence<'_>, what: &str) -> DoctorFinding {
    DoctorFinding::error(
        LEADER,
        format!("{what}: Evenkeel does not retry refused Pods, mirror labels or raise floors"),
        format!(
            "see the findings about rights; {}",
            evidence.kubectl("logs -l app.kubernetes.io/name=evenkeel --tail=200 | grep -i lease")
        ),
    )
}

/// The replicas write, by their own metrics; `None` where that is not known.
fn obeyed(evidence: &Evidence<'_>) -> Option<bool> {
    let mut told = evidence
        .pages
        .iter()
        .filter_map(|(_, page)| page.sum("evenkeel_writes_enabled", &[]));
    let first = told.next()?;
    Some(first > 0.0 && told.all(|value| value > 0.0))
}

pub(super) fn kill_switch(evidence: &Evidence<'_>) -> CheckFindings {
    let edit = evidence.kubectl("edit configmap evenkeel");
    let said = evidence.config().map(|config| config.writes);
    let configured = said.map(|writes| writes == Writes::Enabled);
    Ok(vec![match (obeyed(evidence), configured) {
        (Some(obeyed), Some(configured)) if obeyed != configured => DoctorFinding::warning(
            SWITCH,
            format!(
                "the ConfigMap says writes: {}, but the replicas still use the previous value",
                said.unwrap_or_default().as_str()
            ),
            format!(
                "wait a minute for the kubelet to update the file, then {}",
                evidence.kubectl("rollout restart deployment/evenkeel")
            ),
        ),
        (Some(false), _) | (None, Some(false)) if said == Some(Writes::Restore) => {
            DoctorFinding::warning(
                SWITCH,
                "writes: restore is set: Evenkeel puts back all bounds and changes nothing else; \
                 the metric evenkeel_scaling_restoring counts the bounds that are left",
                format!("{edit}, and set writes: enabled"),
            )
        }
        (Some(false), _) | (None, Some(false)) => DoctorFinding::warning(
            SWITCH,
            "writes: disabled is set: Evenkeel changes nothing in the cluster and does not retry \
             refused Pods",
            format!("{edit}, and set writes: enabled"),
        ),
        (Some(true), _) | (None, Some(true)) => DoctorFinding::ok(SWITCH, "writes are enabled"),
        (None, None) => {
            evidence.pages(SWITCH, "the kill switch")?;
            let what = "the replicas do not report whether they write";
            DoctorFinding::info(
                SWITCH,
                what,
                evidence.kubectl("get configmap evenkeel -o yaml"),
            )
        }
    }])
}

pub(super) fn guard(evidence: &Evidence<'_>) -> CheckFindings {
    if external_instance::address(evidence).is_some() {
        let what = "the write guard restricts the ServiceAccount evenkeel; this Evenkeel runs under \
                    another identity";
        return Ok(vec![DoctorFinding::info(
            GUARD,
            what,
            external_instance::OWN_RIGHTS,
        )]);
    }
    let binding = evidence
        .seen
        .write_guard
        .look(GUARD, "the policy that restricts Evenkeel's writes")?;
    let spec = binding.and_then(|binding| binding.spec.as_ref());
    let denies = binding.is_some_and(denies);
    // By which the policy finds the ServiceAccount; an older one knew a single namespace.
    let parameter = spec.and_then(|spec| spec.param_ref.as_ref());
    let follows = parameter.is_some_and(|param| param.name.as_deref() == Some(GRANT));
    let uncovered = if denies && follows {
        uncovered(evidence)?
    } else {
        Vec::new()
    };
    Ok(vec![if let [first, ..] = *uncovered {
        DoctorFinding::warning(
            GUARD,
            format!(
                "no policy restricts what Evenkeel may patch on {}, which scaling.kinds names",
                uncovered.join(" and ")
            ),
            format!(
                "add {first} and its scale to the resourceRules of the ValidatingAdmissionPolicy \
                 evenkeel-writes, as deploy/components/custom-kinds does"
            ),
        )
    } else if denies && follows {
        DoctorFinding::ok(
            GUARD,
            "a policy restricts Evenkeel's writes to its own annotations, its label, replicas and bounds",
        )
    } else if denies {
        DoctorFinding::warning(
            GUARD,
            "the policy that restricts writes is of an older version, which covers the namespace \
             evenkeel-system only",
            "kubectl apply -f deploy/base/write-guard.yaml",
        )
    } else {
        DoctorFinding::warning(
            GUARD,
            "no policy restricts what Evenkeel may patch on nodes, namespaces, HPAs and workloads",
            "kubectl apply -f deploy/base/write-guard.yaml",
        )
    }])
}

/// The policy that keeps others from forging Evenkeel's record of a Pod's former resources.
pub(super) fn record_guard(evidence: &Evidence<'_>) -> CheckFindings {
    // By no right of a ServiceAccount.
    if external_instance::address(evidence).is_some() {
        return Ok(Vec::new());
    }
    let seen = &evidence.seen.record_guard;
    let binding = seen.look(
        RECORD_GUARD,
        "the policy that guards the records of resizes",
    )?;
    Ok(vec![if binding.is_some_and(denies) {
        let what = "only users who may resize a Pod can write the record of a resize";
        DoctorFinding::ok(RECORD_GUARD, what)
    } else {
        DoctorFinding::warning(
            RECORD_GUARD,
            "any user who may write a Pod can make Evenkeel resize it, with a forged record",
            "kubectl apply -f deploy/base/resize-record-guard.yaml",
        )
    }])
}

/// The scaled custom resources with writes that the policy does not cover, by their definitions.
fn uncovered<'a>(evidence: &Evidence<'a>) -> Result<Vec<&'a str>, DoctorFinding> {
    let kinds = &evidence.seen.custom_kinds;
    let kinds = kinds.look(GUARD, "the custom resources that are to be scaled")?;
    let served = kinds.into_iter().flatten();
    let served: Vec<&str> = served
        .filter_map(|kind| kind.definition.as_deref())
        .collect();
    if served.is_empty() {
        return Ok(served);
    }
    let policy = &evidence.seen.write_rules;
    let policy = policy.look(GUARD, "the policy that restricts Evenkeel's writes")?;
    let spec = policy.and_then(|policy| policy.spec.as_ref());
    let concerns = spec.and_then(|spec| spec.match_constraints.as_ref());
    let rules = concerns.and_then(|concerns| concerns.resource_rules.as_deref());
    let rules = rules.unwrap_or_default();
    let is_open = |definition: &&str| !rules.iter().any(|rule| covers(rule, definition));
    Ok(served.into_iter().filter(is_open).collect())
}

/// True for a rule that covers updates of objects with this definition, and of their scale.
fn covers(rule: &NamedRuleWithOperations, definition: &str) -> bool {
    let has = |list: &Option<Vec<String>>, names: &[&str]| {
        let mut list = list.iter().flatten();
        list.any(|one| names.contains(&one.as_str()))
    };
    let (plural, group) = definition.split_once('.').unwrap_or((definition, ""));
    let (scale, parts) = (format!("{plural}/scale"), format!("{plural}/*"));
    has(&rule.operations, &["UPDATE", "*"])
        && has(&rule.api_groups, &[group, "*"])
        && has(&rule.resources, &[plural, "*", "*/*"])
        && has(&rule.resources, &[&scale, &parts, "*/scale", "*/*"])
}

/// True where what the policy does not allow is refused, and not only told.
fn denies(binding: &ValidatingAdmissionPolicyBinding) -> bool {
    let spec = binding.spec.as_ref();
    let actions = spec.and_then(|spec| spec.validation_actions.as_ref());
    actions.is_some_and(|actions| actions.iter().any(|action| action == "Deny"))
}

pub(super) fn clean_up(evidence: &Evidence<'_>) -> CheckFindings {
    let seen = &evidence.seen.clean_up;
    let job = seen.look(CLEAN_UP, "the CronJob evenkeel-restore")?;
    let guard = &evidence.seen.clean_up_guard;
    let guard = guard.look(
        CLEAN_UP,
        "the policy that restricts the CronJob evenkeel-restore",
    )?;
    let Some(job) = job else {
        if external_instance::address(evidence).is_some() {
            let what = "no CronJob puts floors back if all replicas are lost";
            return Ok(vec![DoctorFinding::info(
                CLEAN_UP,
                what,
                external_instance::OWN_RIGHTS,
            )]);
        }
        return Ok(vec![DoctorFinding::warning(
            CLEAN_UP,
            "there is no CronJob evenkeel-restore: if all replicas were lost, floors would stay",
            "evenkeel install [your options] | kubectl apply -f -",
        )]);
    };
    if !guard.is_some_and(denies) {
        return Ok(vec![DoctorFinding::warning(
            CLEAN_UP,
            "no policy restricts what the CronJob evenkeel-restore may patch on HPAs and ScaledObjects",
            "kubectl apply -f deploy/base/restore-guard.yaml",
        )]);
    }
    Ok(vec![runs(evidence, job)])
}

/// The finding on a clean-up that is there: it is to have ended well within the last hour.
fn runs(evidence: &Evidence<'_>, job: &CronJob) -> DoctorFinding {
    let spec = job.spec.as_ref();
    if spec.and_then(|spec| spec.suspend).unwrap_or(false) {
        let patch = r#"patch cronjob evenkeel-restore -p '{"spec":{"suspend":false}}'"#;
        return DoctorFinding::warning(
            CLEAN_UP,
            "the CronJob evenkeel-restore is suspended: if all replicas were lost, floors would stay",
            evidence.kubectl(patch),
        );
    }
    let ended = job
        .status
        .as_ref()
        .and_then(|status| status.last_successful_time.as_ref());
    // A new one has not run yet.
    let since = ended.or(job.metadata.creation_timestamp.as_ref());
    let age = since.map(|since| evidence.seen.now.duration_since(since.0));
    match age {
        Some(age) if age > CLEAN_UP_DUE => DoctorFinding::warning(
            CLEAN_UP,
            format!(
                "the CronJob evenkeel-restore has not succeeded for {}",
                about(age)
            ),
            evidence.kubectl("logs -l app.kubernetes.io/name=evenkeel-restore --tail=50"),
        ),
        _ => DoctorFinding::ok(
            CLEAN_UP,
            "the CronJob evenkeel-restore runs: it restores bounds if all replicas are lost",
        ),
    }
}
