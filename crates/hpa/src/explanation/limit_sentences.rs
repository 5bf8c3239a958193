//! The limits of the count, in sentences: windows, policies and bounds, and the change of the deciding
//! metric that would lead to another count.

use super::hpa_explanation::HpaExplanation;
use super::input::ScaleDirection;
use super::limits::{BoundLimit, DirectionLimits};
use super::thresholds::CountThreshold;
use super::window::WindowHold;
use super::wording::{clock, replicas, replicas_of, title};

pub(super) fn all(explanation: &HpaExplanation) -> Vec<String> {
    let windows = explanation.window.iter();
    let mut all: Vec<_> = windows
        .flat_map(|window| held(explanation, window))
        .collect();
    all.extend(limited(explanation));
    all.extend(thresholds(explanation));
    all
}

fn held(explanation: &HpaExplanation, window: &WindowHold) -> Vec<String> {
    let WindowHold {
        direction,
        seconds,
        replicas: count,
        earliest_end,
        latest_end,
    } = window;
    let desired = explanation.metrics_replicas.unwrap_or_default();
    let condition = if *direction == ScaleDirection::Down.as_str() {
        "if the metrics ask for no more until then"
    } else {
        "if the metrics ask for no less until then"
    };
    let latest = clock(*latest_end);
    let end = match earliest_end {
        Some(earliest) if latest_end.duration_since(*earliest).as_secs() <= 15 => {
            format!("It holds until about {latest}, {condition}.")
        }
        Some(earliest) => {
            let earliest = clock(*earliest);
            format!("It ends between {earliest} and {latest}, {condition}.")
        }
        None => format!("It ends at {latest} at the latest, {condition}."),
    };
    vec![
        format!(
            "The {direction} window of {seconds} s holds {}: the metrics ask for {desired}.",
            replicas(*count)
        ),
        end,
    ]
}

/// The bound or the policy that limits the count, also if a window would do so without it.
fn limited(explanation: &HpaExplanation) -> Option<String> {
    let desired = explanation.metrics_replicas?;
    let decided = explanation.decided_replicas?;
    let asked = format!("the metrics ask for {desired}");
    let Some(limit) = &explanation.limit else {
        let lasting = explanation.lasting_limit(desired, decided)?;
        return explanation.window.is_none().then(|| match lasting {
            LastingLimit::Max(max) => format!("maxReplicas {max} limits the count: {asked}."),
            LastingLimit::Min(min) => format!("minReplicas {min} holds the count: {asked}."),
            LastingLimit::Disabled(direction) => disabled(direction, decided, &asked),
        });
    };
    let BoundLimit { from, replicas, .. } = limit;
    let asked = match explanation.window {
        Some(_) => format!("the window leaves {from}"),
        None => asked,
    };
    let (min, max) = (explanation.min_replicas, explanation.max_replicas);
    if limit.is_by_max() {
        return Some(format!("maxReplicas {max} limits the count: {asked}."));
    }
    if limit.is_by_min() {
        return Some(format!("minReplicas {min} holds the count: {asked}."));
    }
    let direction = if replicas < from {
        ScaleDirection::Up
    } else {
        ScaleDirection::Down
    };
    let limits = explanation.direction(direction);
    if limits.is_some_and(DirectionLimits::is_disabled) {
        return Some(disabled(direction, *replicas, &asked));
    }
    let rules = rules(limits, direction);
    Some(format!("{rules} to {replicas} in this step: {asked}."))
}

fn disabled(direction: ScaleDirection, count: i32, asked: &str) -> String {
    let (direction, count) = (direction.as_str(), replicas(count));
    format!("selectPolicy Disabled of {direction} keeps {count}: {asked}.")
}

/// The policies that limit a step, as the subject of a sentence.
fn rules(limits: Option<&DirectionLimits>, direction: ScaleDirection) -> String {
    let policies = limits.map_or(&[][..], |limits| &limits.policies);
    if policies.is_empty() {
        return "The limit of HPAs without behavior (twice the count, at least 4) allows a change"
            .to_owned();
    }
    let named: Vec<_> = policies.iter().map(|one| one.policy.as_str()).collect();
    let direction = direction.as_str();
    format!(
        "The {direction} policies ({}) allow a change",
        named.join(", ")
    )
}

fn thresholds(explanation: &HpaExplanation) -> Vec<String> {
    let Some(deciding) = explanation.deciding() else {
        return Vec::new();
    };
    let name = title(&deciding.name);
    let more = explanation.more.as_ref();
    let more = more.map(|one| threshold(explanation, one, &name));
    let less = explanation.less.as_ref();
    let less = less.map(|one| threshold(explanation, one, &name));
    let count = explanation.decided_replicas.unwrap_or_default();
    let desired = explanation.metrics_replicas.unwrap_or_default();
    let mut others = explanation.metrics.iter();
    let other = others
        .find(|one| !one.is_deciding && one.replicas.is_some_and(|replicas| replicas >= count));
    let kept = other.filter(|_| less.is_none() && desired >= count);
    let kept = kept.map(|other| {
        let other = title(&other.name);
        format!("Less {name} alone would not lower the count, because {other} asks for it too.")
    });
    more.into_iter().chain(less).chain(kept).collect()
}

fn threshold(explanation: &HpaExplanation, threshold: &CountThreshold, name: &str) -> String {
    let CountThreshold {
        change,
        change_milli,
        pods,
        metrics_replicas,
        decided_replicas,
    } = threshold;
    let how = if *change_milli > 0 { "more" } else { "less" };
    let scope = match pods {
        Some(1) => "for the measured Pod".to_owned(),
        Some(pods) => format!("for each of the {pods} measured Pods"),
        None => "in total".to_owned(),
    };
    let change = format!("{change} {how} {name} {scope} would");
    if metrics_replicas == decided_replicas {
        let count = explanation.decided_replicas.unwrap_or_default();
        let by = replicas_of(metrics_replicas.abs_diff(count));
        return if explanation.current_replicas != Some(count) {
            format!("{change} lead to {metrics_replicas} instead of {count}.")
        } else if how == "more" {
            format!("{change} add {by}.")
        } else {
            format!("{change} remove {by}.")
        };
    }
    let count = replicas(*decided_replicas);
    let allowed = match explanation.lasting_limit(*metrics_replicas, *decided_replicas) {
        Some(LastingLimit::Max(max)) => format!("maxReplicas {max} would limit the count."),
        Some(LastingLimit::Min(min)) => format!("minReplicas {min} would hold the count."),
        Some(LastingLimit::Disabled(direction)) => {
            let direction = direction.as_str();
            format!("selectPolicy Disabled of {direction} would keep {count}.")
        }
        None => {
            format!("Windows, policies and bounds would allow {decided_replicas} at first.")
        }
    };
    format!("{change} make the metrics ask for {metrics_replicas}. {allowed}")
}

/// A rule that lasts, other than a window or a step.
enum LastingLimit {
    Max(i32),
    Min(i32),
    /// `selectPolicy: Disabled` forbids this direction.
    Disabled(ScaleDirection),
}

impl HpaExplanation {
    fn direction(&self, direction: ScaleDirection) -> Option<&DirectionLimits> {
        let mut directions = self.directions.iter();
        directions.find(|one| one.direction == direction.as_str())
    }

    /// The rule that keeps the decided count from the desired one, unless the window or a step does.
    fn lasting_limit(&self, desired: i32, decided: i32) -> Option<LastingLimit> {
        let (bound, direction) = match desired.cmp(&decided) {
            std::cmp::Ordering::Equal => return None,
            std::cmp::Ordering::Greater => {
                let is_most = decided >= self.max_replicas;
                let bound = is_most.then_some(LastingLimit::Max(self.max_replicas));
                (bound, ScaleDirection::Up)
            }
            std::cmp::Ordering::Less => {
                let is_least = decided <= self.min_replicas;
                let bound = is_least.then_some(LastingLimit::Min(self.min_replicas));
                (bound, ScaleDirection::Down)
            }
        };
        let limits = self.direction(direction);
        let is_disabled = limits.is_some_and(DirectionLimits::is_disabled);
        bound.or_else(|| is_disabled.then_some(LastingLimit::Disabled(direction)))
    }
}
