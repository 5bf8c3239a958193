//! The load of the next hours in the status of a HorizontalPortrait, for people and for other programs. Nothing is
//! scaled by it.
//!
//! It is made every ten minutes for each portrait with the algorithm Forecast, from the loads that its workload is
//! scaled by.

use evenkeel_api::horizontal_portrait::hours_ahead::{
    HoursAhead, MOST_AHEAD, MetricAhead, PointAhead,
};
use evenkeel_api::horizontal_portrait::status::{HorizontalPortraitStatus, PORTRAIT_GENERATED};
use evenkeel_api::portrait_spec::{FORECAST, ForecastAlgorithm};
use evenkeel_forecast::{
    Forecast, ForecastStep, HOURS_AHEAD_STEP, ModelAssets, ModelSet, NotReady, hours_ahead,
};
use evenkeel_metrics::load_unit::LoadUnit;
use evenkeel_metrics::signal::Signal;
use evenkeel_objects::condition::Condition;
use evenkeel_objects::plan::Write;
use jiff::{SignedDuration, Timestamp};

use super::portrait_status::write_status;
use crate::specs::horizontal_portrait::HorizontalPortrait;
use crate::specs::scaling_policy::PredictionModel;
use crate::targets::reference::TargetRef;
use crate::tracker::{KnownLoad, KnownLoads};

/// The reason of a portrait with hours ahead.
pub(super) const FORECAST_MADE: &str = "Forecast";

/// The share of values in the intervals, in percent.
const INTERVAL: i32 = 80;

/// A portrait with no series, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HoursAheadProblem {
    #[error(
        "spec.algorithm.forecast.model: {0:?} is not accepted; accepted: {accepted}",
        accepted = PredictionModel::ACCEPTED_BY_PORTRAIT
    )]
    Model(String),
    #[error("Evenkeel neither scales {0} nor recommends replicas for it")]
    NoTarget(String),
    #[error(
        "no metric of {0} is forecast yet: the first forecast needs ten minutes of measurements, and evenkeel.dev/predict must not be off"
    )]
    NothingForecast(String),
    #[error("the past of {0} is still being read")]
    Filling(String),
    #[error("{metric}: {error}")]
    NotReady { metric: String, error: NotReady },
    #[error("internal error; see the leader's log")]
    Failed,
}

impl HoursAheadProblem {
    /// True where no model was fitted, so that it can be looked at again at once.
    pub const fn is_without_fit(&self) -> bool {
        matches!(
            self,
            Self::Model(_) | Self::NoTarget(_) | Self::NothingForecast(_) | Self::Filling(_)
        )
    }

    /// The kind of problem, for conditions.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Model(_) => "InvalidSpec",
            Self::NoTarget(_) => "NoTarget",
            Self::NothingForecast(_) => "NothingForecast",
            Self::Filling(_) | Self::NotReady { .. } => "NotReady",
            Self::Failed => "ForecastFailed",
        }
    }
}

/// The workload of a portrait for which Evenkeel computes the next hours; `None` for other portraits.
pub fn forecast_workload(portrait: &HorizontalPortrait) -> Option<TargetRef> {
    let spec = &portrait.spec;
    if !spec.portrait.is_built_in() || spec.portrait.algorithm.kind != FORECAST {
        return None;
    }
    let namespace = portrait.metadata.namespace.as_deref()?;
    let workload = &spec.scale_target_ref;
    let reference = TargetRef::new(
        workload.api_version(),
        &workload.kind,
        namespace,
        &workload.name,
    );
    reference.is_named().then_some(reference)
}

/// When the hours ahead of a portrait were computed last.
pub(super) fn last_computed(portrait: &HorizontalPortrait) -> Option<Timestamp> {
    Some(portrait.status.as_ref()?.hours_ahead.as_ref()?.time)
}

/// The forecasts to make for a portrait.
#[derive(Debug)]
pub struct HoursAheadPlan {
    pub fits: Vec<HoursAheadFit>,
    workload: String,
    is_filling: bool,
}

/// One forecast to make.
#[derive(Debug, Clone, PartialEq)]
pub struct HoursAheadFit {
    load: KnownLoad,
    model: ModelSet,
}

/// Plans the forecasts for a portrait of `workload`; `known` is `None` where that is no target. The portrait's own
/// model counts, otherwise that of each load.
///
/// # Errors
/// The model is not accepted, no load of the workload is forecast, or its past is not known yet.
pub fn plan_hours_ahead(
    portrait: &HorizontalPortrait,
    workload: &TargetRef,
    known: Option<KnownLoads>,
) -> Result<HoursAheadPlan, HoursAheadProblem> {
    let named = named_model(portrait)?;
    let workload = workload.to_string();
    let Some(KnownLoads { loads, is_filling }) = known else {
        return Err(HoursAheadProblem::NoTarget(workload));
    };
    if loads.is_empty() {
        return Err(if is_filling {
            HoursAheadProblem::Filling(workload)
        } else {
            HoursAheadProblem::NothingForecast(workload)
        });
    }
    let fits = loads.into_iter().take(MOST_AHEAD).map(|load| {
        let model = named.unwrap_or(load.model).for_hours_ahead();
        HoursAheadFit { load, model }
    });
    Ok(HoursAheadPlan {
        fits: fits.collect(),
        workload,
        is_filling,
    })
}

impl HoursAheadFit {
    /// The load that is to be forecast by a network of `swish-net`.
    pub fn network_of(&self) -> Option<&Signal> {
        (self.model == ModelSet::SwishNet).then_some(&self.load.signal)
    }

    /// The same by `auto`.
    pub fn by_auto(self) -> Self {
        let model = ModelSet::Auto;
        Self { model, ..self }
    }

    /// Makes the forecast, which takes a second or two.
    ///
    /// # Errors
    /// Too little is known for the model.
    pub fn make(&self, shared: &ModelAssets) -> Result<MetricAhead, HoursAheadProblem> {
        let Self { load, model } = self;
        let forecast = hours_ahead(&load.highs, *model, shared);
        let forecast = forecast.map_err(|error| HoursAheadProblem::NotReady {
            metric: load.signal.label(),
            error,
        })?;
        Ok(metric(load, *model, &forecast))
    }
}

impl HoursAheadPlan {
    /// The forecasts that were made.
    ///
    /// # Errors
    /// None was made, and the last problem.
    pub fn gathered(
        self,
        made: Vec<Result<MetricAhead, HoursAheadProblem>>,
        now: Timestamp,
    ) -> Result<HoursAhead, HoursAheadProblem> {
        let mut metrics = Vec::new();
        let mut last = HoursAheadProblem::Failed;
        for one in made {
            match one {
                Ok(metric) => metrics.push(metric),
                Err(HoursAheadProblem::NotReady { .. }) if self.is_filling => {
                    last = HoursAheadProblem::Filling(self.workload.clone());
                }
                Err(problem) => last = problem,
            }
        }
        if metrics.is_empty() {
            return Err(last);
        }
        Ok(HoursAhead {
            time: now,
            step_seconds: i32::try_from(HOURS_AHEAD_STEP.as_secs()).unwrap_or(i32::MAX),
            interval_percent: INTERVAL,
            metrics,
        })
    }
}

fn named_model(portrait: &HorizontalPortrait) -> Result<Option<ModelSet>, HoursAheadProblem> {
    let forecast = portrait.spec.portrait.algorithm.forecast.as_ref();
    let Some(name) = forecast.and_then(|forecast| forecast.model.as_ref()) else {
        return Ok(None);
    };
    let models = PredictionModel::named(name).and_then(PredictionModel::models);
    let refused = || HoursAheadProblem::Model(name.clone());
    models.map(Some).ok_or_else(refused)
}

fn metric(load: &KnownLoad, model: ModelSet, forecast: &Forecast) -> MetricAhead {
    let unit = LoadUnit::of(&load.signal);
    let quantity = |load| unit.quantity(rounded(load)).to_string();
    let replicas = |load_of_all| load.capacity.desired_for_sum(load_of_all);
    let point = |(step, ahead): (&ForecastStep, i32)| {
        let since = forecast.step.checked_mul(ahead)?;
        let interval = step.interval80;
        Some(PointAhead {
            timestamp: forecast.origin.checked_add(since).ok()?.as_second(),
            value: quantity(step.mean),
            lower: quantity(interval.lower),
            upper: quantity(interval.upper),
            replicas: replicas(step.mean),
            upper_replicas: replicas(interval.upper),
        })
    };
    MetricAhead {
        name: load.signal.label(),
        model: model.as_str().to_owned(),
        points: forecast.steps.iter().zip(1..).filter_map(point).collect(),
    }
}

/// Without digits that a forecast does not have: whole millicores and bytes.
fn rounded(load: f64) -> f64 {
    if load >= 10.0 {
        load.round()
    } else {
        (load * 1000.0).round() / 1000.0
    }
}

/// The write that puts the next hours into the status, or why there are none. A series of before stays until its
/// last point is over.
pub fn hours_ahead_status(
    portrait: &HorizontalPortrait,
    computed: Result<HoursAhead, HoursAheadProblem>,
    now: Timestamp,
) -> Option<Write> {
    let default = HorizontalPortraitStatus::default();
    let before = portrait.status.as_ref().unwrap_or(&default);
    let (hours_ahead, condition) = match computed {
        Ok(hours) => {
            let condition = generated(portrait, &hours);
            (Some(hours), condition)
        }
        Err(problem) => {
            let (reason, message) = (problem.reason(), problem.to_string());
            let is_filling = matches!(problem, HoursAheadProblem::Filling(_));
            let kept = before
                .hours_ahead
                .clone()
                .filter(|hours| !is_over(hours, now));
            if kept.is_some() && is_filling {
                return None;
            }
            (
                kept,
                Condition::new(PORTRAIT_GENERATED, false, reason, message),
            )
        }
    };
    let after = HorizontalPortraitStatus {
        hours_ahead,
        ..before.clone()
    };
    write_status(portrait, after, condition, now)
}

/// True once the last of its points is over.
fn is_over(hours: &HoursAhead, now: Timestamp) -> bool {
    let last = hours
        .metrics
        .iter()
        .filter_map(|metric| metric.points.last());
    let last = last.map(|point| point.timestamp).max();
    let end = |last: i64| last.saturating_add(i64::from(hours.step_seconds));
    last.is_none_or(|last| end(last) <= now.as_second())
}

fn generated(portrait: &HorizontalPortrait, hours: &HoursAhead) -> Condition {
    let metric = |metric: &MetricAhead| {
        let steps = i32::try_from(metric.points.len()).unwrap_or(i32::MAX);
        let reach = SignedDuration::from_secs(i64::from(hours.step_seconds)) * steps;
        format!("{}: {reach:#} ahead by {}", metric.name, metric.model)
    };
    let metrics: Vec<String> = hours.metrics.iter().map(metric).collect();
    let message = metrics.join(", ");
    let ignored = without_effect(portrait);
    let message = if ignored.is_empty() {
        message
    } else {
        format!("{message}; without effect here: {}", ignored.join(", "))
    };
    Condition::new(PORTRAIT_GENERATED, true, FORECAST_MADE, message)
}

/// The fields of the spec that count in a provider of an autoscaler and not in a portrait of its own.
fn without_effect(portrait: &HorizontalPortrait) -> Vec<&'static str> {
    let spec = &portrait.spec.portrait;
    let ForecastAlgorithm {
        model: _,
        risk,
        scale_down,
        predict_memory,
        traffic,
    } = spec.algorithm.forecast.clone().unwrap_or_default();
    let fields = [
        ("metrics", !spec.metrics.is_empty()),
        ("risk", risk.is_some()),
        ("scaleDown", scale_down.is_some()),
        ("predictMemory", predict_memory.is_some()),
        ("traffic", !traffic.is_empty()),
    ];
    let set = fields.into_iter().filter(|(_, is_set)| *is_set);
    set.map(|(field, _)| field).collect()
}

#[cfg(test)]
mod tests {
    use evenkeel_forecast::RegularSeries;
    use evenkeel_metrics::signal::Signal;
    use evenkeel_objects::plan::WriteOperation;
    use evenkeel_units::Ratio;
    use serde_json::{Value, json};

    use super::*;
    use crate::load::hpa_aware::PodCapacity;

    /// The end of a whole ten minutes.
    const NOW: i64 = 1_800_000_000;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn portrait(forecast: &Value, status: &Value) -> HorizontalPortrait {
        let object = json!({
            "metadata": {"name": "web-ahead", "namespace": "shop", "uid": "p", "generation": 1},
            "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"},
                "portraitType": "Predictive",
                "algorithm": {"type": "Forecast", "forecast": forecast}},
            "status": status,
        });
        serde_json::from_value(object).unwrap()
    }

    fn workload() -> TargetRef {
        forecast_workload(&portrait(&json!({}), &json!({}))).unwrap()
    }

    /// A load of 1,500 millicores by Pods that carry 250 each, known for so many steps.
    fn steady(steps: i32) -> KnownLoad {
        let values = vec![Some(1500.0); usize::try_from(steps).unwrap()];
        let start = at(NOW).checked_sub(HOURS_AHEAD_STEP * steps).unwrap();
        KnownLoad {
            signal: Signal::CPU,
            model: ModelSet::SHpa,
            capacity: PodCapacity::new(500.0, Ratio::new(0.5).unwrap()).unwrap(),
            highs: RegularSeries::new(start, HOURS_AHEAD_STEP, values).unwrap(),
        }
    }

    fn of(forecast: &Value, loads: Option<&[KnownLoad]>) -> Result<HoursAhead, HoursAheadProblem> {
        let (portrait, shared) = (portrait(forecast, &Value::Null), ModelAssets::default());
        let known = loads.map(|loads| KnownLoads {
            loads: loads.to_vec(),
            is_filling: false,
        });
        let plan = plan_hours_ahead(&portrait, &workload(), known)?;
        let made = plan.fits.iter().map(|fit| fit.make(&shared)).collect();
        plan.gathered(made, at(NOW))
    }

    #[test]
    fn a_series_is_not_disturbed_while_the_past_is_read() {
        let filling = |loads: Vec<KnownLoad>| {
            let known = KnownLoads {
                loads,
                is_filling: true,
            };
            let portrait = portrait(&json!({}), &Value::Null);
            let plan = plan_hours_ahead(&portrait, &workload(), Some(known))?;
            let shared = ModelAssets::default();
            let made = plan.fits.iter().map(|fit| fit.make(&shared)).collect();
            plan.gathered(made, at(NOW))
        };
        let reading = Err(HoursAheadProblem::Filling("Deployment web".to_owned()));
        assert_eq!(filling(Vec::new()), reading);
        assert_eq!(filling(vec![steady(30)]), reading);
        let hours = filling(vec![steady(72)]).unwrap();
        let shown = portrait(&json!({}), &json!({"hoursAhead": hours}));
        assert!(hours_ahead_status(&shown, reading.clone(), at(NOW)).is_none());
        let new = portrait(&json!({}), &json!({}));
        let status = told(&new, hours_ahead_status(&new, reading, at(NOW)));
        assert_eq!(status["conditions"][0]["reason"], "NotReady");
    }

    /// The status that a write leaves.
    fn told(portrait: &HorizontalPortrait, write: Option<Write>) -> Value {
        let Some(WriteOperation::Merge(body)) = write.map(|write| write.operation) else {
            panic!("no write")
        };
        let mut status = serde_json::to_value(portrait.status.clone().unwrap_or_default()).unwrap();
        json_patch::merge(&mut status, &body["status"]);
        status
    }

    #[test]
    fn the_status_has_a_series_with_its_interval_and_replicas() {
        let hours = of(&json!({}), Some(&[steady(72)])).unwrap();
        let metric = &hours.metrics[0];
        assert_eq!((&*metric.name, &*metric.model), ("cpu", "auto"));
        assert_eq!(metric.points.len(), 12);
        let first = &metric.points[0];
        assert_eq!(
            (first.timestamp, &*first.value, first.replicas),
            (NOW, "1500m", 6)
        );
        assert_eq!(metric.points[11].timestamp, NOW + 11 * 600);
        let before = portrait(&json!({"risk": "2%"}), &json!({}));
        let status = told(&before, hours_ahead_status(&before, Ok(hours), at(NOW)));
        assert_eq!(status["hoursAhead"]["stepSeconds"], 600);
        let condition = &status["conditions"][0];
        assert_eq!(
            (&condition["status"], &condition["reason"]),
            (&json!("True"), &json!("Forecast"))
        );
        assert_eq!(
            condition["message"],
            "cpu: 2h ahead by auto; without effect here: risk"
        );
    }

    #[test]
    fn quantities_have_no_more_digits_than_people_read() {
        for (load, told) in [(1546.338, "1546m"), (9.8765, "9877u"), (0.0, "0")] {
            assert_eq!(
                LoadUnit::Millicores.quantity(rounded(load)).to_string(),
                told
            );
        }
        assert_eq!(
            LoadUnit::Bytes.quantity(rounded(2e9 + 0.3)).to_string(),
            "2G"
        );
    }

    #[test]
    fn a_portrait_without_a_series_says_why() {
        let message = |forecast: Value, loads: Option<&[KnownLoad]>| {
            of(&forecast, loads).unwrap_err().to_string()
        };
        assert_eq!(
            message(json!({}), None),
            "Evenkeel neither scales Deployment web nor recommends replicas for it"
        );
        assert!(
            message(json!({}), Some(&[])).starts_with("no metric of Deployment web is forecast")
        );
        assert_eq!(
            message(json!({}), Some(&[steady(30)])),
            "cpu: auto ready in 60 min"
        );
        let refused = message(json!({"model": "holt"}), Some(&[steady(72)]));
        assert!(
            refused.contains("\"holt\" is not accepted; accepted: auto,"),
            "{refused}"
        );
        // One load that is too young leaves the other.
        let young = KnownLoad {
            signal: Signal::MEMORY,
            ..steady(30)
        };
        let hours = of(&json!({"model": "arima"}), Some(&[young, steady(72)])).unwrap();
        assert_eq!(hours.metrics.len(), 1);
        assert_eq!(hours.metrics[0].model, "arima");
    }

    #[test]
    fn a_series_stays_until_it_is_over_and_others_keep_their_conditions() {
        let hours = of(&json!({}), Some(&[steady(72)])).unwrap();
        let theirs = json!({"type": "Theirs", "status": "True", "reason": "a", "message": "b",
            "lastTransitionTime": at(1).to_string(), "observedGeneration": 7});
        let status = json!({"observedGeneration": 1, "hoursAhead": hours, "conditions": [theirs]});
        let before = portrait(&json!({}), &status);
        let failed = |second| {
            let problem = HoursAheadProblem::Failed;
            told(
                &before,
                hours_ahead_status(&before, Err(problem), at(second)),
            )
        };
        let status = failed(NOW + 7199);
        assert_eq!(status["hoursAhead"], json!(hours));
        assert_eq!(status["conditions"][0]["reason"], "ForecastFailed");
        assert_eq!(status["conditions"][1], theirs);
        assert_eq!(failed(NOW + 7200)["hoursAhead"], Value::Null);
    }

    #[test]
    fn portraits_of_others_are_left_to_them() {
        let edited = |change: fn(&mut HorizontalPortrait)| {
            let mut portrait = portrait(&json!({}), &json!({}));
            change(&mut portrait);
            forecast_workload(&portrait)
        };
        assert!(edited(|_| ()).is_some());
        let generator = |one: &mut HorizontalPortrait| {
            one.spec.portrait.external_generator_name = Some("us".to_owned());
        };
        assert_eq!(edited(generator), None);
        let kind = |one: &mut HorizontalPortrait| {
            "KubeHPA".clone_into(&mut one.spec.portrait.algorithm.kind);
        };
        assert_eq!(edited(kind), None);
    }
}
