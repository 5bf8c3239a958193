//! The annotations by which users say how an autoscaler or a workload is scaled. Each object is
//! read by itself; precedence between objects is decided elsewhere. An invalid value counts as
//! absent.

use std::collections::BTreeMap;

use evenkeel_forecast::ModelSet;
use evenkeel_hpa::autoscaler::HpaMetrics;
use evenkeel_hpa::target_metrics::number;
use evenkeel_hpa::{Behavior, behavior_text, target_metrics};
use evenkeel_objects::annotations::{
    AnnotationParser, InvalidAnnotation, MAX_REPLICAS, MIN_REPLICAS, PREDICT, PREDICT_MEMORY,
    SCALE_DOWN, TARGET, TRAFFIC,
};
use evenkeel_objects::bounds::{BoundsError, ReplicaBounds};
use evenkeel_objects::namespace_policy::{ACCEPTED_RISK, SCALING_MODE};
use evenkeel_objects::risk::Risk;
use evenkeel_objects::scaling_mode::{ScaleDown, ScalingMode};
use evenkeel_units::words;

use super::load_query::LoadQuery;
use super::traffic_query;
use super::traffic_query::TrafficQueries;

words! {
    #[derive(Default)]
    pub enum PredictionModel {
        /// The model that has lately been the best of all.
        #[default]
        Auto = "auto",
        /// DS-HPA, see `DS-HPA`.
        DsHpa = "ds-hpa",
        /// One model, with parameters that are estimated from the load's past.
        Arima = ModelSet::Arima.as_str(),
        Gru = ModelSet::Gru.as_str(),
        ArimaGru = ModelSet::ArimaGru.as_str(),
        Gbdt = ModelSet::Gbdt.as_str(),
        /// One network for many loads, from a file or trained on their pasts.
        SwishNet = ModelSet::SwishNet.as_str(),
        /// The traffic alone, by a model that derives replicas; the loads are only reacted to.
        Traffic = "traffic",
        /// No model: nothing is predicted.
        Off = "off",
    }
    accepted: "auto, ds-hpa, arima, gru, arima-gru, gbdt, swish-net, traffic or off"
}

impl PredictionModel {
    /// The words of a portrait, which cannot be without a forecast.
    pub(crate) const ACCEPTED_BY_PORTRAIT: &'static str =
        "auto, ds-hpa, arima, gru, arima-gru, gbdt, swish-net or traffic";

    /// The models that loads are forecast by, and traffic; `None` where nothing is predicted.
    pub const fn models(self) -> Option<ModelSet> {
        match self {
            Self::Auto | Self::Traffic => Some(ModelSet::Auto),
            Self::DsHpa => Some(ModelSet::SHpa),
            Self::Arima => Some(ModelSet::Arima),
            Self::Gru => Some(ModelSet::Gru),
            Self::ArimaGru => Some(ModelSet::ArimaGru),
            Self::Gbdt => Some(ModelSet::Gbdt),
            Self::SwishNet => Some(ModelSet::SwishNet),
            Self::Off => None,
        }
    }
}

/// The scaling annotations of one object; `None` where it does not say.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScalingPolicy {
    pub predict: Option<PredictionModel>,
    pub scaling: Option<ScalingMode>,
    /// The least replicas of a workload without an autoscaler.
    pub min_replicas: Option<i32>,
    /// The most replicas of a workload without an autoscaler.
    pub max_replicas: Option<i32>,
    pub target: Option<HpaMetrics>,
    pub behavior: Option<Behavior>,
    /// The right of a forecast to take replicas away.
    pub scale_down: Option<ScaleDown>,
    pub query: Option<LoadQuery>,
    /// The traffic that replicas are made of.
    pub traffic: Option<TrafficQueries>,
    /// True to also forecast loads with a sum that depends on the number of Pods, such as memory.
    pub predict_memory: Option<bool>,
    /// The share of time in which a floor may be too low.
    pub risk: Option<Risk>,
}

impl ScalingPolicy {
    /// The policy in these annotations, and those of them that are not accepted.
    pub fn parse(annotations: &BTreeMap<String, String>) -> (Self, Vec<InvalidAnnotation>) {
        let mut invalid = Vec::new();
        let mut policy = Self {
            predict: PREDICTION.read(annotations, &mut invalid),
            scaling: SCALING_MODE.read(annotations, &mut invalid),
            min_replicas: LEAST.read(annotations, &mut invalid),
            max_replicas: MOST.read(annotations, &mut invalid),
            target: METRICS.read(annotations, &mut invalid),
            behavior: behavior_text::annotated(annotations, &mut invalid),
            scale_down: DOWN.read(annotations, &mut invalid),
            query: LoadQuery::read(annotations, &mut invalid),
            traffic: KINDS_OF_TRAFFIC.read(annotations, &mut invalid),
            predict_memory: MEMORY.read(annotations, &mut invalid),
            risk: ACCEPTED_RISK.read(annotations, &mut invalid),
        };
        if let (Some(min), Some(max)) = (policy.min_replicas, policy.max_replicas)
            && min > max
        {
            let accepted = "at most max-replicas";
            let given = min.to_string();
            invalid.push(InvalidAnnotation::new(MIN_REPLICAS, &given, accepted));
            policy.min_replicas = None;
        }
        (policy, invalid)
    }

    /// The policy of two objects of which the first counts before the second.
    pub(crate) fn or(self, second: Self) -> Self {
        Self {
            predict: self.predict.or(second.predict),
            scaling: self.scaling.or(second.scaling),
            min_replicas: self.min_replicas.or(second.min_replicas),
            max_replicas: self.max_replicas.or(second.max_replicas),
            target: self.target.or(second.target),
            behavior: self.behavior.or(second.behavior),
            scale_down: self.scale_down.or(second.scale_down),
            query: self.query.or(second.query),
            traffic: self.traffic.or(second.traffic),
            predict_memory: self.predict_memory.or(second.predict_memory),
            risk: self.risk.or(second.risk),
        }
    }

    /// True where the policy makes a target of a workload that no autoscaler scales.
    pub const fn asks_for_scaling(&self) -> bool {
        self.predict.is_some() || self.scaling.is_some()
    }

    /// True where it does so in mode direct, which a namespace or the configuration may say.
    pub const fn has_bounds(&self) -> bool {
        self.min_replicas.is_some() && self.max_replicas.is_some()
    }

    /// The metrics of a workload without an autoscaler. The default holds only without any named
    /// load: with a queue, other metrics decide whether the last replica may go.
    pub fn metrics(&self) -> HpaMetrics {
        match (&self.target, &self.query) {
            (Some(metrics), _) => metrics.clone(),
            (None, Some(_)) => HpaMetrics::default(),
            (None, None) => {
                let default = target_metrics::parse(target_metrics::DEFAULT);
                default.expect("the default is accepted")
            }
        }
    }
}

/// The error of a minimum above the maximum; [`ScalingPolicy::parse`] leaves the minimum out.
pub(crate) fn crossed_bounds(annotations: &BTreeMap<String, String>) -> Option<BoundsError> {
    let mut told = Vec::new();
    let min = LEAST.read(annotations, &mut told)?;
    let max = MOST.read(annotations, &mut told)?;
    ReplicaBounds::new(min, max).err()
}

const PREDICTION: AnnotationParser<PredictionModel> = AnnotationParser {
    key: PREDICT,
    accepted: PredictionModel::ACCEPTED,
    parse: |text| text.parse().ok(),
};
const LEAST: AnnotationParser<i32> = AnnotationParser {
    key: MIN_REPLICAS,
    accepted: "a whole number from 0",
    parse: number,
};
const MOST: AnnotationParser<i32> = AnnotationParser {
    key: MAX_REPLICAS,
    accepted: "a whole number from 1",
    parse: |text| number(text).filter(|&most| most > 0),
};
const METRICS: AnnotationParser<HpaMetrics> = AnnotationParser {
    key: TARGET,
    accepted: target_metrics::ACCEPTED,
    parse: target_metrics::parse,
};
const DOWN: AnnotationParser<ScaleDown> = AnnotationParser {
    key: SCALE_DOWN,
    accepted: ScaleDown::ACCEPTED,
    parse: |text| text.parse().ok(),
};
const KINDS_OF_TRAFFIC: AnnotationParser<TrafficQueries> = AnnotationParser {
    key: TRAFFIC,
    accepted: traffic_query::ACCEPTED,
    parse: traffic_query::parse,
};
const MEMORY: AnnotationParser<bool> = AnnotationParser {
    key: PREDICT_MEMORY,
    accepted: "\"true\" or \"false\"",
    parse: |text| text.parse().ok(),
};

#[cfg(test)]
mod tests {
    use evenkeel_hpa::{BehaviorSpec, MetricSpec};
    use evenkeel_metrics::signal::{MetricTarget, Signal};
    use evenkeel_objects::annotations::{BEHAVIOR, QUERY, QUERY_TARGET, RISK, SCALING};

    use super::*;

    fn parse(annotations: &[(&str, &str)]) -> (ScalingPolicy, Vec<&'static str>) {
        let annotations = annotations
            .iter()
            .map(|&(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        let (policy, invalid) = ScalingPolicy::parse(&annotations);
        let keys = invalid.into_iter().map(|invalid| invalid.key).collect();
        (policy, keys)
    }

    #[test]
    fn without_annotations_nothing_is_said() {
        assert_eq!(parse(&[]), (ScalingPolicy::default(), vec![]));
        assert!(!ScalingPolicy::default().asks_for_scaling());
    }

    #[test]
    fn every_annotation_is_read() {
        let (policy, invalid) = parse(&[
            (PREDICT, "ds-hpa"),
            (SCALING, "floor"),
            (MIN_REPLICAS, "0"),
            (MAX_REPLICAS, "12"),
            (TARGET, "cpu=80%, memory=70%"),
            (BEHAVIOR, "{}"),
            (SCALE_DOWN, "early"),
            (QUERY, "memory"),
            (QUERY_TARGET, "1"),
            (TRAFFIC, "sum(rate(http[1m]))\nnetwork"),
            (PREDICT_MEMORY, "true"),
            (RISK, "0.5%"),
            ("evenkeel.dev/bounds", "{}"),
        ]);
        let expected = ScalingPolicy {
            predict: Some(PredictionModel::DsHpa),
            scaling: Some(ScalingMode::Floor),
            min_replicas: Some(0),
            max_replicas: Some(12),
            target: target_metrics::parse("cpu=80%,memory=70%"),
            behavior: Some(BehaviorSpec::default().defaulted()),
            scale_down: Some(ScaleDown::Early),
            query: Some(LoadQuery {
                signal: Signal::MEMORY,
                target: 1000,
            }),
            traffic: traffic_query::parse("sum(rate(http[1m]))\nnetwork"),
            predict_memory: Some(true),
            risk: Risk::new(0.005).ok(),
        };
        assert!(policy.asks_for_scaling() && policy.has_bounds());
        assert_eq!((policy, invalid), (expected, vec![]));
    }

    #[test]
    fn words_and_numbers_are_taken_or_refused() {
        let cases: [(&str, &[&str], &[&str]); 9] = [
            (
                PREDICT,
                &PredictionModel::ALL.map(PredictionModel::as_str),
                &["", "Auto", "on", "ets", "lstm", "Traffic", "true"],
            ),
            (
                SCALING,
                &["off", "recommend", "floor", "direct"],
                &["", "Direct", "Floor", "on", "floor "],
            ),
            (
                MIN_REPLICAS,
                &["0", "1", "2147483647"],
                &["", "-1", "+1", "1.5", "one", " 1", "2147483648"],
            ),
            (MAX_REPLICAS, &["1", "007"], &["0", "", "-0", "1e3"]),
            (
                TARGET,
                &["cpu=80%", "memory=1Gi", "container/app/cpu=500m"],
                &["", "cpu", "disk=5%"],
            ),
            (
                BEHAVIOR,
                &["{}", "{\"scaleUp\": {\"selectPolicy\": \"Disabled\"}}"],
                &["", "{", "[]"],
            ),
            (SCALE_DOWN, &["reactive", "early"], &["", "late", "Early"]),
            (PREDICT_MEMORY, &["true", "false"], &["", "True", "1"]),
            (
                RISK,
                &["1%", "0.01", "0.05%", "20%"],
                &["", "1", "25%", "0.01%", "-1%", "low"],
            ),
        ];
        for (key, good, bad) in cases {
            for value in good {
                let (policy, invalid) = parse(&[(key, value)]);
                assert_eq!(invalid, [""; 0], "{key}: {value:?}");
                assert_ne!(policy, ScalingPolicy::default(), "{key}: {value:?}");
            }
            for value in bad {
                let (policy, invalid) = parse(&[(key, value)]);
                assert_eq!(policy, ScalingPolicy::default(), "{key}: {value:?}");
                assert_eq!(invalid, [key], "{value:?}");
            }
        }
        let (policy, invalid) = parse(&[(PREDICT, "lstm"), (SCALE_DOWN, "early")]);
        assert_eq!(
            policy.scale_down,
            Some(ScaleDown::Early),
            "the rest applies"
        );
        assert_eq!(invalid, [PREDICT]);
    }

    #[test]
    fn a_least_above_the_most_is_refused_and_the_most_stands() {
        let (policy, invalid) = parse(&[(MIN_REPLICAS, "5"), (MAX_REPLICAS, "4")]);
        assert_eq!((policy.min_replicas, policy.max_replicas), (None, Some(4)));
        assert_eq!(invalid, [MIN_REPLICAS]);
        let (policy, invalid) = parse(&[(MIN_REPLICAS, "4"), (MAX_REPLICAS, "4")]);
        assert_eq!((policy.min_replicas, invalid), (Some(4), vec![]));
    }

    #[test]
    fn what_is_accepted_is_told() {
        let annotations = BTreeMap::from([(PREDICT.to_owned(), "lstm".to_owned())]);
        let told = ScalingPolicy::parse(&annotations).1[0].to_string();
        assert_eq!(
            told,
            "annotation evenkeel.dev/predict: \"lstm\" is not accepted, and the default applies; accepted: auto, \
             ds-hpa, arima, gru, arima-gru, gbdt, swish-net, traffic or off"
        );
        let told = "lstm".parse::<PredictionModel>().unwrap_err().to_string();
        assert_eq!(
            told,
            "\"lstm\" is not accepted; accepted: auto, ds-hpa, arima, gru, arima-gru, gbdt, swish-net, traffic or off"
        );
    }

    #[test]
    fn the_default_target_is_that_of_an_hpa_without_metrics() {
        let cpu = MetricSpec::new(Signal::CPU, MetricTarget::Utilization(80));
        assert_eq!(ScalingPolicy::default().metrics(), HpaMetrics(vec![cpu]));
    }
}
