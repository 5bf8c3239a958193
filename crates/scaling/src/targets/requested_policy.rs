//! The scaling annotations of a target's objects, each object asked after the one before it: the
//! ScaledObject, the autoscaler, the workload, the namespace, the configuration.

use evenkeel_objects::kinds::Kind;
use evenkeel_objects::meta::Meta;
use evenkeel_objects::risk::Risk;
use evenkeel_objects::scaling_mode::ScalingMode;

use super::problem::HeldBack;
use super::settings::Settings;
use super::target_objects::TargetObjects;
use crate::specs::ihpa::{CheckedIhpa, IhpaRules, ScaleMode};
use crate::specs::scaling_policy::{PredictionModel, ScalingPolicy};

/// The wishes of a target's objects for its scaling.
pub(crate) struct RequestedPolicy {
    pub(crate) policy: ScalingPolicy,
    /// True where one of the objects itself asks to be scaled.
    asks: bool,
    /// True where the workload itself says `direct`.
    workload_is_direct: bool,
    /// The setting that keeps an IHPA from acting.
    held_back: Option<HeldBack>,
    /// True where neither an IHPA nor its namespace says how decisions act.
    is_left_open: bool,
}

impl RequestedPolicy {
    /// The wishes of the objects of `observed`; values that are not accepted count as absent.
    pub(crate) fn of(observed: &TargetObjects) -> Self {
        if let Some(ihpa) = &observed.ihpa {
            return Self::of_ihpa(ihpa, observed);
        }
        let scaled_object = observed.scaled_object.as_deref();
        let autoscaler = observed.autoscaler.as_deref();
        let workload = observed.workload.as_deref();
        let objects = [
            scaled_object.map(|object| &object.metadata),
            autoscaler.map(|object| &object.metadata),
            workload.map(|object| &object.metadata),
        ];
        let mut requested = Self {
            policy: ScalingPolicy::default(),
            asks: false,
            workload_is_direct: false,
            held_back: None,
            is_left_open: false,
        };
        for (place, metadata) in objects.into_iter().enumerate() {
            let Some(metadata) = metadata else { continue };
            // The user is warned of refused values where the object is watched.
            let (policy, _) = ScalingPolicy::parse(&metadata.annotations);
            requested.asks |= policy.asks_for_scaling();
            requested.workload_is_direct |=
                place == 2 && policy.scaling == Some(ScalingMode::Direct);
            requested.policy = std::mem::take(&mut requested.policy).or(policy);
        }
        requested
    }

    /// The wishes of an IHPA: its spec, and the settings that may keep it from acting. An IHPA itself asks to
    /// act. So the default mode of the configuration, to recommend, does not apply.
    fn of_ihpa(ihpa: &CheckedIhpa, observed: &TargetObjects) -> Self {
        let parse = |metadata: &Meta| ScalingPolicy::parse(&metadata.annotations).0;
        let own = parse(&ihpa.object.metadata).scaling;
        let workload = observed.workload.as_ref();
        let workload = workload.and_then(|workload| parse(&workload.metadata).scaling);
        let rules = ihpa.rules().ok();
        let policy = rules.map_or_else(ScalingPolicy::default, IhpaRules::policy);
        let quiet = |mode: &ScalingMode| matches!(mode, ScalingMode::Off | ScalingMode::Recommend);
        let namespace = observed.namespace_policy.scaling;
        let held_back = match (own, namespace) {
            (Some(own), _) => quiet(&own).then_some(HeldBack::Annotation(own)),
            (None, Some(mode)) => quiet(&mode).then_some(HeldBack::Namespace(mode)),
            (None, None) => None,
        };
        Self {
            policy: ScalingPolicy {
                // None where nothing of it is made of loads.
                target: Some(policy.target.clone().unwrap_or_default()),
                ..policy
            },
            asks: true,
            workload_is_direct: workload == Some(ScalingMode::Direct),
            held_back,
            is_left_open: own.or(namespace).is_none(),
        }
    }

    /// The setting that keeps an IHPA from acting, if its spec asks it to act.
    pub(crate) fn held_back(&self, settings: &Settings) -> Option<HeldBack> {
        let is_off = self.is_left_open && settings.mode == ScalingMode::Off;
        self.held_back
            .or(is_off.then_some(HeldBack::Configuration(ScalingMode::Off)))
    }

    /// True where the objects or their namespace ask for anything.
    pub(crate) fn by_anybody(&self, observed: &TargetObjects) -> bool {
        self.asks || observed.namespace_policy.scaling.is_some()
    }

    /// The model that predicts the loads.
    pub(crate) fn predict(&self, settings: &Settings) -> PredictionModel {
        self.policy.predict.unwrap_or(settings.predict)
    }

    /// The mode of the target; `has_owner` where the object that carries its status is known.
    pub(crate) fn mode(
        &self,
        observed: &TargetObjects,
        settings: &Settings,
        has_owner: bool,
    ) -> ScalingMode {
        // Until KEDA has made its HPA there is nothing to scale by; a pause takes the HPA away.
        let scaled = match &observed.scaled_object {
            Some(object) => observed.autoscaler.is_some() || object.is_paused(),
            None => {
                observed.autoscaler.is_some()
                    || self.asks
                    || self.has_direct_bounds(observed, settings)
            }
        };
        if !observed.namespace_policy.enabled || !has_owner || !scaled {
            return ScalingMode::Off;
        }
        if let Some(ihpa) = &observed.ihpa {
            let is_auto = ihpa
                .rules()
                .is_ok_and(|rules| rules.mode == ScaleMode::Auto);
            let acts = is_auto && self.held_back(settings).is_none();
            return if acts {
                ScalingMode::Direct
            } else {
                ScalingMode::Recommend
            };
        }
        self.word(observed, settings)
    }

    /// The share of time in which a floor of the target may be too low.
    pub(crate) fn risk(&self, observed: &TargetObjects, settings: &Settings) -> Risk {
        let own = self.policy.risk.or(observed.namespace_policy.risk);
        own.unwrap_or(settings.risk)
    }

    /// True where the user wants no scaling: the namespace has not opted in, or the word is `off`.
    pub(crate) fn declines(&self, observed: &TargetObjects, settings: &Settings) -> bool {
        let is_off = observed.ihpa.is_none() && self.word(observed, settings) == ScalingMode::Off;
        !observed.namespace_policy.enabled || is_off
    }

    /// True for bounds on a workload where the word of its namespace or of the configuration is direct.
    fn has_direct_bounds(&self, observed: &TargetObjects, settings: &Settings) -> bool {
        self.policy.has_bounds() && self.word(observed, settings) == ScalingMode::Direct
    }

    /// Whatever else scales the workload, where its objects themselves say that it is to be scaled
    /// directly.
    pub(crate) fn direct_conflict(&self, observed: &TargetObjects) -> Option<Box<str>> {
        let is_ihpa = observed.ihpa.is_some();
        if (is_ihpa || self.policy.scaling != Some(ScalingMode::Direct)) && !self.workload_is_direct
        {
            return None;
        }
        let named = |kind: Kind, metadata: &Meta| {
            let name = metadata.name.as_deref().unwrap_or_default();
            format!("{} {name}", kind.as_str()).into()
        };
        if let Some(ihpa) = &observed.ihpa {
            return Some(named(Kind::Ihpa, &ihpa.object.metadata));
        }
        let scaled_object = observed.scaled_object.as_deref();
        let autoscaler = observed.autoscaler.as_deref();
        scaled_object
            .map(|object| named(Kind::ScaledObject, &object.metadata))
            .or(autoscaler.map(|object| named(Kind::HorizontalPodAutoscaler, &object.metadata)))
    }

    /// The nearest word on the mode. `direct` of a namespace or of the configuration is for what nothing
    /// else scales; of all else it is a recommendation.
    fn word(&self, observed: &TargetObjects, settings: &Settings) -> ScalingMode {
        if let Some(own) = self.policy.scaling {
            return own;
        }
        let inherited = observed.namespace_policy.scaling.unwrap_or(settings.mode);
        let is_scaled = observed.autoscaler.is_some() || observed.scaled_object.is_some();
        if inherited == ScalingMode::Direct && is_scaled {
            ScalingMode::Recommend
        } else {
            inherited
        }
    }
}
