//! Questions to the scaling loop about what is known of the loads of a workload.

use evenkeel_scaling::targets::reference::TargetRef;
use evenkeel_scaling::tick::ScalingTargets;
use evenkeel_scaling::tracker::KnownLoads;
use jiff::Timestamp;
use tokio::sync::oneshot;

use crate::controller::work::work;

#[derive(Debug)]
pub struct LoadQuestion {
    pub workload: TargetRef,
    /// Gets `None` where the workload is no target.
    pub answer: oneshot::Sender<Option<KnownLoads>>,
}

impl LoadQuestion {
    pub(super) async fn answer(self, targets: ScalingTargets, now: Timestamp) -> ScalingTargets {
        let Self { workload, answer } = self;
        let asked = work(targets, move |targets| targets.known_loads(&workload, now));
        let (targets, known) = asked.await;
        // The asker may have ended.
        let _ = answer.send(known);
        targets
    }
}
