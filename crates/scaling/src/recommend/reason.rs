//! The reason of a decision in words: the count, the rule that limits it, and the load that asks for it.

use std::fmt;

use evenkeel_metrics::load_unit::LoadUnit;
use evenkeel_metrics::signal::Signal;
use evenkeel_objects::scaling_mode::ScalingMode;

use super::decision::Floor;
use super::ds_hpa::{ActiveForecast, Basis, DynamicThreshold, PredictiveProposal};
use super::expected_load::LoadBasis;
use super::input::{DecisionInput, SignalLoad};
use super::policy::TargetPolicy;
use super::traffic::NeedLimit;
use super::traffic_need::{TrafficNeed, TrafficOfKind, TrafficStanding};
use crate::limits::LimitedBy;

/// The reason why nothing is decided at all.
pub(crate) fn idle(mode: ScalingMode) -> String {
    match mode {
        ScalingMode::Off => "scaling is off".to_owned(),
        ScalingMode::Recommend | ScalingMode::Floor | ScalingMode::Direct => {
            "scaled to zero, which switches scaling off".to_owned()
        }
    }
}

/// The last part of the sentence: what prediction asks for and why, or why it asks for nothing.
pub(crate) struct PredictionClause<'a> {
    pub(crate) policy: &'a TargetPolicy,
    pub(crate) input: &'a DecisionInput<'a>,
    pub(crate) proposal: Option<&'a PredictiveProposal>,
    /// The reason of the reaction to the current load, if it is to replace that of prediction.
    pub(crate) reaction: &'a str,
}

/// The parts of the sentence.
pub(crate) struct DecisionReason<'a> {
    pub(crate) because: PredictionClause<'a>,
    pub(crate) adopted: Option<Floor>,
    pub(crate) change: DecisionChange,
    pub(crate) limited_by: Option<LimitedBy>,
}

/// The number that a decision sets, before and after.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DecisionChange {
    /// The name of the number: `floor` or `replicas`.
    pub(crate) name: &'static str,
    pub(crate) from: i32,
    pub(crate) to: i32,
}

impl fmt::Display for DecisionChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, from, to } = self;
        if from == to {
            write!(f, "{name} stays {to}")
        } else {
            write!(f, "{name} {from} -> {to}")
        }
    }
}

impl fmt::Display for PredictionClause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.proposal.map(|proposal| &proposal.basis) {
            Some(Basis::Forecast(forecast)) => self.forecast(f, forecast),
            Some(Basis::DynamicThreshold(signal, threshold)) => {
                threshold_in_words(f, signal, threshold)
            }
            Some(Basis::Traffic(need)) => self.traffic(f, need),
            None => self.nothing(f),
        }
    }
}

impl fmt::Display for DecisionReason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.change.fmt(f)?;
        match self.limited_by {
            Some(LimitedBy::MissingData | LimitedBy::EstimatedLoad) | None => {}
            Some(limit) => write!(f, ", limited by {limit}")?,
        }
        write!(f, ": {}", self.because)?;
        match self.adopted {
            Some(Floor { replicas, until }) => {
                write!(f, ", floor {replicas} taken over until {until:.0}")
            }
            None => Ok(()),
        }
    }
}

impl PredictionClause<'_> {
    fn forecast(&self, f: &mut fmt::Formatter<'_>, forecast: &ActiveForecast) -> fmt::Result {
        let now = self.input.now;
        let ahead = forecast.until.duration_since(now).as_secs();
        let unit = LoadUnit::of(&forecast.signal).readable(forecast.load);
        write!(f, "forecast {}", unit.amount(forecast.load))?;
        if LoadUnit::of(&forecast.signal) == LoadUnit::One {
            write!(f, " of {}", forecast.signal.label())?;
        }
        write!(f, " in {ahead} s")?;
        let mut loads = self.input.loads.iter();
        let Some(load) = loads.find(|load| *load.signal == forecast.signal) else {
            return write!(f, ", {}", forecast.model);
        };
        if let Some(used) = load.fresh(now, self.policy.max_age) {
            write!(f, " against {} now", unit.number(used))?;
        }
        let each = load.capacity.request() * load.capacity.target();
        write!(f, ", each Pod carries {}", unit.number(each))?;
        match load.prediction {
            Some(prediction) => write!(f, ", {} {}", forecast.model, prediction.trust),
            None => write!(f, ", {}", forecast.model),
        }
    }

    /// The traffic, and the replicas that it needs.
    fn traffic(&self, f: &mut fmt::Formatter<'_>, need: &TrafficNeed) -> fmt::Result {
        f.write_str("traffic")?;
        for (
            place,
            TrafficOfKind {
                signal,
                now,
                expected,
            },
        ) in need.kinds.iter().enumerate()
        {
            let unit = LoadUnit::of(signal).readable(expected.load);
            let joint = if place == 0 { "" } else { " and" };
            write!(f, "{joint} {}", unit.amount(expected.load))?;
            if need.kinds.len() > 1 {
                write!(f, " of {}", signal.label())?;
            }
            match expected.basis {
                LoadBasis::Measured => f.write_str(" now")?,
                LoadBasis::Forecast => {
                    let ahead = self.input.ahead.as_secs();
                    write!(f, " in {ahead} s against {} now", unit.number(*now))?;
                }
            }
        }
        let unit = LoadUnit::of(&need.of).readable(need.utilisation);
        let (each, replicas) = (unit.amount(need.utilisation), need.replicas);
        write!(
            f,
            " needs {replicas} replicas with {each} of {} each",
            need.of
        )?;
        match need.limit {
            Some(NeedLimit::Hour) => {
                f.write_str(", which more replicas would not lower at this hour")
            }
            Some(NeedLimit::Least | NeedLimit::Most) | None => Ok(()),
        }
    }

    /// The reason why prediction asks for nothing.
    fn nothing(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DecisionInput { now, loads, .. } = *self.input;
        let reaction = self.reaction;
        if self.input.has_unknown_traffic() {
            return f.write_str("no fresh measurement of the traffic");
        }
        if !reaction.is_empty() {
            return f.write_str(reaction);
        }
        let fresh = |load: &SignalLoad<'_>| load.fresh(now, self.policy.max_age).is_some();
        let estimates = loads.iter().filter_map(|load| {
            let estimated = load.is_estimated(now, self.policy.max_age);
            load.estimate.filter(|_| estimated).zip(Some(load.signal))
        });
        if let Some((estimate, signal)) = estimates.reduce(|first, _| first) {
            let amount = LoadUnit::of(signal)
                .readable(estimate.sum)
                .amount(estimate.sum);
            return write!(f, "the load is estimated at {amount} until its Pods settle");
        }
        if !loads.iter().any(fresh) {
            f.write_str("no fresh measurement of the load")?;
            let ages = loads.iter().filter_map(|load| load.age(now));
            return match ages.min() {
                Some(age) => write!(f, " (the newest is {} s old)", age.as_secs()),
                None => Ok(()),
            };
        }
        let mut distrusted = loads
            .iter()
            .filter_map(|load| load.prediction.filter(|one| !one.trust.is_trusted()));
        match distrusted.next() {
            Some(prediction) => write!(f, "{} {}", prediction.model, prediction.trust),
            None => match (
                loads.iter().find_map(|load| load.lacking),
                self.input.traffic,
            ) {
                (Some(lacking), _) => write!(f, "too little history, {lacking}"),
                (None, Some(TrafficStanding::Without { why, .. })) => {
                    write!(f, "no model of the traffic: {why}")
                }
                (None, _) => f.write_str("nothing to add to the HPA's own rule"),
            },
        }
    }
}

fn threshold_in_words(
    f: &mut fmt::Formatter<'_>,
    signal: &Signal,
    threshold: &DynamicThreshold,
) -> fmt::Result {
    let DynamicThreshold {
        growth,
        last,
        target,
        ..
    } = threshold;
    let way = if *growth < 0.0 { "fell" } else { "rose" };
    let (by, last, target) = (growth.abs() * 100.0, last * 100.0, target * 100.0);
    let (whole, signal) = match signal.resource() {
        Some(_) => ("request", signal.to_string()),
        None => ("target", signal.label()),
    };
    write!(
        f,
        "{signal} {way} {by:.0} % to {last:.0} % of its {whole}, d-hpa target {target:.0} %"
    )
}
