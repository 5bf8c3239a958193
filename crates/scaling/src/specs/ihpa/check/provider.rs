//! The providers of portraits.

use std::collections::{HashMap, HashSet};

use evenkeel_api::ihpa::spec::PortraitProvider;
use evenkeel_api::portrait_spec::{
    EXTERNAL_JOB, FORECAST, ForecastAlgorithm, KUBE_HPA, KubeHpaAlgorithm, PREDICTIVE,
    PortraitSpec, REACTIVE,
};
use evenkeel_hpa::{Behavior, BehaviorSpec, behavior_text};
use evenkeel_objects::raw_json;
use evenkeel_objects::raw_json::RawJson;
use evenkeel_objects::yaml_values::YamlText;
use evenkeel_quantity::Quantity;
use serde::Deserialize as _;

use super::error::{IhpaError, IhpaSpecFault, at};
use super::metrics;
use crate::specs::ihpa::rules::{PortraitSource, PredictiveRules, Provider, ReactiveRules};
use crate::specs::portrait::{Portrait, Replicas};
use crate::specs::scaling_policy::PredictionModel;
use crate::specs::{portrait, traffic_query};

/// The algorithms that Evenkeel knows, for messages.
const ALGORITHMS: &str = "KubeHPA for a Reactive portrait, Forecast for a Predictive portrait, \
    ExternalJob, or any type with an externalGeneratorName";

/// The longest type of a portrait, which is part of the name of an object.
const LONGEST_TYPE: usize = 32;

pub(super) fn all(path: &str, written: &[PortraitProvider]) -> Result<Vec<Provider>, IhpaError> {
    let mut named: HashMap<String, usize> = HashMap::new();
    let mut types = HashSet::new();
    let mut providers = Vec::new();
    for (place, one) in written.iter().enumerate() {
        let path = format!("{path}[{place}]");
        let source = source(&path, one)?;
        let kind = match &one.dynamic {
            Some(dynamic) if one.kind == "Dynamic" => dynamic.portrait_type.to_ascii_lowercase(),
            _ => one.kind.to_ascii_lowercase(),
        };
        if one.kind == "Dynamic" && !types.insert(kind.clone()) {
            let path = format!("{path}.dynamic.portraitType");
            return at(path, Err(IhpaSpecFault::Twice(kind)));
        }
        let count = named.entry(kind.clone()).or_default();
        *count += 1;
        let name = match *count {
            1 => kind,
            count => format!("{kind}-{count}"),
        };
        providers.push(Provider {
            name: name.into(),
            priority: one.priority,
            source,
        });
    }
    one_set_of_metrics(path, &providers)?;
    Ok(providers)
}

fn source(path: &str, written: &PortraitProvider) -> Result<PortraitSource, IhpaError> {
    let PortraitProvider {
        kind,
        priority: _,
        constant,
        cron,
        dynamic,
    } = written;
    let replicas = match (kind.as_str(), constant, cron, dynamic) {
        ("Static", Some(constant), None, None) => {
            Replicas::Static(portrait::check::static_count(*constant, path)?)
        }
        ("Cron", None, Some(cron), None) => {
            Replicas::Cron(portrait::check::windows(cron, &format!("{path}.cron"))?)
        }
        ("Dynamic", None, None, Some(dynamic)) => {
            return of_dynamic(&format!("{path}.dynamic"), dynamic);
        }
        _ => {
            let accepted =
                "Static with only static, Cron with only cron, or Dynamic with only dynamic";
            return at(path, Err(IhpaSpecFault::word(kind, accepted)));
        }
    };
    Ok(PortraitSource::Portrait(Portrait {
        replicas,
        expires: None,
    }))
}

fn of_dynamic(path: &str, spec: &PortraitSpec) -> Result<PortraitSource, IhpaError> {
    let portrait_type = spec.portrait_type.as_str();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let is_name = (1..=LONGEST_TYPE).contains(&portrait_type.len())
        && portrait_type.bytes().all(plain)
        && !portrait_type.starts_with('-')
        && !portrait_type.ends_with('-');
    if !is_name {
        let accepted = "at most 32 letters, digits and -, such as Predictive";
        let problem = IhpaSpecFault::word(portrait_type, accepted);
        return at(format!("{path}.portraitType"), Err(problem));
    }
    let algorithm = &spec.algorithm;
    if algorithm.config.as_ref().is_some_and(RawJson::is_too_much) {
        let problem = IhpaSpecFault::Metric(raw_json::ACCEPTED);
        return at(format!("{path}.algorithm.config"), Err(problem));
    }
    match (algorithm.kind.as_str(), portrait_type) {
        _ if spec.external_generator_name.is_some() => Ok(external(spec)),
        (EXTERNAL_JOB, _) => {
            crate::specs::external_job::check(spec).map_err(|problem| IhpaError::At {
                path: format!("{path}.algorithm.externalJob{}", problem.path),
                problem: IhpaSpecFault::Metric(problem.accepted),
            })?;
            Ok(external(spec))
        }
        (KUBE_HPA, REACTIVE) => {
            let metrics = metrics::all(&format!("{path}.metrics"), &spec.metrics)?;
            let kube_hpa = algorithm.kube_hpa.as_ref();
            let behavior = kube_hpa
                .map(|written| behavior(&format!("{path}.algorithm.kubeHPA"), written))
                .transpose()?;
            Ok(PortraitSource::Reactive(ReactiveRules {
                metrics,
                behavior: behavior.flatten(),
            }))
        }
        (FORECAST, PREDICTIVE) => predictive(path, spec).map(PortraitSource::Predictive),
        (given, _) => {
            let path = format!("{path}.algorithm.type");
            at(path, Err(IhpaSpecFault::word(given, ALGORITHMS)))
        }
    }
}

fn external(spec: &PortraitSpec) -> PortraitSource {
    let portrait_type = spec.portrait_type.clone();
    PortraitSource::External { portrait_type }
}

/// The rules of an HPA, with a tolerance for both directions where they do not say one.
fn behavior(path: &str, written: &KubeHpaAlgorithm) -> Result<Option<Behavior>, IhpaError> {
    let KubeHpaAlgorithm {
        tolerance,
        behavior,
    } = written;
    let rules = behavior.as_ref().map(|written| {
        let (rules, parts) = behavior_text::read(written);
        let refused = parts.into_iter().next().map(|part| IhpaError::At {
            path: format!("{path}.behavior{}", part.path),
            problem: IhpaSpecFault::word(&part.given, part.accepted),
        });
        refused.map_or(Ok(rules), Err)
    });
    let rules = rules.transpose()?;
    let Some(written) = tolerance else {
        return Ok(rules);
    };
    let text = YamlText::deserialize(written).ok();
    let read = text.and_then(|YamlText(text)| text.parse::<Quantity>().ok());
    let accepted = read.filter(|tolerance| (0..=1_000_000).contains(&tolerance.milli_value()));
    let given = written
        .as_str()
        .map_or_else(|| written.to_string(), str::to_owned);
    let refused = || IhpaSpecFault::word(&given, "a share of the target, such as \"0.1\"");
    let tolerance = at(format!("{path}.tolerance"), accepted.ok_or_else(refused))?;
    let mut rules = rules.unwrap_or_else(|| BehaviorSpec::default().defaulted());
    for direction in [&mut rules.scale_up, &mut rules.scale_down] {
        direction.tolerance.get_or_insert(tolerance);
    }
    Ok(Some(rules))
}

fn predictive(path: &str, spec: &PortraitSpec) -> Result<PredictiveRules, IhpaError> {
    let default = ForecastAlgorithm::default();
    let ForecastAlgorithm {
        model,
        risk,
        scale_down,
        predict_memory,
        traffic,
    } = spec.algorithm.forecast.as_ref().unwrap_or(&default);
    let path_of = |field: &str| format!("{path}.algorithm.forecast.{field}");
    let predict = model.as_deref().map(|word| {
        let read: Option<PredictionModel> = word.parse().ok();
        let read = read.filter(|model| *model != PredictionModel::Off);
        at(
            path_of("model"),
            read.ok_or_else(|| IhpaSpecFault::word(word, PredictionModel::ACCEPTED_BY_PORTRAIT)),
        )
    });
    let risk = risk.as_deref().map(|text| {
        let accepted = evenkeel_objects::risk::Risk::ACCEPTED;
        let refused = |_| IhpaSpecFault::word(text, accepted);
        at(path_of("risk"), text.parse().map_err(refused))
    });
    let scale_down = scale_down.as_deref().map(|text| {
        let accepted = evenkeel_objects::scaling_mode::ScaleDown::ACCEPTED;
        let refused = |_| IhpaSpecFault::word(text, accepted);
        at(path_of("scaleDown"), text.parse().map_err(refused))
    });
    let traffic = (!traffic.is_empty()).then(|| {
        let read = traffic_query::parse(&traffic.join("\n"));
        let read = read.filter(|read| read.signals().len() == traffic.len());
        let refused = || IhpaSpecFault::Metric(traffic_query::ACCEPTED);
        at(path_of("traffic"), read.ok_or_else(refused))
    });
    let traffic = traffic.transpose()?;
    let predict = predict.transpose()?.unwrap_or_default();
    if predict == PredictionModel::Traffic && traffic.is_none() {
        let problem = IhpaSpecFault::Missing("the traffic that the model traffic uses");
        return at(path_of("traffic"), Err(problem));
    }
    let metrics =
        (!spec.metrics.is_empty()).then(|| metrics::all(&format!("{path}.metrics"), &spec.metrics));
    Ok(PredictiveRules {
        metrics: metrics.transpose()?,
        predict,
        risk: risk.transpose()?,
        scale_down: scale_down.transpose()?,
        predict_memory: *predict_memory,
        traffic,
    })
}

/// Refuses a forecast of other metrics than those that the reactive portrait scales by. A target has one set of
/// loads, and such a forecast would scale by loads that the reactive portrait ignores.
fn one_set_of_metrics(path: &str, providers: &[Provider]) -> Result<(), IhpaError> {
    let reactive = providers.iter().find_map(|one| match &one.source {
        PortraitSource::Reactive(reactive) => Some(&reactive.metrics),
        _ => None,
    });
    let Some(reactive) = reactive else {
        return Ok(());
    };
    for (place, one) in providers.iter().enumerate() {
        if let PortraitSource::Predictive(PredictiveRules {
            metrics: Some(metrics),
            ..
        }) = &one.source
            && metrics != reactive
        {
            let path = format!("{path}[{place}].dynamic.metrics");
            return at(path, Err(IhpaSpecFault::OtherMetrics));
        }
    }
    Ok(())
}
