//! The run without Evenkeel, kept at the same time of the scenario, so that what a plain HPA would
//! have now can be seen beside what there is.

use evenkeel_sandbox::baseline::Baseline;
use evenkeel_sandbox::engine::World;
use evenkeel_sandbox::events::PlainReplicas;
use evenkeel_sandbox::{Event, Events, Timeline, kubelet};

/// Runs for ever.
pub(super) async fn run(mut plain: Baseline, world: World, timeline: Timeline, events: Events) {
    let mut ticks = kubelet::ticks(timeline.clock());
    let mut told = Vec::new();
    loop {
        ticks.tick().await;
        let at = timeline.elapsed();
        plain.set_lags(world.lags());
        plain.advance(at);
        let replicas: Vec<PlainReplicas> = plain
            .replicas()
            .map(|((namespace, workload), replicas)| PlainReplicas {
                namespace: namespace.to_owned(),
                workload: workload.to_owned(),
                replicas,
            })
            .collect();
        if replicas != told {
            told.clone_from(&replicas);
            events.tell(at, Event::Plain { replicas });
        }
    }
}
