//! The stability checks.

use std::collections::HashSet;
use std::sync::Arc;

use evenkeel_api::ihpa::spec::{
    ErrorRateCheck, MOST_METRICS_OF_CHECK, MetricsCheck, PodsReadyCheck, StabilityChecker,
};
use evenkeel_hpa::autoscaler::ObservedMetric;
use evenkeel_metrics::signal::{MetricTarget, PromQl, Signal};
use evenkeel_units::Ratio;
use jiff::SignedDuration;
use serde_json::Value;

use super::error::{IhpaError, IhpaSpecFault, at};
use super::{external, metrics};
use crate::specs::ihpa::rules::{CheckRule, Criterion};
use crate::specs::load_query::promql;
use crate::stability::{Action, Checker, ComparisonOperator, ErrorRate, MetricBound, PodsReady};

/// The longest cool-down, and the longest time that Pods have to become ready, in seconds: a day.
const LONGEST: i64 = 86_400;

/// The time that Pods have to become ready where the check does not say, in seconds.
const READY_WITHIN: i64 = 300;

pub(super) fn all(path: &str, written: &[StabilityChecker]) -> Result<Vec<CheckRule>, IhpaError> {
    let mut names = HashSet::new();
    let mut rules = Vec::new();
    for (place, one) in written.iter().enumerate() {
        let path = format!("{path}[{place}]");
        let rule = rule(&path, place, one)?;
        if !names.insert(rule.checker.name.clone()) {
            let name = rule.checker.name;
            return at(format!("{path}.name"), Err(IhpaSpecFault::Twice(name)));
        }
        rules.push(rule);
    }
    Ok(rules)
}

fn rule(path: &str, place: usize, written: &StabilityChecker) -> Result<CheckRule, IhpaError> {
    let StabilityChecker {
        name,
        kind,
        stabilization_action,
        cool_down_seconds,
        metrics,
        pods_ready,
        error_rate,
        external,
    } = written;
    let action = match stabilization_action.as_str() {
        "Pause" => Action::Pause,
        "Rollback" => Action::Rollback,
        given => {
            let problem = IhpaSpecFault::word(given, "Pause or Rollback");
            return at(format!("{path}.stabilizationAction"), Err(problem));
        }
    };
    let cool_down = IhpaSpecFault::number(cool_down_seconds.unwrap_or(0), 0, LONGEST);
    let cool_down = at(format!("{path}.coolDownSeconds"), cool_down)?;
    let parts = (metrics, pods_ready, error_rate, external);
    let criteria = match (kind.as_str(), parts) {
        ("Metrics", (Some(check), None, None, None)) => {
            of_metrics(&format!("{path}.metrics"), check)?
        }
        ("PodsReady", (None, check, None, None)) => {
            let check = check.clone().unwrap_or_default();
            vec![of_pods(&format!("{path}.podsReady"), &check)?]
        }
        ("ErrorRate", (None, None, Some(check), None)) => {
            vec![of_errors(&format!("{path}.errorRate"), check)?]
        }
        ("External", (None, None, None, Some(check))) => {
            let check = external::check(&format!("{path}.external"), check)?;
            vec![Criterion::External(Arc::new(check))]
        }
        (given, _) => {
            let accepted = "Metrics with only metrics, PodsReady with only podsReady or nothing, \
                            ErrorRate with only errorRate, or External with only external";
            return at(path, Err(IhpaSpecFault::word(given, accepted)));
        }
    };
    let own_name = external.as_ref().map(|external| external.name.clone());
    let name = name.clone().or(own_name);
    Ok(CheckRule {
        checker: Checker {
            name: name.unwrap_or_else(|| format!("{}-{}", kind.to_ascii_lowercase(), place + 1)),
            action,
            cool_down: SignedDuration::from_secs(cool_down),
        },
        criteria,
    })
}

fn of_metrics(path: &str, check: &MetricsCheck) -> Result<Vec<Criterion>, IhpaError> {
    let path = format!("{path}.metrics");
    at(
        &*path,
        IhpaSpecFault::within(check.metrics.len(), 1, MOST_METRICS_OF_CHECK),
    )?;
    let places = check.metrics.iter().enumerate();
    let criteria = places.map(|(place, one)| of_metric(&format!("{path}[{place}]"), one));
    criteria.collect()
}

fn of_metric(path: &str, written: &Value) -> Result<Criterion, IhpaError> {
    let ObservedMetric { signal, target } = metrics::one_of(path, written)?;
    let operator = match written["operator"].as_str() {
        None => ComparisonOperator::default(),
        Some(text) => {
            let read = text.parse();
            let refused = |_| IhpaSpecFault::word(text, "==, >, <, >= or <=");
            at(format!("{path}.operator"), read.map_err(refused))?
        }
    };
    let milli = match target {
        MetricTarget::Utilization(percent) => i64::from(percent) * 1000,
        MetricTarget::AverageValue(milli) | MetricTarget::Value(milli) => milli,
    };
    let name = written["name"].as_str().map(str::to_owned);
    let bound = MetricBound {
        metric: name.unwrap_or_else(|| signal.label()),
        operator,
        milli,
    };
    Ok(Criterion::Metric {
        signal,
        target,
        bound,
    })
}

fn of_pods(path: &str, check: &PodsReadyCheck) -> Result<Criterion, IhpaError> {
    let PodsReadyCheck {
        min_percent,
        within_seconds,
    } = *check;
    let percent = IhpaSpecFault::number(i64::from(min_percent.unwrap_or(100)), 1, 100);
    let percent = at(format!("{path}.minPercent"), percent)?;
    let within = IhpaSpecFault::number(within_seconds.unwrap_or(READY_WITHIN), 0, LONGEST);
    let within = at(format!("{path}.withinSeconds"), within)?;
    Ok(Criterion::PodsReady(PodsReady {
        percent: u8::try_from(percent).unwrap_or(100),
        within: SignedDuration::from_secs(within),
    }))
}

fn of_errors(path: &str, check: &ErrorRateCheck) -> Result<Criterion, IhpaError> {
    let ErrorRateCheck {
        errors,
        requests,
        max_percent,
    } = check;
    let query = |field: &str, text: &str| {
        let query = promql(text).map(|query| Signal::PromQl(PromQl::own(query)));
        let refused = || IhpaSpecFault::Metric("PromQL of at most 2048 bytes");
        at(format!("{path}.{field}"), query.ok_or_else(refused))
    };
    let share = max_percent
        .strip_suffix('%')
        .and_then(|percent| percent.parse::<f64>().ok())
        .and_then(|percent| Ratio::share(percent / 100.0).ok());
    let refused = || {
        IhpaSpecFault::word(
            max_percent,
            "a percentage above 0%, at most 100%, such as 0.5%",
        )
    };
    let most = at(format!("{path}.maxPercent"), share.ok_or_else(refused))?;
    Ok(Criterion::ErrorRate {
        errors: query("errors", errors)?,
        requests: query("requests", requests)?,
        rule: ErrorRate { most },
    })
}
