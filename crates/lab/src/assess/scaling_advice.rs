//! The recommended way of scaling a target, with what its user has to set for it.

use evenkeel_objects::truncate::excerpt;
use evenkeel_sandbox::target_replay::SeasonalRule;
use evenkeel_units::{Resource, i64_as_f64, i64_ceil};
use serde::Serialize;

use super::candidate::ForecastableLoad;
use super::recommendation::RecommendedWay;
use crate::forecast::replay::report::percentage;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ScalingAdvice {
    pub way: &'static str,
    /// The lower target of the HPA.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<f64>,
    #[serde(flatten)]
    pub rule: Option<SeasonalRule>,
    /// The `averageValue` of the lower target, or of the rule's metric.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average_value: Option<String>,
    /// The value of the metric, if the HPA has no such metric yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promql: Option<String>,
    /// The sentence before the PromQL; `None` if nothing is to be set in the HPA.
    #[serde(skip)]
    pub told: Option<String>,
}

impl ScalingAdvice {
    /// The advice for an HPA; KEDA created it if there is a ScaledObject.
    pub(super) fn of(
        way: RecommendedWay,
        load: &ForecastableLoad,
        scaled_object: Option<&str>,
    ) -> Self {
        let (target, rule) = match way {
            RecommendedWay::LowerTarget(lower) => (Some(lower.target), None),
            RecommendedWay::SeasonalRule(rule) => (None, Some(rule)),
            RecommendedWay::Floors | RecommendedWay::Unchanged => (None, None),
        };
        let capacity = load.target.capacity;
        let share = target.or_else(|| rule.map(|_| capacity.target()));
        let is_cpu = load.target.resource == Resource::Cpu;
        // Rounded as the replay rounds it.
        let milli = share.map(|share| {
            let amount = capacity.request() * share;
            i64_ceil(if is_cpu { amount } else { amount * 1000.0 })
        });
        let promql = load
            .promql
            .as_ref()
            .filter(|_| rule.is_some() || load.only_here);
        let promql = promql
            .filter(|_| milli.is_some())
            .map(|load| rule.map_or_else(|| load.clone(), |rule| rule.promql(load)));
        let told = milli.and_then(|milli| {
            let value = quantity(milli, is_cpu);
            match (target, &promql, scaled_object) {
                (Some(target), None, scaled_object) => {
                    let place = scaled_object.map_or_else(
                        || "the HPA".to_owned(),
                        |name| format!("the trigger in ScaledObject {name}"),
                    );
                    // A target that is an amount is all of it.
                    let is_share = capacity.target() < 1.0;
                    let share = is_share.then(|| format!("{}, that is ", percentage(target)));
                    let share = share.unwrap_or_default();
                    Some(format!(
                        "set the target of {place} to {share}averageValue {value}"
                    ))
                }
                (None, None, _) => None,
                (_, Some(_), Some(name)) => Some(format!(
                    "add a prometheus trigger with threshold {} to ScaledObject {name}, with this \
                     PromQL:",
                    i64_as_f64(milli) / 1000.0
                )),
                (_, Some(_), None) => Some(format!(
                    "add an External metric with averageValue {value} and this PromQL:"
                )),
            }
        });
        Self {
            way: way.as_str(),
            target,
            rule,
            average_value: milli.map(|milli| quantity(milli, is_cpu)),
            // An HPA's author may have written the query, and terminals obey some characters.
            promql: promql.map(|promql| excerpt(&promql, usize::MAX)),
            told: told.map(|told| format!("Recommended: {told}")),
        }
    }

    /// In a few words, for a table.
    pub(super) fn label(&self) -> String {
        match (self.target, self.rule) {
            (Some(target), _) => format!("target {}", percentage(target)),
            (None, Some(rule)) => format!("rule: {rule}"),
            (None, None) if self.way == RecommendedWay::Floors.as_str() => "floors".to_owned(),
            (None, None) => "no change".to_owned(),
        }
    }
}

/// An amount as an HPA has it: millicores, or the unit of the metric.
fn quantity(milli: i64, is_cpu: bool) -> String {
    if is_cpu || milli % 1000 != 0 {
        format!("{milli}m")
    } else {
        (milli / 1000).to_string()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use evenkeel_metrics::signal::Signal;
    use evenkeel_objects::bounds::ReplicaBounds;
    use evenkeel_sandbox::scrape_timing::Timing;
    use evenkeel_sandbox::target_replay::{Edges, ReplayTarget, Season};
    use evenkeel_scaling::counterfactual::cost_benefit::LowerTarget;
    use evenkeel_scaling::counterfactual::pareto_frontier::Cost;
    use evenkeel_scaling::load::hpa_aware::PodCapacity;
    use evenkeel_units::Ratio;
    use jiff::SignedDuration;

    use super::*;
    use crate::assess::candidate::PastQuestion;

    fn load(resource: Resource, request: f64, only_here: bool) -> ForecastableLoad {
        ForecastableLoad {
            signal: Signal::CPU,
            past: PastQuestion::Query(Arc::from("load")),
            promql: Some("load".to_owned()),
            target: ReplayTarget {
                resource,
                capacity: PodCapacity::new(request, Ratio::share(0.6).unwrap()).unwrap(),
                bounds: ReplicaBounds::new(2, 30).unwrap(),
                start_up: SignedDuration::from_secs(60),
                metrics: Timing::default(),
                edges: Edges::default(),
                initial: None,
            },
            only_here,
            start_up_is_measured: false,
            notes: Vec::new(),
        }
    }

    const LOWER: RecommendedWay = RecommendedWay::LowerTarget(LowerTarget {
        target: 0.5,
        cost: Cost {
            under_provisioned_seconds: 0.0,
            overloaded_seconds: 0.0,
            replica_hours: 0.0,
        },
    });
    const WEB: Option<&str> = Some("web");
    const RULE: RecommendedWay = RecommendedWay::SeasonalRule(SeasonalRule {
        season: Season::Yesterday,
        factor: 1.0,
    });

    #[test]
    fn it_names_what_is_to_be_set() {
        let (cpu, other) = (
            load(Resource::Cpu, 500.0, false),
            load(Resource::NetworkIo, 50.0, true),
        );
        let mut amount = load(Resource::NetworkIo, 300.0, false);
        amount.target.capacity = PodCapacity::new(300.0, Ratio::share(1.0).unwrap()).unwrap();
        let (add, trigger) = ("add an External metric", "add a prometheus trigger");
        for (way, load, scaled_object, expected) in [
            (LOWER, &cpu, None, "set the target of the HPA to 50%, that is averageValue 250m".to_owned()),
            (LOWER, &cpu, WEB, "set the target of the trigger in ScaledObject web to 50%, that is averageValue 250m".to_owned()),
            (LOWER, &amount, None, "set the target of the HPA to averageValue 150".to_owned()),
            (LOWER, &other, None, format!("{add} with averageValue 25 and this PromQL:")),
            (LOWER, &other, WEB, format!("{trigger} with threshold 25 to ScaledObject web, with this PromQL:")),
            (RULE, &cpu, None, format!("{add} with averageValue 300m and this PromQL:")),
            (RULE, &cpu, WEB, format!("{trigger} with threshold 0.3 to ScaledObject web, with this PromQL:")),
        ] {
            let advice = ScalingAdvice::of(way, load, scaled_object);
            assert_eq!(advice.told, Some(format!("Recommended: {expected}")));
            assert_eq!(advice.promql.is_some(), expected.ends_with(':'), "{advice:?}");
        }
    }

    #[test]
    fn nothing_is_to_be_set_for_floors_or_without_the_promql_of_a_rule() {
        let mut unknown = load(Resource::Cpu, 500.0, false);
        unknown.promql = None;
        for (way, load) in [
            (RecommendedWay::Floors, &load(Resource::Cpu, 500.0, false)),
            (
                RecommendedWay::Unchanged,
                &load(Resource::NetworkIo, 50.0, true),
            ),
            (RULE, &unknown),
        ] {
            let advice = ScalingAdvice::of(way, load, WEB);
            assert_eq!((advice.told, advice.promql), (None, None));
        }
    }

    #[test]
    fn a_small_amount_is_rounded_up_as_in_the_replay() {
        for (resource, request, value) in [
            (Resource::Cpu, 0.2, "1m"),
            (Resource::Cpu, 501.0, "301m"),
            (Resource::NetworkIo, 0.0005, "1m"),
            (Resource::NetworkIo, 0.5, "300m"),
            (Resource::NetworkIo, 50.0, "30"),
        ] {
            let advice = ScalingAdvice::of(RULE, &load(resource, request, false), None);
            assert_eq!(advice.average_value.as_deref(), Some(value));
        }
    }
}
