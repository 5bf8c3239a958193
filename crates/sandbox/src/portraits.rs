//! The providers that recommend replicas for a workload, as in an
//! IntelligentHorizontalPodAutoscaler. The service's tick ([`evenkeel_scaling::tracker`])
//! decides between them.

use evenkeel_scaling::specs::ihpa::{PortraitSource, PredictiveRules, Provider, ReactiveRules};
use evenkeel_scaling::specs::portrait::Replicas;
use evenkeel_scaling::staged_change::StagedBehavior;
use evenkeel_units::words;

/// Providers of one workload, with the steps of its changes.
#[derive(Debug, Clone)]
pub struct Portraits {
    pub providers: Vec<Provider>,
    pub behavior: StagedBehavior,
}

words! {
    pub enum ProviderKind {
        Static = "static",
        Cron = "cron",
        Predictive = "predictive",
        Reactive = "reactive",
    }
}

impl Portraits {
    /// Only these kinds; `None` if one is missing. A static count belongs to all of them.
    pub fn only(&self, kinds: &[ProviderKind]) -> Option<Self> {
        let all = self.providers.iter();
        let has = |kind: &ProviderKind| all.clone().any(|one| kind_of(one) == Some(*kind));
        let is_meant = |one: &&Provider| {
            let kind = kind_of(one);
            kind == Some(ProviderKind::Static) || kind.is_some_and(|kind| kinds.contains(&kind))
        };
        kinds.iter().all(has).then(|| Self {
            providers: all.clone().filter(is_meant).cloned().collect(),
            behavior: self.behavior,
        })
    }

    pub fn reactive(&self) -> Option<(&Provider, &ReactiveRules)> {
        self.providers.iter().find_map(|one| match &one.source {
            PortraitSource::Reactive(reactive) => Some((one, reactive)),
            _ => None,
        })
    }

    pub fn predictive(&self) -> Option<(&Provider, &PredictiveRules)> {
        self.providers.iter().find_map(|one| match &one.source {
            PortraitSource::Predictive(predictive) => Some((one, predictive)),
            _ => None,
        })
    }
}

/// `None` if another controller writes its count.
pub(crate) fn kind_of(provider: &Provider) -> Option<ProviderKind> {
    match &provider.source {
        PortraitSource::Portrait(portrait) => Some(match portrait.replicas {
            Replicas::Static(_) => ProviderKind::Static,
            Replicas::Cron(_) | Replicas::TimeSeries(_) => ProviderKind::Cron,
        }),
        PortraitSource::Reactive(_) => Some(ProviderKind::Reactive),
        PortraitSource::Predictive(_) => Some(ProviderKind::Predictive),
        PortraitSource::External { .. } => None,
    }
}
