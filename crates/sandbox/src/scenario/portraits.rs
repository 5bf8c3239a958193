//! The providers of a workload and the steps of its changes, in the fields of an
//! IntelligentHorizontalPodAutoscaler's spec, which its own reader checks. Bounds and metric come
//! from `scale`. Parts that need a cluster, such as external algorithms and lowered resources, and
//! unknown fields are refused.

use evenkeel_api::cron_hpa::spec::ScaledRef;
use evenkeel_api::ihpa::spec::{IhpaBehavior, IhpaSpec, PortraitProvider};
use evenkeel_api::portrait_spec::{FORECAST, KUBE_HPA, PREDICTIVE, PortraitSpec, REACTIVE};
use evenkeel_scaling::specs::ihpa;
use evenkeel_scaling::specs::ihpa::{IhpaRules, PortraitSource};
use evenkeel_scaling::specs::scaling_policy::PredictionModel;
use evenkeel_scaling::staged_change::ScaleDownTarget;
use evenkeel_units::i64_ceil;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::error::ScenarioError;
use super::model::{ScaleBy, ScenarioHpa};
use super::values::refused;
use crate::portraits::Portraits;

pub(super) struct WorkloadPortraitsFile {
    pub(super) providers: Vec<Value>,
    pub(super) behavior: Option<Value>,
}

impl WorkloadPortraitsFile {
    /// For this `scale`; `None` without portraits.
    pub(super) fn check(
        self,
        scale: ScenarioHpa,
        path: &str,
    ) -> Result<Option<Portraits>, ScenarioError> {
        let Self {
            providers,
            behavior,
        } = self;
        if providers.is_empty() {
            let accepted = "with portraitProviders only";
            let lone = behavior.map(|given| refused(&format!("{path}.behavior"), given, accepted));
            return lone.map_or(Ok(None), Err);
        }
        let ScaleBy::Cpu(share) = scale.by else {
            let accepted = "a target of cpu together with portraitProviders";
            return Err(refused(path, "requestsPerSecond", accepted));
        };
        let percent = i64_ceil((share.get() * 100.0).round().max(1.0));
        let target = json!({"type": "Utilization", "averageUtilization": percent});
        let metric = json!({"type": "Resource", "resource": {"name": "cpu", "target": target}});
        let mut read = Vec::new();
        for (place, value) in providers.into_iter().enumerate() {
            let path = format!("{path}.portraitProviders[{place}]");
            let mut provider: PortraitProvider = typed(&value, &path)?;
            if let Some(dynamic) = &mut provider.dynamic {
                complete(dynamic, &metric, &format!("{path}.dynamic"))?;
            }
            read.push(provider);
        }
        let behavior_path = format!("{path}.behavior");
        let behavior = behavior.map(|value| typed::<IhpaBehavior>(&value, &behavior_path));
        let bound = |count: u32| i32::try_from(count).unwrap_or(i32::MAX);
        let spec = IhpaSpec {
            scale_target_ref: ScaledRef {
                api_version: None,
                kind: "Deployment".to_owned(),
                name: "simulated".to_owned(),
            },
            min_replicas: bound(scale.min),
            max_replicas: bound(scale.max),
            portrait_providers: read,
            behavior: behavior.transpose()?,
            ..IhpaSpec::default()
        };
        let rules = ihpa::check(&spec).map_err(|error| ScenarioError::Portraits {
            path: path.to_owned(),
            why: error.to_string(),
        })?;
        simulated(rules, path).map(Some)
    }
}

/// Refuses rules that cannot be simulated.
fn simulated(rules: IhpaRules, path: &str) -> Result<Portraits, ScenarioError> {
    let IhpaRules {
        providers,
        behavior,
        ..
    } = rules;
    for (place, provider) in providers.iter().enumerate() {
        let path = format!("{path}.portraitProviders[{place}].dynamic");
        match &provider.source {
            PortraitSource::External { portrait_type } => {
                let accepted = "portraits that Evenkeel makes itself: a scenario has no other \
                    generator";
                return Err(refused(&path, portrait_type, accepted));
            }
            PortraitSource::Predictive(predictive) => {
                let model = predictive.predict;
                let is_not_simulated = matches!(
                    model,
                    PredictionModel::SwishNet | PredictionModel::Traffic | PredictionModel::Off
                );
                if predictive.traffic.is_some() || is_not_simulated {
                    let path = format!("{path}.algorithm.forecast");
                    return Err(refused(
                        &path,
                        model.as_str(),
                        "the models auto, ds-hpa, arima, gru, arima-gru and gbdt, without traffic",
                    ));
                }
            }
            PortraitSource::Portrait(_) | PortraitSource::Reactive(_) => {}
        }
    }
    if behavior.park() == ScaleDownTarget::Standby {
        let path = format!("{path}.behavior.scaleDown.grayStrategy.grayState");
        let accepted = "Cutoff or Deleted: what standby saves is not simulated";
        return Err(refused(&path, "Standby", accepted));
    }
    Ok(Portraits {
        providers,
        behavior,
    })
}

/// Adds the bounds and metric of `scale` to a dynamic provider, and the only algorithm here.
fn complete(spec: &mut PortraitSpec, metric: &Value, path: &str) -> Result<(), ScenarioError> {
    if !spec.metrics.is_empty() {
        let accepted = "no metrics: a workload here scales by scale.cpu";
        return Err(refused(
            &format!("{path}.metrics"),
            &spec.portrait_type,
            accepted,
        ));
    }
    let own = match spec.portrait_type.as_str() {
        REACTIVE => KUBE_HPA,
        PREDICTIVE => FORECAST,
        _ => return Ok(()),
    };
    spec.metrics.push(metric.clone());
    if spec.algorithm.kind.is_empty() {
        own.clone_into(&mut spec.algorithm.kind);
    }
    Ok(())
}

/// Refuses unknown fields.
fn typed<T: DeserializeOwned + Serialize>(given: &Value, path: &str) -> Result<T, ScenarioError> {
    let malformed = |error: serde_json::Error| ScenarioError::Portraits {
        path: path.to_owned(),
        why: error.to_string(),
    };
    let read = T::deserialize(given).map_err(malformed)?;
    let kept = serde_json::to_value(&read).map_err(malformed)?;
    match unknown(given, &kept) {
        None => Ok(read),
        Some(field) => {
            let accepted = "a field of an IntelligentHorizontalPodAutoscaler";
            Err(refused(path, field, accepted))
        }
    }
}

/// The first field that was not kept.
fn unknown(given: &Value, kept: &Value) -> Option<String> {
    match (given, kept) {
        (Value::Object(given), Value::Object(kept)) => given.iter().find_map(|(name, value)| {
            let Some(kept) = kept.get(name) else {
                return Some(name.clone());
            };
            unknown(value, kept).map(|rest| format!("{name}.{rest}"))
        }),
        (Value::Array(given), Value::Array(kept)) => {
            let mut pairs = given.iter().zip(kept).enumerate();
            pairs.find_map(|(place, (given, kept))| {
                unknown(given, kept).map(|rest| format!("[{place}].{rest}"))
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_scaling::staged_change::StepSize;

    use super::*;
    use crate::portraits::ProviderKind;
    use crate::scenario::Scenario;

    const SMALL: &str = "
name: small
nodes:
  - {name: a, capacity: {cpu: 4, memory: 8Gi, networkIo: 1Gbps, diskIo: 100MB/s, disk: 50Gi}}
workloads:
  - name: web
    namespace: shop
    replicas: 2
    demand: {cpu: 250m}
    usage: {idle: {cpu: 50m}}
    startup: {pull: 5s, start: 1s, warmUp: 0s}
    scale:
      min: 1
      max: 4
      cpu: 60%
";

    fn read(scale: &str) -> Result<Portraits, String> {
        let scenario = format!("{SMALL}{scale}").parse::<Scenario>();
        let scenario = scenario.map_err(|error| error.to_string())?;
        let portraits = scenario.workloads[0].portraits.clone();
        let portraits = portraits.ok_or_else(|| "there are none".to_owned())?;
        Ok((*portraits).clone())
    }

    #[test]
    fn providers_and_steps_are_read_in_the_fields_of_the_kind() {
        let portraits = read(
            "      portraitProviders:
        - {type: Static, priority: -1, static: {replicas: 2}}
        - {type: Cron, priority: 0, cron: {crons: [{name: day, start: '0 8 * * *', end: '0 18 * * *', replicas: 4}]}}
        - {type: Dynamic, priority: 0, dynamic: {portraitType: Reactive}}
        - {type: Dynamic, priority: 0, dynamic: {portraitType: Predictive, algorithm: {type: Forecast, forecast: {risk: 2%}}}}
      behavior:
        scaleUp: {grayStrategy: {grayState: Online, changeCount: 3, changeIntervalSeconds: 30}}
        scaleDown:
          grayStrategy: {grayState: Cutoff, changePercent: 25, changeIntervalSeconds: 60, observationSeconds: 300}
",
        )
        .unwrap();
        let named = portraits.providers.iter();
        let named: Vec<_> = named
            .map(|one| (&*one.name, one.priority, kind(one)))
            .collect();
        let kinds = [
            ("static", -1, ProviderKind::Static),
            ("cron", 0, ProviderKind::Cron),
            ("reactive", 0, ProviderKind::Reactive),
            ("predictive", 0, ProviderKind::Predictive),
        ];
        assert_eq!(named, kinds);
        let (_, predictive) = portraits.predictive().unwrap();
        assert!(predictive.risk.is_some());
        let behavior = portraits.behavior;
        assert_eq!(behavior.up.stages.unwrap().size, StepSize::Count(3));
        let down = behavior.down.stages.unwrap();
        assert_eq!(
            (down.park, down.pace.size),
            (ScaleDownTarget::Cutoff, StepSize::Percent(25))
        );
        let alone = portraits.only(&[ProviderKind::Reactive]).unwrap();
        assert_eq!(alone.providers.len(), 2, "a static count belongs to all");
        assert!(alone.predictive().is_none() && alone.only(&[ProviderKind::Cron]).is_none());
    }

    fn kind(provider: &ihpa::Provider) -> ProviderKind {
        crate::portraits::kind_of(provider).unwrap()
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "one story, told in its order")]
    fn what_cannot_be_simulated_is_refused_with_its_place() {
        let provider = |text: &str| format!("      portraitProviders: [{text}]\n");
        let dynamic = |text: &str| format!("{{type: Dynamic, priority: 0, dynamic: {{{text}}}}}");
        let reactive = dynamic("portraitType: Reactive");
        let cron = |cron: &str| {
            provider(&format!(
                "{{type: Cron, priority: 0, cron: {{crons: [{cron}]}}}}"
            ))
        };
        let behavior = |text: &str| format!("{}      behavior: {{{text}}}\n", provider(&reactive));
        let gray = |state: &str| {
            behavior(&format!(
                "scaleDown: {{grayStrategy: {{grayState: {state}, changePercent: 5, changeIntervalSeconds: 5}}}}"
            ))
        };
        assert!(read(&gray("Cutoff")).is_ok());
        for (scale, parts) in [
            (String::new(), &["there are none"][..]),
            (
                provider("{type: Burst, priority: 0}"),
                &["portraitProviders[0]", "Burst", "Cron with only cron"],
            ),
            (
                provider("{type: Static, prority: 0, static: {replicas: 1}}"),
                &["portraitProviders[0]", "prority", "a field of"],
            ),
            (
                provider(&dynamic("portraitType: Burst, externalGeneratorName: ours")),
                &[
                    "portraitProviders[0].dynamic",
                    "Burst",
                    "no other generator",
                ],
            ),
            (
                provider(&dynamic("portraitType: Reactive, metrics: [{}]")),
                &["portraitProviders[0].dynamic.metrics", "scale.cpu"],
            ),
            (
                provider(&dynamic(
                    "portraitType: Predictive, algorithm: {forecast: {model: swish-net}}",
                )),
                &[
                    "portraitProviders[0].dynamic.algorithm.forecast",
                    "swish-net",
                    "auto, ds-hpa, arima",
                ],
            ),
            (
                provider(&format!("{reactive}, {reactive}")),
                &["portraitProviders[1].dynamic.portraitType", "twice"],
            ),
            (
                cron("{name: a, start: '0 8 * *', end: '0 9 * * *', replicas: 1}"),
                &["portraitProviders[0].cron", "start"],
            ),
            (
                gray("Standby"),
                &["behavior.scaleDown.grayStrategy.grayState", "not simulated"],
            ),
            (
                gray("Online"),
                &["behavior.scaleDown.grayStrategy.grayState", "Cutoff"],
            ),
            (behavior("scaleDwon: {}"), &["behavior", "scaleDwon"]),
            (
                "      behavior: {}\n".to_owned(),
                &["behavior", "with portraitProviders"],
            ),
        ] {
            let error = read(&scale).unwrap_err();
            for part in parts {
                assert!(error.contains(part), "{scale}: {error}");
            }
        }
        let requests = SMALL.replace("cpu: 60%", "requestsPerSecond: 9");
        let error = format!("{requests}{}", provider(&reactive)).parse::<Scenario>();
        assert!(error.unwrap_err().to_string().contains("a target of cpu"));
    }
}
