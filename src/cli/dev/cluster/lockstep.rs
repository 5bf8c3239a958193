//! The run without Evenkeel, kept at the same time of the scenario, so that what a plain HPA would
//! have now can be seen beside what there is.

use evenkeel_sandbox::baseline::Baseline;
use evenkeel_sandbox::events::PlainReplicas;
use evenkeel_sandbox::machines::{self, Machines};
use evenkeel_sandbox::{Event, Events, Timeline};

/// Runs for ever.
pub(super) async fn run(
    mut plain: Baseline,
    machines: Machines,
    timeline: Timeline,
    events: Events,
) {
    let mut ticks = machines::steps(timeline.clock());
    let mut told = Vec::new();
    loop {
        ticks.tick().await;
        let at = timeline.elapsed();
        plain.set_lags(machines.lags());
        plain.advance(at);
        let replicas: Vec<PlainReplicas> = plain
            .replicas()
            .map(|(workload, replicas)| PlainReplicas {
                namespace: workload.namespace.clone(),
                workload: workload.name.clone(),
                replicas,
            })
            .collect();
        if replicas != told {
            told.clone_from(&replicas);
            events.tell(at, Event::Plain { replicas });
        }
    }
}
