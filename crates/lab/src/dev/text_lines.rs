//! A run as lines of text.

use std::io::Write;
use std::time::Duration;

use evenkeel_clock as clock;
use evenkeel_objects::annotations::PROFILE_SOURCE_DECLARED;
use evenkeel_sandbox::engine::loads::{NodeLoads, WorkloadLoad};
use evenkeel_scaling::status::dashboard::ScalingStatus;
use evenkeel_terminal::output::{CliFailure, percent};
use evenkeel_units::Resource;
use jiff::SignedDuration;

use super::event_throttle::EventThrottle;
use super::load_display::ShownLoad;
use super::show::{ClusterStartSummary, RunDisplay, clock};
use crate::dev::cluster::events::{DevEvent, DevServiceNotice, PlainReplicas, TimedEvent};

/// Distance of lines of loads.
const EVERY: Duration = Duration::from_secs(4);

pub(super) struct Lines<W> {
    to: W,
    thinned: EventThrottle,
    left: bool,
}

impl<W: Write> Lines<W> {
    pub(super) fn new(to: W) -> Self {
        Self {
            to,
            thinned: EventThrottle::new(EVERY),
            left: false,
        }
    }
}

impl<W: Write> RunDisplay for Lines<W> {
    fn started(&mut self, started: &ClusterStartSummary) -> Result<(), CliFailure> {
        let ClusterStartSummary {
            scenario,
            seed,
            speed,
            line,
            faults,
            kubeconfig,
            dashboard,
            prometheus,
            metrics,
        } = started;
        writeln!(self.to, "Page for a browser: http://{dashboard}/")?;
        writeln!(
            self.to,
            "Scenario {scenario}, seed {seed}, {speed} times as fast as the clock, headroom line {}",
            percent(*line)
        )?;
        let kubeconfig = kubeconfig.display();
        writeln!(self.to, "kubectl --kubeconfig {kubeconfig} get pods -A")?;
        writeln!(self.to, "Prometheus http://{prometheus}")?;
        writeln!(self.to, "Metrics http://{metrics}/metrics")?;
        for fault in faults {
            writeln!(self.to, "Fault to come: {fault}")?;
        }
        Ok(writeln!(self.to)?)
    }

    fn happened(&mut self, happened: &TimedEvent) -> Result<(), CliFailure> {
        if !self.thinned.lets_through(&happened.event, clock::instant()) {
            return Ok(());
        }
        let (kind, text) = told(&happened.event);
        Ok(writeln!(
            self.to,
            "{}  {kind:<10}  {text}",
            clock(happened.at)
        )?)
    }

    fn missed(&mut self, count: u64) -> Result<(), CliFailure> {
        Ok(writeln!(
            self.to,
            "          missed      {count} events arrived too fast"
        )?)
    }

    fn tick(&mut self, _: SignedDuration) -> Result<(), CliFailure> {
        Ok(self.to.flush()?)
    }

    fn leave(&mut self) {
        if !std::mem::replace(&mut self.left, true) {
            // The next write reports the error if the output is closed.
            let _ = writeln!(self.to);
        }
    }
}

fn told(event: &DevEvent) -> (&'static str, String) {
    match event {
        DevEvent::PodClassified {
            pod,
            profile,
            source,
        } => {
            let source = match &**source {
                PROFILE_SOURCE_DECLARED => "by its annotation",
                _ => "by its requests",
            };
            ("classified", format!("{pod}: profile {profile}, {source}"))
        }
        DevEvent::PodPlaced {
            pod,
            node,
            profile,
            why,
            ..
        } => {
            let profile = profile.as_deref().unwrap_or("no profile");
            ("placed", format!("{pod} ({profile}) on {node}: {why}"))
        }
        DevEvent::PodRefused { pod, message } => ("refused", format!("{pod}: {message}")),
        DevEvent::Scaled {
            namespace,
            workload,
            from,
            to,
            why,
        } => (
            "scaled",
            format!("{namespace}/{workload} from {from} to {to}: {why}"),
        ),
        DevEvent::Loads { nodes, workloads } => ("loads", loads(nodes, workloads)),
        DevEvent::Fault { fault, begins } => {
            let what = if *begins { "begins" } else { "ends" };
            ("fault", format!("{fault} {what}"))
        }
        DevEvent::ServiceState { state } => ("service", state.clone()),
        DevEvent::Pace { asked, kept } => ("speed", pace(*asked, *kept)),
        DevEvent::FailedOpen { .. }
        | DevEvent::Notices { .. }
        | DevEvent::ServiceEvent { .. }
        | DevEvent::Scaling { .. }
        | DevEvent::Plain { .. } => told_of_service(event),
    }
}

/// The speed from now on, beside the one that was asked for.
pub(super) fn pace(asked: f64, kept: f64) -> String {
    if kept < asked {
        format!("{asked} x asked, {kept} x kept: this machine is too slow")
    } else {
        format!("{asked} x asked, and kept again")
    }
}

fn told_of_service(event: &DevEvent) -> (&'static str, String) {
    match event {
        DevEvent::FailedOpen { call, pod } => (
            "fail open",
            format!("{pod}: the {call} did not answer in time"),
        ),
        DevEvent::Notices { on } if on.is_empty() => {
            ("notice", "working normally again".to_owned())
        }
        DevEvent::Notices { on } => ("notice", notices(on)),
        DevEvent::ServiceEvent {
            regarding,
            reason,
            note,
            ..
        } => ("event", format!("{reason} {regarding}: {note}")),
        DevEvent::Scaling { targets } => {
            let targets: Vec<String> = targets.iter().map(|one| target(one)).collect();
            ("scaling", targets.join(", "))
        }
        DevEvent::Plain { replicas } => {
            let replicas = replicas.iter().map(|of| {
                let PlainReplicas {
                    namespace,
                    workload,
                    replicas,
                } = of;
                format!("{namespace}/{workload} would have {replicas}")
            });
            ("plain HPA", replicas.collect::<Vec<_>>().join(", "))
        }
        _ => ("", String::new()),
    }
}

pub(super) fn notices(on: &[DevServiceNotice]) -> String {
    let texts = on.iter().map(|notice| {
        let DevServiceNotice { about, text } = notice;
        format!("{about} {text}")
    });
    texts.collect::<Vec<_>>().join("; ")
}

/// Load, forecast and floor of one target, as far as they are known.
fn target(target: &ScalingStatus) -> String {
    let name = format!("{}/{}", target.namespace, target.workload.name);
    let load = ShownLoad::of(target);
    let load = load.as_ref();
    let parts = [
        load.and_then(|load| Some(format!("{} now", load.now()?))),
        load.and_then(ShownLoad::to_come),
        target
            .decided
            .map(|wanted| format!("{wanted} replicas wanted")),
        target
            .floor
            .map(|floor| format!("floor {}", floor.replicas)),
        (target.grounds != "nothing").then(|| format!("by {}", target.grounds)),
    ];
    let known: Vec<String> = parts.into_iter().flatten().collect();
    format!("{name} {}", known.join(", "))
}

/// The fullest node of each resource, and workloads with requests.
fn loads(nodes: &[NodeLoads], workloads: &[WorkloadLoad]) -> String {
    let ready = nodes.iter().filter(|node| node.ready).count();
    let mut parts = vec![format!("{ready}/{} nodes ready", nodes.len())];
    for resource in Resource::ALL {
        let fullest = nodes
            .iter()
            .max_by(|a, b| a.utilisation[resource].total_cmp(&b.utilisation[resource]));
        if let Some(node) = fullest {
            let (noun, share) = (resource.noun(), node.utilisation[resource]);
            parts.push(format!("{noun} up to {} on {}", percent(share), node.name));
        }
    }
    for workload in workloads.iter().filter(|workload| workload.offered > 0.0) {
        parts.push(format!(
            "{} {}/{} ready with {:.0} req/s, {:.0} lost",
            workload.name, workload.ready, workload.replicas, workload.offered, workload.lost
        ));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use evenkeel_objects::pod_name::PodName;
    use evenkeel_service::api::scaling::sample;
    use evenkeel_units::Resources;

    use super::*;

    fn events() -> Vec<DevEvent> {
        let pod = || PodName::new("shop", "web-0");
        vec![
            DevEvent::PodClassified {
                pod: pod(),
                profile: "network".to_owned(),
                source: "requests".to_owned(),
            },
            DevEvent::PodPlaced {
                pod: pod(),
                node: "large-1".to_owned(),
                profile: Some("network".to_owned()),
                score: Some(9),
                why: "most even: network 43 % here, 61 % elsewhere".to_owned(),
            },
            DevEvent::PodRefused {
                pod: pod(),
                message: "0/6 nodes are available".to_owned(),
            },
            DevEvent::Loads {
                nodes: vec![NodeLoads {
                    name: "large-1".to_owned(),
                    ready: true,
                    pods: 1,
                    utilisation: Resources::new([0.1, 0.2, 0.3, 0.4, 1.2]),
                }],
                workloads: Vec::new(),
            },
            DevEvent::Fault {
                fault: "hang@1m..2m".to_owned(),
                begins: true,
            },
            DevEvent::FailedOpen {
                call: "extender",
                pod: pod(),
            },
            DevEvent::Notices {
                on: vec![DevServiceNotice {
                    about: "metrics",
                    text: "stale 45 s on 6 nodes: placing by requests".to_owned(),
                }],
            },
            DevEvent::Scaling {
                targets: vec![Arc::new(sample::status())],
            },
            DevEvent::Pace {
                asked: 20.0,
                kept: 12.0,
            },
        ]
    }

    fn shown(show: &mut dyn RunDisplay) {
        for event in events().into_iter().chain(events()) {
            let at = SignedDuration::from_secs(3725);
            show.happened(&TimedEvent { at, event }).unwrap();
        }
    }

    #[test]
    fn each_event_is_a_line_and_loads_are_thinned_out() {
        let mut out = Vec::new();
        shown(&mut Lines::new(&mut out));
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 15, "{text}");
        for (line, part) in [
            (
                0,
                "01:02:05  classified  shop/web-0: profile network, by its requests",
            ),
            (
                1,
                "placed      shop/web-0 (network) on large-1: most even: network 43 % here",
            ),
            (2, "refused     shop/web-0: 0/6 nodes are available"),
            (
                3,
                "1/1 nodes ready, cpu up to 10% on large-1, memory up to 20%",
            ),
            (4, "fault       hang@1m..2m begins"),
            (5, "shop/web-0: the extender did not answer in time"),
            (6, "notice      metrics stale 45 s on 6 nodes: placing by"),
            (
                7,
                "shop/web 4.1 cores now, 7.2 to come by s-hpa (error 0.83 of naive), 6 replicas wanted, floor 5",
            ),
            (
                8,
                "speed       20 x asked, 12 x kept: this machine is too slow",
            ),
        ] {
            assert!(lines[line].contains(part), "{}", lines[line]);
        }
    }
}
