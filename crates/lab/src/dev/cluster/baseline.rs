//! The run without Evenkeel, kept at the same scenario time, so that the view can compare a
//! baseline HPA.

use super::events::{DevEvent, DevEventBus, PlainReplicas};
use evenkeel_sandbox::Timeline;
use evenkeel_sandbox::baseline::Baseline;
use evenkeel_sandbox::machines::{self, Machines};

pub(super) async fn run(
    mut baseline: Baseline,
    machines: Machines,
    timeline: Timeline,
    events: DevEventBus,
) {
    let mut ticks = machines::steps(timeline.clock());
    let mut told = Vec::new();
    loop {
        ticks.tick().await;
        let at = timeline.elapsed();
        baseline.set_lags(machines.lags());
        baseline.advance(at);
        let replicas: Vec<PlainReplicas> = baseline
            .replicas()
            .map(|(workload, replicas)| PlainReplicas {
                namespace: workload.namespace.clone(),
                workload: workload.name.clone(),
                replicas,
            })
            .collect();
        if replicas != told {
            told.clone_from(&replicas);
            events.tell(at, DevEvent::Plain { replicas });
        }
    }
}
