//! How many Pods of a workload take traffic, how many only run, and how many stand by: from the wanted
//! counts and the Pods as they are to changes of single Pods and the count of the workload.
//!
//! Pods change into neighbouring states alone: online, cut off, standby. More traffic is taken by those that
//! are cut off, then by those that stand by, and only what is still missing then by new ones; the count of a
//! workload rises at once and falls Pod by Pod, each being out of traffic for a while before it goes. What takes
//! traffic is counted by Pods that are ready as a whole, so that a cut-off Pod stands in for one that is not.

mod count_difference;
mod drain_blockage;
mod limits;
mod pod;
mod pod_counts;
mod profile_input;
mod scale_in;

use count_difference::{at_least_none, excess};
use drain_blockage::DrainBlockage;
use evenkeel_api::replica_counts::ReplicaCounts;
use evenkeel_api::replica_profile::profile_rules::ProfileRules;
use evenkeel_api::replica_profile::refusal::ProfileRefusal;
use evenkeel_objects::pod_state::PodState;
use evenkeel_objects::rollout::RolloutProgress;
use jiff::SignedDuration;
use limits::Allowance;
pub use limits::{Budget, DisruptionLimits};
pub use pod::{PodResources, ProfilePod};
use pod_counts::PodCounts;
pub use profile_input::ProfileInput;
use scale_in::ProfileScaleIn;

/// A Pod is only taken out of traffic where those that stay have been ready for so long.
const SETTLED: SignedDuration = SignedDuration::from_secs(10);

/// A Pod that changes its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateChange {
    /// Its position.
    pub pod: usize,
    pub to: PodState,
}

/// The actions for a profile at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProfilePlan {
    pub changes: Vec<StateChange>,
    /// The count that the workload is to have now; it falls to the sum step by step.
    pub replicas: i32,
    /// The positions of the Pods that are to be deleted, the first of them first.
    pub victims: Vec<usize>,
    /// The refused actions, each with its reason.
    pub refusals: Vec<ProfileRefusal>,
    /// True where Pods that are to go wait for limits to let one be taken out of traffic.
    pub waits: bool,
}

/// Decides what is to be done for a profile at one moment.
pub fn decide(rules: &ProfileRules, seen: &ProfileInput<'_>) -> ProfilePlan {
    let census = PodCounts::of(seen, SETTLED.max(seen.min_ready));
    if let Some(refusal) = stands_still(rules, &census) {
        return ProfilePlan {
            replicas: seen.replicas,
            refusals: vec![refusal],
            ..ProfilePlan::default()
        };
    }
    let wanted = rules.wanted;
    let surplus = excess(seen.replicas, wanted.total());
    let mut plan = ProfilePlan {
        refusals: seen.limits.refusal(wanted.parked()).into_iter().collect(),
        ..ProfilePlan::default()
    };
    // Those that its controller has not deleted yet go too, and replicas without a Pod are gone. Those that are not
    // ready need not be taken out of traffic: their controller deletes them first, unless it goes by ordinals.
    let going = excess(census.pods, wanted.total());
    let first = if seen.goes_by_ordinals() {
        0
    } else {
        census.unready
    };
    let leaving = excess(going, first);
    let off = wanted.parked().saturating_add(leaving);
    let raised = raise(rules, seen, &census, off, &mut plan);
    let mut blocked = DrainBlockage::No;
    if !raised && !seen.is_rolling {
        blocked = lower(rules, seen, &census, off, &mut plan);
    }
    if off > 0 && seen.limits.within(off) == 0 {
        blocked = DrainBlockage::Always;
    }
    let taken_off = plan.changes.iter().map(|change| change.pod);
    let taken_off = taken_off.filter(|&pod| !seen.pods[pod].state.is_off());
    let scale_in = ProfileScaleIn {
        taken_off: taken_off.collect(),
        rules,
        seen,
        census: &census,
        undrained: blocked.undrained(rules, seen),
    };
    plan.victims = scale_in.victims(going);
    if !raised && !seen.is_rolling {
        let exchanged = exchange(rules.wanted, seen, &plan.victims);
        plan.changes.extend(exchanged);
    }
    plan.replicas = if surplus > 0 {
        seen.replicas - scale_in.ripe(surplus, &plan.victims)
    } else if seen.limits.is_ordered && census.off() > 0 {
        // No further Pod would be made before all are ready.
        seen.replicas
    } else {
        wanted.total()
    };
    plan.waits = surplus > 0 && blocked == DrainBlockage::Now && plan.replicas == seen.replicas;
    plan
}

fn stands_still(rules: &ProfileRules, census: &PodCounts) -> Option<ProfileRefusal> {
    if rules.paused {
        return Some(ProfileRefusal::Paused);
    }
    let (current, wanted) = (census.online_replicas, rules.wanted.online);
    (!rules.direction.allows(current, wanted)).then_some(ProfileRefusal::Direction {
        allowed: rules.direction,
        current,
        wanted,
    })
}

/// Brings Pods closer to traffic, where too few take it or more are out of it than may be; gives whether
/// any does or is about to.
fn raise(
    rules: &ProfileRules,
    seen: &ProfileInput<'_>,
    census: &PodCounts,
    off: i32,
    plan: &mut ProfilePlan,
) -> bool {
    let lacking = excess(rules.wanted.online, census.serving);
    // Pods that the controller is about to delete no longer count.
    let staying = excess(census.off(), census.leaving(seen));
    let beyond = excess(staying, seen.limits.within(off));
    let beyond = if waits_for_all(rules, seen) {
        census.off()
    } else {
        beyond
    };
    let misplaced = misplaced(seen, off);
    let mut needed = lacking.max(beyond).max(misplaced);
    let is_raised = needed > 0 && census.off() > 0;
    for pod in PodCounts::raised_first(seen) {
        if needed == 0 {
            break;
        }
        let found = &seen.pods[pod];
        let to = match found.state {
            PodState::Standby => PodState::Cutoff,
            PodState::Cutoff if found.resources == PodResources::Full => PodState::Online,
            PodState::Cutoff if found.resources == PodResources::Withheld => continue,
            // It is about to have what it asks for.
            PodState::Cutoff | PodState::Online => {
                needed -= 1;
                continue;
            }
        };
        plan.changes.push(StateChange { pod, to });
        needed -= 1;
    }
    // It is told of though another one takes its place.
    let pods = census.withheld;
    if pods > 0 {
        plan.refusals.push(ProfileRefusal::Withheld { pods });
    }
    is_raised
}

/// True where no Pod may be out of traffic, since its controller waits for all of them to be ready: to make the next
/// one, to replace the next one, or to call its version brought out. While a Deployment has Pods of another version,
/// those out of traffic are the first that it replaces.
fn waits_for_all(rules: &ProfileRules, seen: &ProfileInput<'_>) -> bool {
    let grows = rules.wanted.total() > seen.replicas;
    let rolls = seen.progress == RolloutProgress::UnderWay;
    if seen.limits.is_ordered {
        grows || rolls
    } else {
        rolls && !seen.is_rolling
    }
}

/// The Pods out of traffic of a workload that goes by ordinals which are not those that go next.
fn misplaced(seen: &ProfileInput<'_>, off: i32) -> i32 {
    let first = at_least_none(off);
    let behind = seen.pods.iter().skip(first);
    let misplaced = behind.filter(|pod| pod.ordinal.is_some() && pod.state.is_off());
    i32::try_from(misplaced.count()).unwrap_or(i32::MAX)
}

/// Takes Pods out of traffic, where more take it than is wanted; gives whether limits let none go that should.
fn lower(
    rules: &ProfileRules,
    seen: &ProfileInput<'_>,
    census: &PodCounts,
    off: i32,
    plan: &mut ProfilePlan,
) -> DrainBlockage {
    let spare = excess(census.settled, rules.wanted.online);
    let others = census.missing.saturating_add(census.unready);
    let most = seen.limits.beside(off, others);
    let missing = excess(off, census.off());
    if seen.progress != RolloutProgress::Complete {
        return if missing > 0 {
            DrainBlockage::Now
        } else {
            DrainBlockage::No
        };
    }
    let mut left = spare.min(excess(most, census.off()));
    let mut allowance = Allowance::of(seen.limits);
    let (mut taken, mut ungated) = (0, 0);
    for (pod, found) in seen.pods.iter().enumerate() {
        if !found.serves() || left == 0 {
            continue;
        }
        if !found.is_gated {
            ungated += 1;
        } else if allowance.take(pod) {
            let to = PodState::Cutoff;
            plan.changes.push(StateChange { pod, to });
            (left, taken) = (left - 1, taken + 1);
        }
    }
    let refusal = allowance.refusal();
    // Where some are on their way out, the next ones come after them.
    let none_leaves = taken == 0 && census.off() <= rules.wanted.parked();
    if left > 0 && refusal.is_none() && ungated > 0 {
        plan.refusals.push(ProfileRefusal::NoGate {
            pods: left.min(ungated),
        });
    }
    let is_budgets = left > 0 && refusal.is_some();
    plan.refusals.extend(refusal.filter(|_| left > 0));
    // By ordinals the next one goes though it is needed, where one that is not ready stays in its place.
    let is_needed = spare == 0 && !seen.goes_by_ordinals();
    if !none_leaves || missing == 0 || is_needed || (left > 0 && !is_budgets) {
        return DrainBlockage::No;
    }
    let has_room = seen.limits.within(off) > rules.wanted.parked();
    if !has_room || (is_budgets && !allowance.waits()) {
        return DrainBlockage::Always;
    }
    // A short restart is not reported; a lasting wait is.
    if !is_budgets
        && seen
            .waits_since
            .is_some_and(|since| seen.now.duration_since(since) >= SETTLED)
    {
        plan.refusals
            .push(ProfileRefusal::Unavailable { pods: others });
    }
    DrainBlockage::Now
}

/// Exchanges Pods that are cut off with Pods on standby, if both counts call for it. The victims stay
/// as they are: the next Pod to go, as told to its controller, must not be another one a moment later.
fn exchange(wanted: ReplicaCounts, seen: &ProfileInput<'_>, victims: &[usize]) -> Vec<StateChange> {
    let staying = |state| {
        let mut order = PodCounts::longest_off(seen, state);
        order.retain(|at| !victims.contains(at));
        order
    };
    let (cutoff, standby) = (staying(PodState::Cutoff), staying(PodState::Standby));
    let (wants_cutoff, wants_standby) =
        (at_least_none(wanted.cutoff), at_least_none(wanted.standby));
    let free = cutoff.len().saturating_sub(wants_cutoff);
    let lacking = wants_standby.saturating_sub(standby.len()).min(free);
    let (from, to, count) = if lacking > 0 {
        (cutoff, PodState::Standby, lacking)
    } else {
        let too_many = standby.len().saturating_sub(wants_standby);
        let lacking = wants_cutoff.saturating_sub(cutoff.len());
        (standby, PodState::Cutoff, too_many.min(lacking))
    };
    let exchanged = from.into_iter().take(count);
    exchanged.map(|pod| StateChange { pod, to }).collect()
}

#[cfg(test)]
mod tests;
