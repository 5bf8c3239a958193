//! A run as a stream for programs: a JSON object a line, or a YAML document an event.

use std::io::Write;
use std::time::Duration;

use evenkeel_clock as clock;
use jiff::SignedDuration;
use serde::Serialize;
use serde_json::json;

use super::event_throttle::EventThrottle;
use super::show::{ClusterStartSummary, RunDisplay};
use crate::dev::cluster::events::TimedEvent;
use evenkeel_terminal::output::CliFailure;

/// Distance of objects of loads.
const EVERY: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notation {
    Json,
    Yaml,
}

impl Notation {
    /// Writes one object, with `event` for its kind.
    pub(super) fn put(
        self,
        to: &mut dyn Write,
        event: &'static str,
        content: &impl Serialize,
    ) -> Result<(), CliFailure> {
        #[derive(Serialize)]
        struct Object<'a, T> {
            event: &'static str,
            #[serde(flatten)]
            content: &'a T,
        }
        self.write(to, &Object { event, content })?;
        Ok(to.flush()?)
    }

    fn write(self, to: &mut dyn Write, object: &impl Serialize) -> Result<(), CliFailure> {
        match self {
            Self::Json => {
                let text = serde_json::to_string(object).map_err(CliFailure::work)?;
                writeln!(to, "{text}")?;
            }
            Self::Yaml => {
                // By way of a value, so that both notations name and nest alike.
                let value = serde_json::to_value(object).map_err(CliFailure::work)?;
                let text = serde_saphyr::to_string(&value).map_err(CliFailure::work)?;
                writeln!(to, "---\n{}", text.trim_end())?;
            }
        }
        Ok(())
    }
}

pub(super) struct Objects<W> {
    to: W,
    notation: Notation,
    thinned: EventThrottle,
}

impl<W: Write> Objects<W> {
    pub(super) const fn new(to: W, notation: Notation) -> Self {
        Self {
            to,
            notation,
            thinned: EventThrottle::new(EVERY),
        }
    }
}

impl<W: Write> RunDisplay for Objects<W> {
    fn started(&mut self, started: &ClusterStartSummary) -> Result<(), CliFailure> {
        self.notation.put(&mut self.to, "started", started)
    }

    fn happened(&mut self, happened: &TimedEvent) -> Result<(), CliFailure> {
        if !self.thinned.lets_through(&happened.event, clock::instant()) {
            return Ok(());
        }
        self.notation.write(&mut self.to, happened)
    }

    fn missed(&mut self, count: u64) -> Result<(), CliFailure> {
        let content = json!({ "count": count });
        self.notation.put(&mut self.to, "missed", &content)
    }

    fn tick(&mut self, _: SignedDuration) -> Result<(), CliFailure> {
        Ok(self.to.flush()?)
    }

    fn leave(&mut self) {}
}

#[cfg(test)]
mod tests {
    use evenkeel_objects::pod_name::PodName;
    use evenkeel_sandbox::engine::loads::NodeLoads;
    use evenkeel_units::Resources;
    use serde_json::Value;

    use super::*;
    use crate::dev::cluster::events::DevEvent;

    fn shown(notation: Notation) -> String {
        let loads = || DevEvent::Loads {
            nodes: vec![NodeLoads {
                name: "large-1".to_owned(),
                ready: true,
                pods: 1,
                utilisation: Resources::new([0.1, 0.2, 0.3, 0.4, 1.2]),
            }],
            workloads: Vec::new(),
        };
        let placed = DevEvent::PodPlaced {
            pod: PodName::new("shop", "web-0"),
            node: "large-1".to_owned(),
            profile: None,
            score: Some(9),
            why: "in-tree 481: 9 x 50".to_owned(),
        };
        let mut out = Vec::new();
        let mut show = Objects::new(&mut out, notation);
        for event in [loads(), loads(), placed] {
            let at = SignedDuration::from_millis(1500);
            show.happened(&TimedEvent { at, event }).unwrap();
        }
        show.missed(3).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn json_is_an_object_a_line_and_yaml_a_document_an_event() {
        let json = shown(Notation::Json);
        let lines: Vec<Value> = json
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 3, "{json}");
        assert_eq!(lines[0]["nodes"][0]["utilisation"]["disk"], 1.2);
        assert_eq!(lines[1]["event"], "podPlaced");
        let yaml = shown(Notation::Yaml);
        let documents: Vec<Value> = yaml
            .split("---\n")
            .skip(1)
            .map(|document| serde_saphyr::from_str(document).unwrap())
            .collect();
        assert_eq!(documents, lines);
    }
}
