//! A run as lines of text, and as a stream of JSON objects.
//!
//! Loads are told ten times a second and would drown the rest, so both thin them out.

use std::io::Write;
use std::time::{Duration, Instant};

use jiff::SignedDuration;
use serde::Serialize;
use serde_json::json;

use super::show::{Show, Started, clock};
use crate::cli::figures;
use crate::cli::output::{Failure, percent};
use crate::clock;
use crate::dev::Event;
use crate::dev::events::{Happened, NodeLoads, WorkloadLoad};
use crate::placement::usage::PodName;
use crate::units::Resource;

/// How far apart lines of loads are.
const LINE_EVERY: Duration = Duration::from_secs(4);
/// How far apart objects of loads are.
const OBJECT_EVERY: Duration = Duration::from_secs(1);

/// Lets something through once in a while.
#[derive(Debug)]
struct Thinned {
    every: Duration,
    last: Option<Instant>,
}

impl Thinned {
    const fn new(every: Duration) -> Self {
        Self { every, last: None }
    }

    fn lets_through(&mut self, now: Instant) -> bool {
        let due = self
            .last
            .is_none_or(|last| now.duration_since(last) >= self.every);
        if due {
            self.last = Some(now);
        }
        due
    }
}

/// One line an event.
pub(super) struct Lines<W> {
    to: W,
    loads: Thinned,
    left: bool,
}

impl<W: Write> Lines<W> {
    pub(super) const fn new(to: W) -> Self {
        Self {
            to,
            loads: Thinned::new(LINE_EVERY),
            left: false,
        }
    }
}

impl<W: Write> Show for Lines<W> {
    fn started(&mut self, started: &Started) -> Result<(), Failure> {
        let Started {
            scenario,
            seed,
            speed,
            line,
            faults,
            kubeconfig,
            dashboard,
            metrics,
        } = started;
        writeln!(
            self.to,
            "Scenario {scenario}, seed {seed}, {speed} times as fast as the clock, headroom line {}",
            percent(*line)
        )?;
        let kubeconfig = kubeconfig.display();
        writeln!(self.to, "kubectl --kubeconfig {kubeconfig} get pods -A")?;
        writeln!(self.to, "Dashboard http://{dashboard}")?;
        writeln!(self.to, "Metrics http://{metrics}/metrics")?;
        for fault in faults {
            writeln!(self.to, "Fault to come: {fault}")?;
        }
        Ok(writeln!(self.to)?)
    }

    fn happened(&mut self, happened: &Happened) -> Result<(), Failure> {
        let is_load = matches!(happened.event, Event::Loads { .. });
        if is_load && !self.loads.lets_through(clock::instant()) {
            return Ok(());
        }
        let (kind, text) = told(&happened.event);
        Ok(writeln!(
            self.to,
            "{}  {kind:<10}  {text}",
            clock(happened.at)
        )?)
    }

    fn missed(&mut self, count: u64) -> Result<(), Failure> {
        Ok(writeln!(
            self.to,
            "          missed      {count} events came too fast"
        )?)
    }

    fn tick(&mut self, _: SignedDuration) -> Result<(), Failure> {
        Ok(self.to.flush()?)
    }

    fn leave(&mut self) {
        if !std::mem::replace(&mut self.left, true) {
            // What comes next says itself that it cannot be printed.
            let _ = writeln!(self.to);
        }
    }
}

/// An event's kind and what there is to say of it.
fn told(event: &Event) -> (&'static str, String) {
    match event {
        Event::PodClassified {
            pod,
            profile,
            source,
        } => (
            "classified",
            format!("{} is {profile} by {source}", full(pod)),
        ),
        Event::PodPlaced {
            pod, node, profile, ..
        } => {
            let profile = profile.as_deref().unwrap_or("no profile");
            let why = why(event);
            (
                "placed",
                format!("{} ({profile}) on {node}: {why}", full(pod)),
            )
        }
        Event::PodRefused { pod, message } => ("refused", format!("{}: {message}", full(pod))),
        Event::Scaled {
            namespace,
            workload,
            from,
            to,
            why,
        } => (
            "scaled",
            format!("{namespace}/{workload} from {from} to {to}: {why}"),
        ),
        Event::Loads { nodes, workloads } => ("loads", loads(nodes, workloads)),
        Event::Fault { fault, begins } => {
            let what = if *begins { "begins" } else { "ends" };
            ("fault", format!("{fault} {what}"))
        }
        Event::ServiceState { state } => ("service", state.clone()),
    }
}

/// A Pod's namespace and name.
pub(super) fn full(pod: &PodName) -> String {
    format!("{}/{}", pod.namespace, pod.name)
}

/// Why a Pod went where it is.
pub(super) fn why(event: &Event) -> String {
    match event {
        Event::PodPlaced {
            score: Some(score),
            why,
            ..
        } => format!("score {score}, {why}"),
        Event::PodPlaced { why, .. } => format!("not scored, {why}"),
        _ => String::new(),
    }
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
            let (noun, share) = (figures::noun(resource), node.utilisation[resource]);
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

/// One object an event.
pub(super) struct Json<W> {
    to: W,
    loads: Thinned,
}

impl<W: Write> Json<W> {
    pub(super) const fn new(to: W) -> Self {
        Self {
            to,
            loads: Thinned::new(OBJECT_EVERY),
        }
    }
}

impl<W: Write> Show for Json<W> {
    fn started(&mut self, started: &Started) -> Result<(), Failure> {
        object(&mut self.to, "started", started)
    }

    fn happened(&mut self, happened: &Happened) -> Result<(), Failure> {
        let is_load = matches!(happened.event, Event::Loads { .. });
        if is_load && !self.loads.lets_through(clock::instant()) {
            return Ok(());
        }
        let text = serde_json::to_string(happened).map_err(Failure::work)?;
        Ok(writeln!(self.to, "{text}")?)
    }

    fn missed(&mut self, count: u64) -> Result<(), Failure> {
        object(&mut self.to, "missed", &json!({ "count": count }))
    }

    fn tick(&mut self, _: SignedDuration) -> Result<(), Failure> {
        Ok(self.to.flush()?)
    }

    fn leave(&mut self) {}
}

/// Prints one object on a line, with `event` for its kind.
pub(super) fn object(
    to: &mut dyn Write,
    event: &'static str,
    content: &impl Serialize,
) -> Result<(), Failure> {
    #[derive(Serialize)]
    struct Object<'a, T> {
        event: &'static str,
        #[serde(flatten)]
        content: &'a T,
    }
    let text = serde_json::to_string(&Object { event, content }).map_err(Failure::work)?;
    writeln!(to, "{text}")?;
    Ok(to.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Resources;

    fn events() -> Vec<Event> {
        let pod = || PodName::new("shop", "web-0");
        vec![
            Event::PodClassified {
                pod: pod(),
                profile: "network".to_owned(),
                source: "requests".to_owned(),
            },
            Event::PodPlaced {
                pod: pod(),
                node: "large-1".to_owned(),
                profile: Some("network".to_owned()),
                score: Some(9),
                why: "in-tree 481 + 9 x 50".to_owned(),
            },
            Event::PodRefused {
                pod: pod(),
                message: "0/6 nodes are available".to_owned(),
            },
            Event::Loads {
                nodes: vec![NodeLoads {
                    name: "large-1".to_owned(),
                    ready: true,
                    pods: 1,
                    utilisation: Resources::new([0.1, 0.2, 0.3, 0.4, 1.2]),
                }],
                workloads: Vec::new(),
            },
            Event::Fault {
                fault: "hang@1m..2m".to_owned(),
                begins: true,
            },
        ]
    }

    fn shown(show: &mut dyn Show) {
        for event in events().into_iter().chain(events()) {
            let at = SignedDuration::from_secs(3725);
            show.happened(&Happened { at, event }).unwrap();
        }
    }

    #[test]
    fn each_event_is_a_line_and_loads_are_thinned_out() {
        let mut out = Vec::new();
        shown(&mut Lines::new(&mut out));
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 9, "{text}");
        for (line, part) in [
            (0, "01:02:05  classified  shop/web-0 is network by requests"),
            (
                1,
                "placed      shop/web-0 (network) on large-1: score 9, in-tree 481",
            ),
            (2, "refused     shop/web-0: 0/6 nodes are available"),
            (
                3,
                "1/1 nodes ready, cpu up to 10% on large-1, memory up to 20%",
            ),
            (4, "fault       hang@1m..2m begins"),
        ] {
            assert!(lines[line].contains(part), "{}", lines[line]);
        }
    }

    #[test]
    fn programs_get_an_object_a_line() {
        let mut out = Vec::new();
        shown(&mut Json::new(&mut out));
        let text = String::from_utf8(out).unwrap();
        let objects: Vec<serde_json::Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(objects.len(), 9);
        assert_eq!(objects[1]["event"], "podPlaced");
        assert_eq!(objects[3]["nodes"][0]["utilisation"]["disk"], 1.2);
    }
}
