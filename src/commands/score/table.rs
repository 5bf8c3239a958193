//! The result of `score` for people: a table of loads with the verdicts, and one of scores.

use std::io;
use std::io::Write;

use evenkeel_placement::extender::explain::Explanation;
use evenkeel_placement::extender::placement_rules::Exemption;

use super::{ScoreReport, ScoredPod};
use evenkeel_terminal::explanation;
use evenkeel_terminal::output::{Report, Style};

impl Report for ScoreReport {
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
        explanation::print_headroom(explanation, to)?;
        if unjudged.as_deref() == Some(Exemption::NamespaceUnknown.as_str()) {
            writeln!(
                to,
                "Add the namespace to the cluster file, under `namespaces`, with evenkeel.dev/enabled: \"true\"."
            )?;
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
            None if unjudged.is_some() => Ok(()),
            None => writeln!(
                to,
                "No node has headroom for the Pod: it waits until a node has headroom again, or \
                 until relaxAfter."
            ),
        }
    }
}
