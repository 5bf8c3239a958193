//! The result of `score` for people: a table of loads with the verdicts, and one of scores.

use std::io::{self, Write};

use super::{Scored, ScoredPod};
use crate::cli::explanation;
use crate::cli::output::{Report, Style, percent};
use evenkeel_kubernetes::extender::explain::Explanation;

impl Report for Scored {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        for (index, pod) in self.pods.iter().enumerate() {
            if index > 0 {
                writeln!(to)?;
            }
            pod.print(to, style)?;
        }
        Ok(())
    }
}

impl ScoredPod {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        let Self {
            kind,
            explanation,
            best,
            relaxed_to,
        } = self;
        let Explanation {
            namespace,
            pod,
            profile,
            unjudged,
            warnings,
            ..
        } = explanation;
        writeln!(to, "{kind} {namespace}/{pod}: profile {profile}")?;
        writeln!(to, "{}\n", explanation::asks(explanation))?;
        for warning in warnings {
            writeln!(to, "Warning: {warning}\n")?;
        }
        match unjudged {
            Some(why) => {
                writeln!(
                    to,
                    "Every node passes, and none is preferred: {}",
                    reason(why)
                )?;
                writeln!(to, "If it were judged:\n")?;
            }
            None => writeln!(
                to,
                "Headroom: with the Pod there, every resource has to stay below {}.",
                percent(explanation.headroom)
            )?,
        }
        explanation::print_loads(explanation, to, style)?;
        if !relaxed_to.is_empty() {
            writeln!(
                to,
                "No node has headroom for the Pod, so the least loaded pass: {}.\n",
                relaxed_to.join(", ")
            )?;
        }
        match best {
            Some(best) => explanation::print_scores(explanation, best, to, style),
            None => writeln!(
                to,
                "No node has headroom for the Pod: it waits until one regains it, or until relaxAfter."
            ),
        }
    }
}

/// Meaning of the reason why a Pod is not judged, and what can be done about it.
fn reason(why: &str) -> &'static str {
    match why {
        "namespace_unknown" => {
            "its namespace does not stand in\n\
             the cluster file. Add it under `namespaces` with evenkeel.dev/enabled: \"true\"."
        }
        "not_opted_in" => {
            "its namespace has not opted in.\n\
             The annotation evenkeel.dev/enabled: \"true\" on the namespace does that."
        }
        "skipped" => "it is annotated with\nevenkeel.dev/skip.",
        "daemon_set" => "a Pod of a DaemonSet\nhas its node.",
        "mirror" => "it mirrors a static Pod,\nwhich runs already.",
        "critical" => "it is critical to the\nsystem.",
        "no_metrics" => "no node has a fresh\nmeasurement.",
        _ => "the cluster is not known yet.",
    }
}
