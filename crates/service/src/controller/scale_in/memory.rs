//! A leader's memory of scale-ins between rounds: standing choices, unexamined scale-ins, and
//! writes that wait for costs.

use std::collections::HashMap;

use evenkeel_objects::controller_key::ControllerKey;
use evenkeel_objects::object_ref::ObjectRef;
use evenkeel_objects::plan::Write;
use evenkeel_placement::plan::deletion_cost::Rounds;
use evenkeel_scaling::writes::scale_in::{PendingScaleIn, ScaleInWrite};
use jiff::{SignedDuration, Timestamp};

use super::tick_scale_ins::ScaleIns;

/// The longest that a scale-in waits for costs: less than the time between two ticks of an HPA.
const HOLD: SignedDuration = SignedDuration::from_secs(10);

#[derive(Debug, Default)]
pub(in crate::controller) struct ScaleInMemory {
    pub(super) rounds: Rounds,
    pub(super) coming: Vec<UpcomingScaleIn>,
    pub(super) held: Vec<HeldLowering>,
}

/// A scale-in that waits for the choice of the Pods that go first.
#[derive(Debug)]
pub(super) struct UpcomingScaleIn {
    pub(super) scale_in: PendingScaleIn,
    pub(super) replica_set: ControllerKey,
    pub(super) since: Timestamp,
}

/// A write that waits for costs.
#[derive(Debug)]
pub(in crate::controller) struct HeldLowering {
    pub(super) lowering: ScaleInWrite,
    /// The ReplicaSet with the Pods that are to show the costs; `None` if none are awaited.
    pub(super) replica_set: Option<ControllerKey>,
    pub(super) since: Timestamp,
}

#[derive(Debug)]
pub(super) struct PreviousLowerings(HashMap<ObjectRef, PreviousLowering>);

#[derive(Debug)]
struct PreviousLowering {
    since: Timestamp,
    /// The Events that tell of it.
    told: Vec<Write>,
}

impl PreviousLowerings {
    /// Replaces the object's previous lowering, and returns since when that has waited. A plan
    /// reports each change once, so Events of an unchanged lowering are kept.
    pub(super) fn renew(&mut self, lowering: &mut ScaleInWrite) -> Option<Timestamp> {
        let PreviousLowering { since, told } = self.0.remove(&lowering.write.target)?;
        if lowering.told.is_empty() {
            lowering.told = told;
        }
        Some(since)
    }
}

/// True for what has waited for as long as a scale-in waits.
pub(super) fn has_waited(since: Timestamp, now: Timestamp) -> bool {
    now.duration_since(since) >= HOLD
}

impl ScaleInMemory {
    /// Drops what waits, for a newer tick has decided on it.
    pub(super) fn renew(&mut self) -> PreviousLowerings {
        let held = std::mem::take(&mut self.held).into_iter();
        let held = held.map(|held| (held.lowering, held.since));
        let coming = std::mem::take(&mut self.coming).into_iter();
        let coming = coming.filter_map(|coming| Some((coming.scale_in.lowering?, coming.since)));
        let waited = held.chain(coming).map(|(lowering, since)| {
            let ScaleInWrite { write, told } = lowering;
            (write.target, PreviousLowering { since, told })
        });
        PreviousLowerings(waited.collect())
    }

    /// Lets the namespaces take turns, so that many workloads of one delay those of no other.
    pub(super) fn take_turns(&mut self) {
        let mut turns: HashMap<String, usize> = HashMap::new();
        let coming = std::mem::take(&mut self.coming).into_iter();
        let mut placed: Vec<(usize, UpcomingScaleIn)> = coming
            .map(|coming| {
                let namespace = coming.scale_in.target.namespace().to_owned();
                let turn = turns.entry(namespace).or_default();
                *turn += 1;
                (*turn, coming)
            })
            .collect();
        placed.sort_by_key(|(turn, _)| *turn);
        self.coming = placed.into_iter().map(|(_, coming)| coming).collect();
    }

    /// Queues the writes that no longer wait, unless a newer tick has decided: a lowering would
    /// replace its raise. They are held until that tick is taken.
    pub(in crate::controller) fn let_go(
        &mut self,
        scale_ins: &ScaleIns,
        freed: Vec<HeldLowering>,
        put: impl Fn(Write),
    ) {
        let mut freed = freed;
        let writes = |held: HeldLowering| held.lowering.into_writes();
        scale_ins.unless_newer(|| freed.drain(..).flat_map(writes).for_each(put));
        self.held.extend(freed);
    }

    /// Everything that waits, without waiting any longer.
    pub(super) fn into_writes(self) -> impl Iterator<Item = Write> {
        let Self {
            rounds: _,
            coming,
            held,
        } = self;
        let coming = coming.into_iter();
        let coming = coming.filter_map(|coming| coming.scale_in.lowering);
        let held = held.into_iter().map(|held| held.lowering);
        held.chain(coming).flat_map(ScaleInWrite::into_writes)
    }
}
