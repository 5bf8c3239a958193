//! The result of `explain` for people: a line for each of the last answers, and tables of the
//! newest answer with known terms, or of the decision that would be made now.

use std::io;
use std::io::Write;

use evenkeel_placement::extender::explain::Explanation;
use evenkeel_units::Resource;
use serde::Serialize;

use evenkeel_service::api::explain::{
    BindNotification, DeletionCost, ExtenderVerdict, PastVerdict, PodExplanation,
};
use evenkeel_terminal::output::{Report, Style};
use evenkeel_terminal::{explanation, score_label_table};

/// Nodes shown at most, the best first; all of them are in the JSON.
const SHOWN: usize = 20;

#[derive(Debug, Serialize)]
pub(super) struct ExplainReport<'a> {
    pub(super) pods: Vec<PodExplanation>,
    #[serde(skip)]
    pub(super) nodes: &'a [String],
    /// True where the terms are those of an answer that would be given now, whatever was answered.
    #[serde(skip)]
    pub(super) shows_now: bool,
}

impl Report for ExplainReport<'_> {
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

impl ExplainReport<'_> {
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
            score_labels,
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
                "Its ReplicaSet is scaled in, and its Pod deletion cost is {cost}: {why}."
            )?;
        }
        for past in [last_filter, last_prioritize].into_iter().flatten() {
            writeln!(to, "{}", answered(past))?;
        }
        if let Some(BindNotification { at, node }) = last_notice {
            let why = explained.reason(node);
            let why = why.map_or(String::new(), |why| format!(": {why}"));
            writeln!(to, "{at:.0}  kube-scheduler chose {node}{why}.")?;
        }
        let terms = |past: &Option<PastVerdict>| past.as_ref()?.terms.clone();
        let shown = terms(last_prioritize).or_else(|| terms(last_filter));
        let shown = shown.filter(|_| !self.shows_now);
        if last_filter.is_some() || last_prioritize.is_some() {
            let of = if shown.is_some() {
                "The answer at that time"
            } else {
                "The answer now"
            };
            writeln!(to, "\n{of}:\n")?;
        }
        self.print_terms(shown.as_ref().unwrap_or(now), to, style)?;
        match score_labels {
            Some(labels) => score_label_table::print(labels, SHOWN, to, style),
            None => Ok(()),
        }
    }

    fn print_terms(
        &self,
        explained: &Explanation,
        to: &mut dyn Write,
        style: Style,
    ) -> io::Result<()> {
        explanation::print_headroom(explained, to)?;
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

fn answered(past: &PastVerdict) -> String {
    let at = format!("{:.0}", past.at);
    match &past.verdict {
        ExtenderVerdict::Filtered {
            asked,
            passed,
            refused_by,
            unjudged,
            relaxed,
            nominated,
        } => {
            let by: Vec<String> = refused_by
                .iter()
                .map(|(resource, nodes)| {
                    let known = Resource::ALL
                        .into_iter()
                        .find(|one| one.as_str() == *resource);
                    match known {
                        Some(known) => format!("{nodes} by {}", known.noun()),
                        None => format!("{nodes} by {resource}"),
                    }
                })
                .collect();
            let mut line = format!("{at}  filter: {passed} of {asked} nodes passed");
            for part in [
                (!by.is_empty()).then(|| format!("refused {}", by.join(", "))),
                unjudged.as_ref().map(|why| {
                    format!("without headroom, because {}", explanation::exemption(why))
                }),
                relaxed.then(|| "without headroom, because no node has any".to_owned()),
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
        ExtenderVerdict::Prioritized {
            asked,
            best,
            score,
            profile: _,
            unjudged,
        } => match (best, score, unjudged) {
            (Some(best), Some(score), _) => {
                format!("{at}  prioritize: of {asked} nodes {best} got the highest score, {score}.")
            }
            (_, _, Some(why)) => format!(
                "{at}  prioritize: no node preferred, because {}.",
                explanation::exemption(why)
            ),
            _ => format!("{at}  prioritize: of {asked} nodes none was preferred."),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use evenkeel_objects::pod::Pod;
    use evenkeel_placement::extender::explain::explain;
    use evenkeel_placement::extender::placement_rules::PlacementContext;
    use evenkeel_placement::snapshot::Snapshot;
    use jiff::Timestamp;

    use super::*;
    use evenkeel_service::config::{Config, ConfigSources};

    fn explanation(headroom: f64) -> Explanation {
        let policy = Config::load(&ConfigSources::default()).unwrap().policy;
        let call = PlacementContext {
            snapshot: &Snapshot::default(),
            policy: &policy,
            now: Timestamp::UNIX_EPOCH,
            refused_since: None,
        };
        Explanation {
            headroom,
            ..explain(&Pod::default(), &call)
        }
    }

    /// The text about a Pod that was scored under a headroom of 70 %, where 80 % hold now.
    fn printed(terms: Option<Explanation>, shows_now: bool) -> String {
        let past = PastVerdict {
            at: Timestamp::UNIX_EPOCH,
            verdict: ExtenderVerdict::Prioritized {
                asked: 1,
                best: Some("a".to_owned()),
                score: Some(10),
                profile: None,
                unjudged: None,
            },
            terms,
        };
        let pod = PodExplanation {
            workload: None,
            last_filter: None,
            last_prioritize: Some(past),
            last_notice: None,
            overloaded: BTreeMap::new(),
            score_labels: None,
            deletion_cost: None,
            now: explanation(0.8),
        };
        let report = ExplainReport {
            pods: vec![pod],
            nodes: &[],
            shows_now,
        };
        let mut text = Vec::new();
        report.print(&mut text, Style::Plain).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn the_terms_are_those_of_the_answer_unless_others_are_asked_for_or_they_are_kept_no_more() {
        let kept = || Some(explanation(0.7));
        for (terms, shows_now, parts) in [
            (kept(), false, ["The answer at that time:", "below 70"]),
            (kept(), true, ["The answer now:", "below 80"]),
            (None, false, ["The answer now:", "below 80"]),
        ] {
            let text = printed(terms, shows_now);
            assert!(
                text.contains("of 1 nodes a got the highest score, 10."),
                "{text}"
            );
            for part in parts {
                assert!(text.contains(part), "{part}: {text}");
            }
        }
    }
}
