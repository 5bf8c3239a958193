//! An explanation as sentences: the count, the deciding metric and its Pods, and then what limits
//! the count.

use super::hpa_explanation::HpaExplanation;
use super::limit_sentences;
use super::metric::{MetricExplanation, PodContribution};
use super::wording::{replicas, short, title};
use crate::{PodGroup, ProposalRule};

/// Pods that are named at most.
const NAMED: usize = 3;

pub(super) fn sentences(explanation: &HpaExplanation) -> Vec<String> {
    let mut all = headline(explanation);
    all.extend(metrics(explanation));
    all.extend(limit_sentences::all(explanation));
    all
}

fn headline(explanation: &HpaExplanation) -> Vec<String> {
    let HpaExplanation {
        target,
        current_replicas,
        decided_replicas,
        reported_replicas,
        ..
    } = explanation;
    let error = || {
        // The failures of metrics follow, each with its metric.
        let is_metric = explanation.metrics.iter().any(|one| one.error.is_some());
        let own = explanation.error.clone().unwrap_or_default();
        if is_metric {
            "a metric has no value".to_owned()
        } else {
            own
        }
    };
    let (current, decided) = match (*current_replicas, *decided_replicas) {
        (None, _) => {
            return vec![format!(
                "The scale of {target} cannot be read: {}.",
                error()
            )];
        }
        (Some(current), None) => {
            return vec![format!(
                "{target} has {}, and the HPA keeps them, because no count can be computed: {}.",
                replicas(current),
                error()
            )];
        }
        (Some(current), Some(decided)) => (current, decided),
    };
    if current == 0 && decided == 0 && explanation.metrics_replicas.is_none() {
        return vec![format!("Scaling is off, because {target} has 0 replicas.")];
    }
    let mut all = vec![if current == decided {
        let held = replicas(current);
        format!("{target} has {held}, and the HPA keeps this count.")
    } else {
        let held = replicas(current);
        format!("{target} has {held}, and the HPA scales it to {decided}.")
    }];
    let has_decided = !explanation.conditions.is_empty();
    if has_decided && *reported_replicas != decided {
        all.push(format!(
            "The controller's last decision was {reported_replicas}, by older measurements."
        ));
    }
    if explanation.metrics_replicas.is_none() {
        let bound = if decided > current {
            format!("below minReplicas {}", explanation.min_replicas)
        } else {
            format!("above maxReplicas {}", explanation.max_replicas)
        };
        all.push(format!(
            "The count is {bound}, so the metrics do not count."
        ));
    }
    all
}

fn metrics(explanation: &HpaExplanation) -> Vec<String> {
    let deciding = explanation.deciding();
    let mut all = Vec::new();
    if let Some(deciding) = deciding {
        all.extend(decides(explanation, deciding));
        all.extend(pods(deciding));
    }
    let others = explanation.metrics.iter();
    let others = others.filter(|one| deciding.is_none_or(|deciding| !std::ptr::eq(*one, deciding)));
    for metric in others {
        let name = title(&metric.name);
        if let (Some(current), Some(count)) = (&metric.current, metric.replicas) {
            let target = &metric.target;
            all.push(format!(
                "{name} is at {current}, its target is {target}, and it asks for {count}."
            ));
        } else if let Some(error) = &metric.error {
            all.push(format!("{name} has no value: {error}."));
        }
    }
    let is_failed = explanation.metrics.iter().any(|one| one.error.is_some());
    if is_failed && explanation.metrics.iter().any(|one| one.replicas.is_some()) {
        all.push("While a metric fails, the others may raise the count, but not lower it.".into());
    }
    all
}

fn decides(explanation: &HpaExplanation, metric: &MetricExplanation) -> Vec<String> {
    let (Some(current), Some(count)) = (&metric.current, metric.replicas) else {
        return Vec::new();
    };
    let name = title(&metric.name);
    let (of, target) = if current.ends_with('%') {
        (" of the requests", &metric.target)
    } else {
        ("", &metric.target)
    };
    let mut decides =
        format!("{name} decides: it is at {current}{of}, and its target is {target}.");
    if let Some(ratio) = metric.ratio {
        decides = format!("{decides} The ratio is {}.", short(ratio));
    }
    let mut all = vec![decides];
    if let Some(adjusted) = metric.adjusted_ratio {
        all.push(format!(
            "With assumed values for Pods that do not count with a measurement, it is {}.",
            short(adjusted)
        ));
    }
    let count = replicas(count);
    let rule = metric.rule.and_then(ProposalRule::named);
    all.extend(rule.map(|rule| by_rule(explanation, metric, rule, &count)));
    all
}

/// How the metric comes to its count.
fn by_rule(
    explanation: &HpaExplanation,
    metric: &MetricExplanation,
    rule: ProposalRule,
    count: &str,
) -> String {
    match rule {
        ProposalRule::Tolerance => {
            let [least, most] = explanation.tolerance.map(short);
            format!("That is within the tolerance of {least} to {most}, so it asks for {count}.")
        }
        ProposalRule::Ratio => {
            let pods = metric.multiplied_pods.unwrap_or_default();
            let noun = if pods == 1 { "Pod" } else { "Pods" };
            let used = metric.adjusted_ratio.or(metric.ratio);
            let used = used.map_or_else(|| "the ratio".to_owned(), short);
            format!("{pods} {noun} × {used}, rounded up, make {count}.")
        }
        ProposalRule::Reversal => {
            format!("The assumed values turn the direction, so it asks for {count}.")
        }
        ProposalRule::Contradiction => {
            format!("The product with the Pods contradicts the ratio, so it asks for {count}.")
        }
        ProposalRule::Share => {
            format!("The total divided by the target for each Pod, rounded up, makes {count}.")
        }
        ProposalRule::FromZero => {
            format!("Without Pods, the total divided by the target, rounded up, makes {count}.")
        }
    }
}

/// The Pods that do not count with a measurement, by group.
fn pods(metric: &MetricExplanation) -> Vec<String> {
    let others = |pod: &&PodContribution| pod.group != PodGroup::Measured.as_str();
    let total = metric.pods.len();
    let odd: Vec<_> = metric.pods.iter().filter(others).collect();
    if odd.is_empty() {
        return Vec::new();
    }
    let measured = total - odd.len();
    let mut all = vec![format!(
        "{measured} of {total} Pods count with their measurement."
    )];
    for group in PodGroup::ALL {
        let same: Vec<_> = odd
            .iter()
            .filter(|pod| pod.group == group.as_str())
            .collect();
        let Some(first) = same.first() else { continue };
        if same.len() <= NAMED {
            all.extend(same.iter().map(|pod| format!("{} {}.", pod.pod, pod.why)));
        } else {
            let (count, pod) = (same.len(), &first.pod);
            all.push(format!(
                "{pod} {}, and so are {} more.",
                first.why,
                count - 1
            ));
        }
    }
    all
}
