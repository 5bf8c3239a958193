//! The HPAs and ScaledObjects of a cluster: of each the load to forecast, or the reason why there
//! is none.

use std::sync::Arc;

use evenkeel_metrics::metric_query::MetricSubject;
use evenkeel_metrics::signal::{ResourceName, Signal};
use evenkeel_objects::bounds::ReplicaBounds;
use evenkeel_objects::pod_names;
use evenkeel_objects::pod_names::WorkloadName;
use evenkeel_objects::scaling_mode::ScalingMode;
use evenkeel_sandbox::scrape_timing::Timing;
use evenkeel_sandbox::target_replay;
use evenkeel_sandbox::target_replay::Edges;
use evenkeel_scaling::load::hpa_aware::PodCapacity;
use evenkeel_scaling::targets::problem::TargetProblem;
use evenkeel_scaling::targets::resolve::{ResolvedTarget, conflicts, resolve};
use evenkeel_scaling::targets::scaled_object::{ScaledObject, ScaledObjectTarget};
use evenkeel_scaling::targets::scaling_target::ScalingTarget;
use evenkeel_scaling::targets::settings::Settings;
use evenkeel_scaling::targets::signal_query::{SignalQuerySource, tells_of_the_past};
use evenkeel_scaling::targets::target_objects::TargetObjects;
use evenkeel_scaling::tracker::ScaledSignal;
use evenkeel_service::config::Config;
use evenkeel_service::metrics::prometheus::{PrometheusSource, without_comments};
use evenkeel_units::Resource;
use jiff::{SignedDuration, Timestamp};

use super::args::Args;
use super::autoscaler_list::AssessObjects;

/// An HPA with what is to be replayed of it, or a ScaledObject without one.
#[derive(Debug)]
pub(super) struct AssessCandidate {
    pub namespace: Arc<str>,
    /// The name of the HPA, else of the ScaledObject.
    pub name: String,
    pub scaled_object: Option<String>,
    pub workload: String,
    /// The load that would be forecast, or why none would.
    pub load: Result<ForecastableLoad, NotForecastReason>,
}

#[derive(Debug, Clone)]
pub(super) struct ForecastableLoad {
    pub signal: Signal,
    pub past: PastQuestion,
    /// The PromQL of the load.
    pub promql: Option<String>,
    /// The workload as the replay has it.
    pub target: target_replay::ReplayTarget,
    /// True if a query in an annotation names the load, and the HPA has no such metric.
    pub only_here: bool,
    /// True where the start-up was read off its Pods.
    pub start_up_is_measured: bool,
    /// The parts of the target that the replay leaves out.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PastQuestion {
    Workload(WorkloadName),
    Query(Arc<str>),
}

impl PastQuestion {
    /// The PromQL of the load of all Pods, without comments; `None` if the resource is not measured.
    pub(super) fn promql(&self, resource: Resource, source: &PrometheusSource) -> Option<String> {
        let promql = match self {
            Self::Workload(name) => source.workload_query(resource, name)?,
            Self::Query(query) => source.filled(query),
        };
        Some(without_comments(&promql))
    }
}

/// Why the load of an HPA is not forecast.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NotForecastReason {
    /// Its user wants no scaling by Evenkeel.
    Declined,
    /// The objects do not make a target.
    Problem(TargetProblem),
    /// It has no Pods now, and its target is a share of their requests.
    NoPods,
    /// Nothing that it scales by is forecast.
    NotForecast(String),
    /// The past of what it scales by is not to be found.
    NoPast(String),
    /// A ScaledObject without an HPA.
    NoAutoscaler,
    /// It has one count for all times.
    OneCount(i32),
    /// Its largest load takes more Pods than a replay counts.
    TooManyPods { needed: i32, most: i32 },
}

impl NotForecastReason {
    pub(super) const fn reason(&self) -> &'static str {
        match self {
            Self::Declined => "Declined",
            Self::Problem(problem) => problem.kind(),
            Self::NoPods => "NoPods",
            Self::NotForecast(_) => "NotForecast",
            Self::NoPast(_) => "NoPast",
            Self::NoAutoscaler => "NoAutoscaler",
            Self::OneCount(_) => "OneCount",
            Self::TooManyPods { .. } => "TooManyPods",
        }
    }

    /// The same with the problems that may have led to it, such as a query that is not allowed.
    fn because(self, problems: &[TargetProblem]) -> Self {
        match self {
            Self::NoPast(why) => {
                let problems = problems.iter().map(|problem| format!("; {problem}"));
                Self::NoPast([why].into_iter().chain(problems).collect())
            }
            other => other,
        }
    }

    pub(super) fn told(&self) -> String {
        match self {
            Self::Declined => "its annotation is evenkeel.dev/scaling: off".to_owned(),
            Self::Problem(problem) => problem.to_string(),
            Self::NoPods => {
                "it has no Pods now, and its target is a share of their requests".to_owned()
            }
            Self::NotForecast(signals) => format!(
                "it scales by {signals}, which grows with each Pod: a floor would raise the load \
                 that it is made from, so Evenkeel reacts to it and does not forecast it"
            ),
            Self::NoPast(why) => why.clone(),
            Self::NoAutoscaler => {
                "KEDA has created no HPA for the ScaledObject, so nothing scales by its load"
                    .to_owned()
            }
            Self::OneCount(count) => {
                format!(
                    "its minReplicas and maxReplicas are both {count}: there is nothing to scale"
                )
            }
            Self::TooManyPods { needed, most } => format!(
                "its largest load needs {needed} Pods at its target, and a replay supports at most \
                 {most}"
            ),
        }
    }
}

pub(super) fn all(
    listed: &AssessObjects,
    args: &Args,
    config: &Config,
    now: Timestamp,
) -> Vec<AssessCandidate> {
    let settings = Settings {
        mode: ScalingMode::Recommend,
        ..config.scaling
    };
    let observed = &listed.autoscalers;
    let resolved = observed.iter().zip(conflicts(observed));
    let candidates = resolved.map(|(observed, conflict)| {
        let resolved = resolve(observed, conflict, &settings, None, now);
        AssessCandidate::of(observed, resolved, args.start_up)
    });
    let without_autoscaler = listed.without_autoscaler.iter();
    let without_autoscaler = without_autoscaler.map(AssessCandidate::without_autoscaler);
    let mut all: Vec<_> = candidates.chain(without_autoscaler).collect();
    all.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
    all
}

impl AssessCandidate {
    fn of(observed: &TargetObjects, resolved: ResolvedTarget, start_up: SignedDuration) -> Self {
        let autoscaler = observed.autoscaler.as_deref();
        let name = autoscaler.and_then(|autoscaler| autoscaler.metadata.name.clone());
        let scaled_object = observed.scaled_object.as_deref();
        Self {
            namespace: Arc::clone(&observed.namespace),
            name: name.unwrap_or_default(),
            scaled_object: scaled_object.and_then(|object| object.metadata.name.clone()),
            workload: format!("{}/{}", observed.target.kind(), observed.target.name()),
            load: load(observed, resolved, start_up),
        }
    }

    fn without_autoscaler(object: &ScaledObject) -> Self {
        let ScaledObject { metadata, spec } = object;
        let ScaledObjectTarget { kind, name } = &spec.scale_target_ref;
        Self {
            namespace: metadata.namespace.as_deref().unwrap_or_default().into(),
            name: metadata.name.clone().unwrap_or_default(),
            scaled_object: metadata.name.clone(),
            workload: format!("{kind}/{name}"),
            load: Err(if object.is_paused() {
                NotForecastReason::Problem(TargetProblem::Paused)
            } else {
                NotForecastReason::NoAutoscaler
            }),
        }
    }
}

fn load(
    observed: &TargetObjects,
    resolved: ResolvedTarget,
    start_up: SignedDuration,
) -> Result<ForecastableLoad, NotForecastReason> {
    let ResolvedTarget {
        target, problems, ..
    } = resolved;
    let Some(target) = target else {
        let problem = problems.into_iter().next();
        return Err(problem.map_or(NotForecastReason::Declined, NotForecastReason::Problem));
    };
    let bounds = target.policy.bounds;
    if bounds.min() == bounds.max() {
        return Err(NotForecastReason::OneCount(bounds.min()));
    }
    let (scaled, past) = forecast(observed, &target).map_err(|unfit| unfit.because(&problems))?;
    let lead = target.policy.lead;
    let measured = lead.start_up.saturating_add(lead.node_start_up);
    let start_up_is_measured = !observed.pods.starts.is_empty();
    let start_up = if start_up_is_measured {
        measured
    } else {
        start_up
    };
    Ok(ForecastableLoad {
        notes: notes(&target, scaled, &problems),
        signal: scaled.signal.clone(),
        past,
        promql: None,
        target: replayed(scaled, bounds, start_up),
        only_here: scaled.only_here,
        start_up_is_measured,
    })
}

/// The first signal that is forecast and has a past, with the question for it.
fn forecast<'a>(
    observed: &TargetObjects,
    target: &'a ScalingTarget,
) -> Result<(&'a ScaledSignal, PastQuestion), NotForecastReason> {
    if target.signals.is_empty() {
        return Err(NotForecastReason::NoPods);
    }
    let asked = target.signals.iter().zip(&target.questions);
    let mut without = None;
    for (scaled, question) in asked.filter(|(scaled, _)| scaled.is_forecast) {
        match past(observed, &scaled.signal, question) {
            Ok(past) => return Ok((scaled, past)),
            Err(why) => without = without.or(Some(why)),
        }
    }
    let signals = || {
        let signals = target.signals.iter().map(|one| one.signal.label());
        signals.collect::<Vec<_>>().join(" and ")
    };
    Err(without.map_or_else(
        || NotForecastReason::NotForecast(signals()),
        NotForecastReason::NoPast,
    ))
}

/// The question for the past of a signal.
///
/// # Errors
/// There is none, and why.
fn past(
    observed: &TargetObjects,
    signal: &Signal,
    question: &SignalQuerySource,
) -> Result<PastQuestion, String> {
    let target = &observed.target;
    match (signal, question) {
        (Signal::Resource(_), SignalQuerySource::Measured) => {
            let named = pod_names::ending(target.object().kind(), target.name());
            named.ok_or_else(|| {
                format!(
                    "the names of Pods do not show which of them belonged to {target} in the past"
                )
            })?;
            Ok(PastQuestion::Workload(WorkloadName {
                namespace: observed.namespace.as_ref().into(),
                workload: format!("{}/{}", target.kind(), target.name()).into(),
            }))
        }
        (Signal::PromQl(query), SignalQuerySource::Asked(asked)) => match &asked.subject {
            MetricSubject::PromQl(text) if tells_of_the_past(observed, query) => {
                Ok(PastQuestion::Query(Arc::clone(text)))
            }
            _ => Err(format!(
                "the query for {} names today's Pods, not those of the past",
                signal.label()
            )),
        },
        _ => Err(format!(
            "the history of {} is not read, because its name in Prometheus is unknown: name the \
             load in evenkeel.dev/query",
            signal.label()
        )),
    }
}

/// The parts of a target that the replay of one signal leaves out.
fn notes(target: &ScalingTarget, scaled: &ScaledSignal, problems: &[TargetProblem]) -> Vec<String> {
    let others = target
        .signals
        .iter()
        .filter(|one| one.signal != scaled.signal);
    let others: Vec<_> = others.map(|one| one.signal.label()).collect();
    let others = (!others.is_empty()).then(|| {
        format!(
            "{} is left out: the replay covers {} alone",
            others.join(" and "),
            scaled.signal.label()
        )
    });
    let behavior = target.policy.behavior.is_some();
    let behavior = behavior.then(|| "its behavior is replayed as Kubernetes' default".to_owned());
    let problems = problems.iter().map(TargetProblem::to_string);
    problems.chain(others).chain(behavior).collect()
}

/// The workload for the replay. A load that is no resource of a Pod is replayed as a rate: each Pod
/// carries the target value, and starting takes none.
fn replayed(
    scaled: &ScaledSignal,
    bounds: ReplicaBounds,
    start_up: SignedDuration,
) -> target_replay::ReplayTarget {
    let capacity: PodCapacity = scaled.capacity;
    target_replay::ReplayTarget {
        resource: match &scaled.signal {
            Signal::Resource(ResourceName::Cpu) => Resource::Cpu,
            Signal::Resource(ResourceName::Memory) => Resource::Memory,
            _ => Resource::NetworkIo,
        },
        capacity,
        bounds,
        start_up,
        metrics: Timing::default(),
        edges: Edges::default(),
        initial: None,
    }
}
