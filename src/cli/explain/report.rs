//! The result of `explain` for people: the last answers in a line each, and the tables of the newest of
//! them whose terms are known, or of what would be decided now.

use std::io::{self, Write};

use serde::Serialize;

use crate::api::explain::{DeletionCost, Notice, PastVerdict, PodExplanation, Verdict};
use crate::cli::explanation;
use crate::cli::output::{Report, Style, percent};
use evenkeel_kubernetes::extender::explain::Explanation;

/// Nodes shown at most, the best first; all of them are in the JSON.
const SHOWN: usize = 20;

/// The Pods that were asked about.
#[derive(Debug, Serialize)]
pub(super) struct Explained<'a> {
    pub(super) pods: Vec<PodExplanation>,
    /// The nodes whose terms are shown.
    #[serde(skip)]
    pub(super) nodes: &'a [String],
}

impl Report for Explained<'_> {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        for (index, pod) in self.pods.iter().enumerate() {
            if index > 0 {
                writeln!(to)?;
            }
            self.print_pod(pod, to, style)?;
        }
        Ok(())
    }
}

impl Explained<'_> {
    fn print_pod(
        &self,
        explained: &PodExplanation,
        to: &mut dyn Write,
        style: Style,
    ) -> io::Result<()> {
        let PodExplanation {
            workload,
            last_filter,
            last_prioritize,
            last_notice,
            overloaded,
            deletion_cost,
            now,
        } = explained;
        let owner = workload.as_ref().map_or(String::new(), |owner| {
            format!(" of {} {}", owner.kind, owner.name)
        });
        writeln!(
            to,
            "Pod {}/{}{owner}: profile {}",
            now.namespace, now.pod, now.profile
        )?;
        writeln!(to, "{}\n", explanation::asks(now))?;
        for warning in &now.warnings {
            writeln!(to, "Warning: {warning}\n")?;
        }
        for (node, taint) in overloaded {
            writeln!(to, "{node} is overloaded, and tainted {taint}.")?;
        }
        if let Some(DeletionCost { cost, why }) = deletion_cost {
            writeln!(
                to,
                "Its ReplicaSet is scaled in, and its deletion costs {cost}: {why}."
            )?;
        }
        for past in [last_filter, last_prioritize].into_iter().flatten() {
            writeln!(to, "{}", answered(past))?;
        }
        if let Some(Notice { at, node }) = last_notice {
            writeln!(to, "{at:.0}  kube-scheduler chose {node}.")?;
        }
        let terms = |past: &Option<PastVerdict>| past.as_ref()?.terms.clone();
        let shown = terms(last_prioritize).or_else(|| terms(last_filter));
        if last_filter.is_some() || last_prioritize.is_some() {
            let of = if shown.is_some() {
                "As it was answered"
            } else {
                "As it would be answered now"
            };
            writeln!(to, "\n{of}:\n")?;
        }
        self.print_terms(shown.as_ref().unwrap_or(now), to, style)
    }

    fn print_terms(
        &self,
        explained: &Explanation,
        to: &mut dyn Write,
        style: Style,
    ) -> io::Result<()> {
        if let Some(why) = &explained.unjudged {
            writeln!(
                to,
                "Every node passes, and none is preferred: {why}. If it were judged:\n"
            )?;
        }
        writeln!(
            to,
            "Headroom: with the Pod there, every resource has to stay below {}.",
            percent(explained.headroom)
        )?;
        let mut short = explained.clone();
        let left_out = short.nodes.len().saturating_sub(SHOWN);
        short.nodes.truncate(SHOWN);
        explanation::print_loads(&short, to, style)?;
        if left_out > 0 {
            writeln!(to, "{left_out} more nodes are in -o json.\n")?;
        }
        if short.relaxed {
            writeln!(
                to,
                "No node has headroom for the Pod, so the least loaded pass.\n"
            )?;
        }
        if let Some(best) = &short.best {
            explanation::print_scores(&short, best, to, style)?;
        }
        for node in explained
            .nodes
            .iter()
            .filter(|node| self.nodes.contains(&node.name))
        {
            writeln!(to)?;
            explanation::print_terms(explained, node, to, style)?;
        }
        Ok(())
    }
}

/// An answer in a line.
fn answered(past: &PastVerdict) -> String {
    let at = format!("{:.0}", past.at);
    match &past.verdict {
        Verdict::Filtered {
            asked,
            passed,
            refused_by,
            unjudged,
            relaxed,
            nominated,
        } => {
            let by: Vec<String> = refused_by
                .iter()
                .map(|(resource, nodes)| format!("{nodes} by {resource}"))
                .collect();
            let mut line = format!("{at}  filter: {passed} of {asked} nodes passed");
            for part in [
                (!by.is_empty()).then(|| format!("refused {}", by.join(", "))),
                unjudged.as_ref().map(|why| format!("unjudged: {why}")),
                relaxed.then(|| "without headroom, since none has any".to_owned()),
                nominated.then(|| "the nominated one without headroom".to_owned()),
            ]
            .into_iter()
            .flatten()
            {
                line.push_str(", ");
                line.push_str(&part);
            }
            line + "."
        }
        Verdict::Prioritized {
            asked,
            best,
            score,
            profile: _,
            unjudged,
        } => match (best, score, unjudged) {
            (Some(best), Some(score), _) => {
                format!("{at}  prioritize: of {asked} nodes {best} got most, {score}.")
            }
            (_, _, Some(why)) => format!("{at}  prioritize: no preference, {why}."),
            _ => format!("{at}  prioritize: of {asked} nodes none was preferred."),
        },
    }
}
