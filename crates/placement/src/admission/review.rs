//! The decision on one request.

use std::collections::BTreeMap;

use evenkeel_objects::annotations::{
    DEMAND, InvalidAnnotation, PROFILE, PROFILE_SOURCE, PROFILE_SOURCE_DECLARED,
    PROFILE_SOURCE_REQUESTS,
};
use evenkeel_objects::namespace_policy::NamespacePolicy;
use evenkeel_objects::pod::Pod;
use evenkeel_objects::truncate::excerpt;
use evenkeel_units::{Resources, words};
use jiff::Timestamp;

use super::patch::PodMutation;
use super::score_terms::{KUBE_SYSTEM, ScoreTermRequest, ScoreTermSource};
use super::wire::AdmissionRequestView;
use super::{patch, wire};
use crate::demand::{annotation, demand_by_itself};
use crate::score_term_rules::TermsOutcome;
use crate::snapshot::{OptIn, Snapshot};
use crate::{SchedulingPolicy, profile};

/// The scheduler that the API server enters where a Pod names none.
const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// Warnings sent at most: the API server cuts them off at 4 KB in all.
const MAX_WARNINGS: usize = 8;

/// Characters of a warning that may quote the Pod.
const LONGEST_WARNING: usize = 300;

words! {
    pub enum AdmissionOutcome {
        /// The Pod gets annotations.
        Patched = "patched",
        /// The Pod has everything already.
        Unchanged = "unchanged",
        NotAPod = "not_a_pod",
        /// The objects of the cluster have not all been listed.
        NotSynced = "not_synced",
        NamespaceUnknown = "namespace_unknown",
        NotOptedIn = "not_opted_in",
        Skipped = "skipped",
        Unreadable = "unreadable",
        PatchFailed = "patch_failed",
    }
}

/// A reviewed request: the answer's body and what to count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmissionReviewResult {
    pub body: Vec<u8>,
    pub outcome: AdmissionOutcome,
    pub profile: Option<String>,
    /// `None` if score labels are off, or the Pod was left alone before.
    pub score_terms: Option<TermsOutcome>,
}

/// True if new Pods with this metadata get the readiness gate: Pods of a workload with a
/// ReplicaProfile, while a controller runs that opens the gate.
pub type Gates<'a> = &'a dyn Fn(&str, &Pod) -> bool;

/// No Pod is given a gate.
pub fn ungated(_: &str, _: &Pod) -> bool {
    false
}

#[derive(Clone, Copy)]
pub struct AdmissionContext<'a> {
    pub snapshot: &'a Snapshot,
    pub policy: &'a SchedulingPolicy,
    pub gates: Gates<'a>,
    /// Asked only if score labels are on.
    pub score_terms: ScoreTermSource<'a>,
    pub now: Timestamp,
}

/// Reviews one request. Every request is allowed, at worst without a patch and with a warning.
pub fn review(
    request: &AdmissionRequestView<'_>,
    known: &AdmissionContext<'_>,
) -> AdmissionReviewResult {
    let decided = decide(request, known);
    let (outcome, decided) = match decided {
        Ok(decided) if decided.patch.is_some() => (AdmissionOutcome::Patched, decided),
        Ok(decided) => (AdmissionOutcome::Unchanged, decided),
        Err(AdmissionSkip { outcome, warning }) => {
            let warnings = warning.into_iter().collect();
            let nothing = AdmissionDecision {
                warnings,
                ..AdmissionDecision::default()
            };
            (outcome, nothing)
        }
    };
    let AdmissionDecision {
        patch,
        warnings,
        profile,
        score_terms,
    } = decided;
    AdmissionReviewResult {
        body: wire::answer(&request.uid, patch.as_deref(), &warnings),
        outcome,
        profile,
        score_terms,
    }
}

#[derive(Default)]
struct AdmissionDecision {
    patch: Option<Vec<u8>>,
    warnings: Vec<String>,
    profile: Option<String>,
    score_terms: Option<TermsOutcome>,
}

struct AdmissionSkip {
    outcome: AdmissionOutcome,
    warning: Option<String>,
}

impl AdmissionSkip {
    const fn quietly(outcome: AdmissionOutcome) -> Self {
        Self {
            outcome,
            warning: None,
        }
    }

    fn because(outcome: AdmissionOutcome, error: impl std::fmt::Display) -> Self {
        Self {
            outcome,
            warning: Some(excerpt(
                &format!("evenkeel: left the Pod as it is: {error}"),
                LONGEST_WARNING,
            )),
        }
    }
}

fn decide(
    request: &AdmissionRequestView<'_>,
    known: &AdmissionContext<'_>,
) -> Result<AdmissionDecision, AdmissionSkip> {
    let AdmissionContext {
        snapshot,
        policy,
        gates,
        now,
        ..
    } = *known;
    if !request.creates_pod() {
        return Err(AdmissionSkip::quietly(AdmissionOutcome::NotAPod));
    }
    // The median of nodes not seen yet would give a profile that the Pod then keeps for good.
    if !snapshot.synced {
        return Err(AdmissionSkip::quietly(AdmissionOutcome::NotSynced));
    }
    let name = request.namespace.as_deref().unwrap_or_default();
    let namespace = match snapshot.opt_in(name) {
        OptIn::Unknown => return Err(AdmissionSkip::quietly(AdmissionOutcome::NamespaceUnknown)),
        OptIn::Out => return Err(AdmissionSkip::quietly(AdmissionOutcome::NotOptedIn)),
        OptIn::In(namespace) => namespace,
    };
    let text = request.object.map_or("null", |object| object.get());
    let pod: Pod = serde_json::from_str(text)
        .map_err(|error| AdmissionSkip::because(AdmissionOutcome::Unreadable, error))?;
    if pod.is_skipped() {
        return Err(AdmissionSkip::quietly(AdmissionOutcome::Skipped));
    }
    let (annotations, warnings, profile) = annotate(&pod, namespace, known);
    let in_kube_system = name == KUBE_SYSTEM;
    let online_gate = !in_kube_system && gates(name, &pod);
    let scheduler_name = scheduler_for(&pod, snapshot, policy, now).filter(|_| !in_kube_system);
    let terms = ScoreTermRequest {
        pod: &pod,
        namespace_name: name,
        namespace,
        dry_run: request.dry_run,
        second_scheduler: scheduler_name.is_some(),
    };
    let (terms, terms_outcome) = terms.decide(snapshot, policy, known.score_terms);
    let wanted = PodMutation {
        annotations,
        scheduler_name,
        online_gate,
        score_terms: terms,
    };
    let mut object = patch::touched(text)
        .map_err(|error| AdmissionSkip::because(AdmissionOutcome::Unreadable, error))?;
    let patch = patch::operations(&object, &wanted);
    patch::apply(&mut object, &patch)
        .map_err(|error| AdmissionSkip::because(AdmissionOutcome::PatchFailed, error))?;
    let patch = (!patch.0.is_empty())
        .then(|| serde_json::to_vec(&patch))
        .transpose()
        .map_err(|error| AdmissionSkip::because(AdmissionOutcome::PatchFailed, error))?;
    Ok(AdmissionDecision {
        patch,
        warnings,
        profile: Some(profile),
        score_terms: terms_outcome,
    })
}

fn annotate(
    pod: &Pod,
    namespace: &NamespacePolicy,
    known: &AdmissionContext<'_>,
) -> (BTreeMap<&'static str, String>, Vec<String>, String) {
    let AdmissionContext {
        snapshot, policy, ..
    } = known;
    // Any client may send a review, so the answer reveals nothing about the use by other Pods.
    let demand = demand_by_itself(pod, policy.caps_as_demand);
    let mut invalid = demand.invalid.clone();
    let declared = pod.declared_profile();
    let choice = policy.profiles.choose(declared, || {
        let free = snapshot.nodes.median().free();
        profile::classify(
            &demand.amounts,
            &free,
            policy.profile_threshold_in(namespace),
        )
    });
    if let (Some(given), Some(_)) = (declared, &choice.classification) {
        let accepted = "compute, memory, io, network, normal, or a profile of the configuration";
        invalid.push(InvalidAnnotation::new(PROFILE, given, accepted));
    }
    let source = match choice.classification {
        None => PROFILE_SOURCE_DECLARED,
        Some(_) => PROFILE_SOURCE_REQUESTS,
    };
    let profile = choice.name.to_owned();
    let annotations = BTreeMap::from([
        (PROFILE, profile.clone()),
        (PROFILE_SOURCE, source.to_owned()),
        (
            DEMAND,
            annotation::write(&demand.amounts, Resources::default()),
        ),
    ]);
    let warnings = invalid
        .iter()
        .take(MAX_WARNINGS)
        .map(ToString::to_string)
        .collect();
    (annotations, warnings, profile)
}

/// The second scheduler, while it is alive, for a Pod that names no scheduler. System Pods stay
/// with the default scheduler, because a Pod waits for ever if its scheduler is gone.
fn scheduler_for(
    pod: &Pod,
    snapshot: &Snapshot,
    policy: &SchedulingPolicy,
    now: Timestamp,
) -> Option<String> {
    let named = pod.spec.scheduler_name.as_deref();
    let is_free = matches!(named, None | Some("" | DEFAULT_SCHEDULER));
    let is_clusters_own = pod.is_mirror() || pod.is_daemon_set() || pod.is_system_critical();
    let lease = snapshot.second_scheduler.as_ref();
    let is_alive = lease.is_some_and(|lease| lease.is_fresh(now));
    let name = policy.scheduler_name.clone()?;
    (is_free && !is_clusters_own && is_alive).then_some(name)
}
