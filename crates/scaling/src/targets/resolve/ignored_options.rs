//! Options that have no effect on the target that they are set for. A condition names each with the place where it
//! acts.
//!
//! Loads are known by the Pods: while there are none, no option is judged by them.

use evenkeel_api::ihpa::spec::PortraitProvider;
use evenkeel_api::portrait_spec::{FORECAST, KUBE_HPA};
use evenkeel_forecast::ModelSet;
use evenkeel_hpa::SelectPolicy;
use evenkeel_metrics::signal::Signal;
use evenkeel_objects::annotations::{
    BEHAVIOR, MAX_REPLICAS, MIN_REPLICAS, PREDICT, PREDICT_MEMORY, QUERY, QUERY_TARGET, RISK,
    SCALE_DOWN, SCALING, TARGET, TRAFFIC,
};
use evenkeel_objects::meta::{Meta, RelevantAnnotations};
use evenkeel_objects::scaling_mode::{ScaleDown, ScalingMode};

use super::TargetResolver;
use crate::specs::ihpa::CheckedIhpa;
use crate::staged_change::ScaleDownTarget;
use crate::targets::bounds::ObservedBounds;
use crate::targets::capacity::leaves_any;
use crate::targets::owner::Owner;
use crate::targets::problem::TargetProblem;
use crate::targets::scaling_target::ScalingTarget;

/// The reasons, each of which says where the option acts.
const NO_MODEL: &str = "it needs a forecast, and predict is off";
const NO_FORECAST: &str = "it needs a load that is forecast, and this target has none";
const NO_MEMORY: &str = "it needs memory, or another load that grows with each Pod, as a metric, \
                         and a predict other than traffic";
const NOT_FOLLOWED: &str = "it needs every metric of the target to be readable; another condition \
                            names the one that is not";
const NO_SCALE_DOWN: &str = "it needs a behavior.scaleDown that allows scaling in";
const NO_RISK: &str = "it needs the model auto or traffic";
const RISK_AT_FIRST: &str =
    "it needs the model auto or traffic; with this model it acts only until the model has learnt";
const HAS_AUTOSCALER: &str = "it needs a workload without a HorizontalPodAutoscaler; here the \
    field of the HorizontalPodAutoscaler applies";
const NOT_QUERIED: &str = "with a HorizontalPodAutoscaler, its load must be forecast: memory needs \
                           evenkeel.dev/predict-memory, and predict traffic forecasts no query";
const NO_QUERY: &str = "it needs evenkeel.dev/query on the same object";
const BOUNDS_IN_FLOOR: &str = "with a HorizontalPodAutoscaler it acts in mode floor only";
const BOUNDS_ON_OBJECT: &str = "with a HorizontalPodAutoscaler, set it on that object or on its \
    ScaledObject, not on the workload";
const BOUNDS_REFUSED: &str =
    "the minimum must not be above the maximum, and the HorizontalPodAutoscaler must accept both";
const IN_SPEC: &str = "the spec of the IntelligentHorizontalPodAutoscaler sets it instead";
const ON_IHPA: &str = "set it on the IntelligentHorizontalPodAutoscaler of this workload";
const OF_KUBE_HPA: &str = "it needs algorithm.type KubeHPA";
const OF_FORECAST: &str = "it needs algorithm.type Forecast";
const OF_OTHERS: &str = "it needs a portrait that an external generator or its job makes";
const NO_PARKING: &str = "it needs behavior.scaleDown.grayStrategy.grayState Cutoff or Standby";

/// The annotations that fields of an IHPA replace.
const FIELDS_OF_IHPA: [&str; 11] = [
    PREDICT,
    MIN_REPLICAS,
    MAX_REPLICAS,
    TARGET,
    QUERY,
    QUERY_TARGET,
    TRAFFIC,
    BEHAVIOR,
    SCALE_DOWN,
    PREDICT_MEMORY,
    RISK,
];

/// An option, and the reason why it has no effect; `None` where it is not set, or acts.
type OptionVerdict = (&'static str, Option<&'static str>);

impl TargetResolver<'_> {
    /// The options that have no effect on `target`. `bounds` are those of its object. `overlooks` is
    /// [`Self::overlooks`] for a target that is to be scaled in early.
    pub(super) fn ignored_options(
        &self,
        mode: ScalingMode,
        bounds: Option<&ObservedBounds>,
        target: &ScalingTarget,
        overlooks: bool,
    ) -> Vec<TargetProblem> {
        let mut verdicts: Vec<OptionVerdict> = self.of_forecasts(target, overlooks).into();
        if let Some(ihpa) = &self.observed.ihpa {
            verdicts.extend(self.of_annotations(ihpa));
            verdicts.extend(of_spec(ihpa));
        } else {
            verdicts.extend(self.of_loads(target));
            verdicts.extend(self.of_bounds(mode, bounds));
        }
        let ignored = verdicts.into_iter().filter_map(|(option, why)| {
            let why = why?;
            Some(TargetProblem::OptionIgnored { option, why })
        });
        ignored.collect()
    }

    /// The options about forecasts.
    fn of_forecasts(&self, target: &ScalingTarget, overlooks: bool) -> [OptionVerdict; 4] {
        let policy = &self.requested.policy;
        let is_ihpa = self.observed.ihpa.is_some();
        let named = |annotation, field| if is_ihpa { field } else { annotation };
        let is_early = policy.scale_down == Some(ScaleDown::Early);
        let early = is_early.then(|| self.early(target, overlooks)).flatten();
        let risk = policy.risk.and_then(|_| self.risk(target));
        let forecasts_memory = policy.predict_memory == Some(true);
        let memory = forecasts_memory.then(|| self.memory(target)).flatten();
        let traffic = policy.traffic.as_ref().and_then(|_| no_model(target));
        [
            (named(SCALE_DOWN, "algorithm.forecast.scaleDown"), early),
            (named(RISK, "algorithm.forecast.risk"), risk),
            (
                named(PREDICT_MEMORY, "algorithm.forecast.predictMemory"),
                memory,
            ),
            (named(TRAFFIC, "algorithm.forecast.traffic"), traffic),
        ]
    }

    /// Why no forecast takes replicas away early.
    fn early(&self, target: &ScalingTarget, overlooks: bool) -> Option<&'static str> {
        let rules = target.policy.behavior.as_ref();
        let rules = rules.map(|rules| &rules.scale_down.select_policy);
        let portraits = target.portraits.as_ref();
        let stays = rules == Some(&SelectPolicy::Disabled)
            || portraits.is_some_and(|portraits| portraits.behavior.down.disabled);
        let without = no_model(target).or(stays.then_some(NO_SCALE_DOWN));
        let without = without.or_else(|| self.no_forecast(target));
        without.or(overlooks.then_some(NOT_FOLLOWED))
    }

    /// True where a count by the loads that are known could overlook a metric that replicas are counted by here. Beside
    /// an HPA that metric holds the replicas itself.
    pub(super) fn overlooks(&self, target: &ScalingTarget) -> bool {
        let Self {
            observed,
            requested,
            ..
        } = self;
        let is_counted_here = observed.autoscaler.is_none() && self.has_pods();
        is_counted_here && leaves_any(observed, requested, &target.signals)
    }

    /// Why no floor follows the risk.
    fn risk(&self, target: &ScalingTarget) -> Option<&'static str> {
        match target.models {
            _ if target.traffic.is_some() => None,
            None => Some(NO_MODEL),
            Some(ModelSet::Auto) => self.no_forecast(target),
            Some(models) if models.is_fitted() => Some(RISK_AT_FIRST),
            Some(_) => Some(NO_RISK),
        }
    }

    /// Why no load is forecast that would not be forecast without the option.
    fn memory(&self, target: &ScalingTarget) -> Option<&'static str> {
        let mut signals = target.signals.iter();
        let acts = signals.any(|one| one.is_forecast && !one.signal.is_conserved());
        let without = (self.has_pods() && !acts).then_some(NO_MEMORY);
        no_model(target).or(without)
    }

    /// The annotations about the loads of a target.
    fn of_loads(&self, target: &ScalingTarget) -> [OptionVerdict; 4] {
        let policy = &self.requested.policy;
        let has_autoscaler = self.observed.autoscaler.is_some();
        let own = has_autoscaler.then_some(HAS_AUTOSCALER);
        let queried = policy.query.as_ref().filter(|_| has_autoscaler);
        let query = queried.and_then(|query| {
            let is_it = |signal: &Signal| query.signal == *signal;
            let of_traffic = target.traffic.as_ref().is_some_and(|one| is_it(&one.of));
            let signal = target.signals.iter().find(|one| is_it(&one.signal))?;
            let acts = signal.is_forecast || of_traffic;
            no_model(target).or((!acts).then_some(NOT_QUERIED))
        });
        let has = |key: &str| self.annotations().any(|all| all.contains_key(key));
        let amount = (has(QUERY_TARGET) && !has(QUERY)).then_some(NO_QUERY);
        [
            (TARGET, policy.target.as_ref().and(own)),
            (BEHAVIOR, policy.behavior.as_ref().and(own)),
            (QUERY, query),
            (QUERY_TARGET, amount),
        ]
    }

    /// The annotations of the objects of a target that no IHPA scales.
    fn annotations(&self) -> impl Iterator<Item = &RelevantAnnotations> {
        let observed = self.observed;
        let scaled_object = observed.scaled_object.iter().map(|one| &one.metadata);
        let autoscaler = observed.autoscaler.iter().map(|one| &one.metadata);
        let workload = observed.workload.iter().map(|one| &one.metadata);
        let all = scaled_object.chain(autoscaler).chain(workload);
        all.map(|metadata: &Meta| &metadata.annotations)
    }

    /// The annotations about the bounds of an HPA that differ from its own.
    fn of_bounds(&self, mode: ScalingMode, bounds: Option<&ObservedBounds>) -> [OptionVerdict; 2] {
        let policy = &self.requested.policy;
        let has_autoscaler = self.observed.autoscaler.is_some();
        let user = bounds.filter(|_| has_autoscaler).map(ObservedBounds::user);
        let owner = Owner::of(self.observed);
        let why = |key| {
            let is_own = owner.is_some_and(|one| one.metadata.annotations.contains_key(key));
            match mode {
                ScalingMode::Floor if is_own => BOUNDS_REFUSED,
                ScalingMode::Floor => BOUNDS_ON_OBJECT,
                ScalingMode::Off | ScalingMode::Recommend | ScalingMode::Direct => BOUNDS_IN_FLOOR,
            }
        };
        let min = policy.min_replicas.zip(user);
        let min = min.filter(|(asked, user)| *asked != user.min.unwrap_or(1));
        let max = policy.max_replicas.zip(user);
        let max = max.filter(|(asked, user)| *asked != user.max);
        [
            (MIN_REPLICAS, min.map(|_| why(MIN_REPLICAS))),
            (MAX_REPLICAS, max.map(|_| why(MAX_REPLICAS))),
        ]
    }

    /// The annotations that nothing reads where an IHPA scales.
    fn of_annotations(&self, ihpa: &CheckedIhpa) -> Vec<OptionVerdict> {
        let own = &ihpa.object.metadata.annotations;
        let workload = self.observed.workload.as_ref();
        let workload = workload.map(|workload| &workload.metadata.annotations);
        let of_workload = |key: &str| workload.is_some_and(|all| all.contains_key(key));
        let fields = FIELDS_OF_IHPA.into_iter().map(|key| {
            let is_set = own.contains_key(key) || of_workload(key);
            (key, is_set.then_some(IN_SPEC))
        });
        let scaling = (SCALING, of_workload(SCALING).then_some(ON_IHPA));
        fields.chain([scaling]).collect()
    }

    /// Why nothing follows what is said of forecasts: no load of the target is forecast.
    fn no_forecast(&self, target: &ScalingTarget) -> Option<&'static str> {
        let is_forecast = target.signals.iter().any(|signal| signal.is_forecast);
        (self.has_pods() && !is_forecast).then_some(NO_FORECAST)
    }

    fn has_pods(&self) -> bool {
        !self.observed.pods.members.is_empty()
    }
}

fn no_model(target: &ScalingTarget) -> Option<&'static str> {
    target.models.is_none().then_some(NO_MODEL)
}

/// The fields of an IHPA that belong to another algorithm, or to Pods that wait.
fn of_spec(ihpa: &CheckedIhpa) -> Vec<OptionVerdict> {
    let spec = &ihpa.object.spec;
    let providers = spec.portrait_providers.iter().flat_map(of_provider);
    let behavior = spec.behavior.as_ref();
    let drains = behavior.is_some_and(|behavior| behavior.replica_profile.is_some());
    let parks = ihpa
        .rules()
        .is_ok_and(|rules| rules.behavior.park() != ScaleDownTarget::Deleted);
    let profile = (drains && !parks).then_some(NO_PARKING);
    providers
        .chain([("behavior.replicaProfile", profile)])
        .collect()
}

fn of_provider(provider: &PortraitProvider) -> Vec<OptionVerdict> {
    let spec = provider.dynamic.as_ref();
    let own = spec.filter(|spec| {
        let is_own = [KUBE_HPA, FORECAST].contains(&spec.algorithm.kind.as_str());
        spec.external_generator_name.is_none() && is_own
    });
    let Some(algorithm) = own.map(|spec| &spec.algorithm) else {
        return Vec::new();
    };
    let is = |kind: &str| algorithm.kind == kind;
    let rules = algorithm.kube_hpa.is_some() && !is(KUBE_HPA);
    let forecast = algorithm.forecast.is_some() && !is(FORECAST);
    let job = algorithm.external_job.is_some();
    let config = algorithm.config.is_some();
    vec![
        ("algorithm.kubeHPA", rules.then_some(OF_KUBE_HPA)),
        ("algorithm.forecast", forecast.then_some(OF_FORECAST)),
        ("algorithm.externalJob", job.then_some(OF_OTHERS)),
        ("algorithm.config", config.then_some(OF_OTHERS)),
    ]
}
