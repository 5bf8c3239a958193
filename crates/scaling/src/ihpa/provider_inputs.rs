//! Puts into a target by portraits what is known before its loads are: what its providers come to, and what is under way.

use evenkeel_api::ihpa::status::IhpaStatus;
use evenkeel_api::replica_counts::ReplicaCounts;
use jiff::Timestamp;

use super::conditions::{SCALED_TO_ZERO, SCALING_ACTIVE};
use super::static_providers::given;
use super::status::subject;
use crate::stability::PausedChange;
use crate::staged_change::StagedChange;
use crate::status::memory::PlanMemory;
use crate::targets::resolve::ResolvedTarget;
use crate::targets::target_objects::TargetObjects;

/// Puts into a target by portraits what its providers come to that are known without the loads, and what is under
/// way.
pub fn portray(
    observed: &TargetObjects,
    resolved: &mut ResolvedTarget,
    memory: &mut PlanMemory,
    now: Timestamp,
) {
    let Some(ihpa) = observed.ihpa.as_deref() else {
        return;
    };
    let target = resolved.target.as_mut();
    let portraits = target.and_then(|target| target.portraits.as_deref_mut());
    let (Some(portraits), Ok(rules)) = (portraits, ihpa.rules()) else {
        return;
    };
    let held = memory.ihpa.before(&subject(ihpa), now);
    portraits.given = given(observed, rules, &mut memory.schedules, held, now);
    let Some(held) = held else { return };
    portraits.change = held.gray.as_ref().map(StagedChange::from_status);
    let stability = held.stability.as_ref();
    portraits.holds = stability
        .map(PausedChange::all_of_status)
        .unwrap_or_default();
    portraits.told = held.desired.map(|desired| desired.online_replicas);
    let workload = observed.workload.as_ref();
    let rests = workload.is_some_and(|workload| rests_at_zero(held, workload.replicas));
    portraits.rests_at_zero = rests;
    if rests {
        // Whatever a profile says: it is not followed meanwhile.
        portraits.counts = ReplicaCounts::default();
        (portraits.reached, portraits.change) = (None, None);
    }
    if let Some(target) = resolved.target.as_mut().filter(|_| rests) {
        target.current = 0;
    }
}

/// True for a count of 0 that the user has set by hand, which switches scaling off as it does an HPA: there were replicas
/// at the tick before, and others than none were asked for. It stays so until there are some again.
fn rests_at_zero(held: &IhpaStatus, count: i32) -> bool {
    let rests = held
        .conditions
        .iter()
        .any(|one| one.kind == SCALING_ACTIVE && one.reason == SCALED_TO_ZERO);
    let had = held.current_replicas.is_some_and(|before| before > 0);
    let asked = held
        .desired
        .is_some_and(|desired| desired.online_replicas > 0);
    count == 0 && (rests || (had && asked))
}
