//! The annotations by which a workload's owner limits tuning. `evenkeel.dev/min-allowed` and
//! `max-allowed` hold for each container: `cpu=100m,memory=64Mi`, or for one alone, `app.cpu=100m`.

use std::collections::BTreeMap;

use evenkeel_objects::annotations;
use evenkeel_objects::annotations::{
    AnnotationParser, InvalidAnnotation, MAX_ALLOWED, MIN_ALLOWED, RESIZE_RESTARTS,
};
use evenkeel_objects::namespace_policy::TUNING_MODE;
use evenkeel_objects::tuning_mode::TuningMode;
use evenkeel_units::Amount;
use evenkeel_units::cpu_memory::{CpuMemory, TunedResource};

use crate::decision::Range;

/// Amounts for all containers, and for some of them by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedAmounts {
    all: CpuMemory<Option<Amount>>,
    containers: BTreeMap<Box<str>, CpuMemory<Option<Amount>>>,
}

impl AllowedAmounts {
    const ACCEPTED: &str =
        "amounts such as cpu=100m,memory=64Mi, or app.cpu=100m for the container app";

    fn parse(text: &str) -> Option<Self> {
        let mut amounts = Self::default();
        for one in text.split(',') {
            let (name, amount) = one.trim().split_once('=')?;
            let (container, resource) = match name.trim().rsplit_once('.') {
                Some((container, resource)) => (Some(container), resource),
                None => (None, name.trim()),
            };
            let mut known = TunedResource::ALL.into_iter();
            let resource = known.find(|one| one.as_str() == resource)?;
            let amount = resource.resource().parse_amount(amount.trim()).ok()?;
            let place = match container {
                Some("") => return None,
                Some(container) => amounts.containers.entry(container.into()).or_default(),
                None => &mut amounts.all,
            };
            place[resource] = Some(amount);
        }
        Some(amounts)
    }

    fn of(&self, container: &str, resource: TunedResource) -> Option<Amount> {
        let own = self.containers.get(container);
        own.and_then(|own| own[resource]).or(self.all[resource])
    }
}

/// The policy of one workload; `None` leaves it to its namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TuningPolicy {
    pub mode: Option<TuningMode>,
    pub min_allowed: AllowedAmounts,
    pub max_allowed: AllowedAmounts,
    /// True where containers may be resized that are started anew for it.
    pub may_restart: bool,
    /// True where bounds are not accepted: what the owner wanted to be kept from is not known.
    pub are_bounds_unknown: bool,
}

impl TuningPolicy {
    /// The policy in these annotations, and the invalid ones. With an invalid bound, the policy
    /// turns nothing on.
    pub fn parse(annotations: &BTreeMap<String, String>) -> (Self, Vec<InvalidAnnotation>) {
        let mut invalid = Vec::new();
        let mode = TUNING_MODE.read(annotations, &mut invalid);
        let before = invalid.len();
        let min_allowed = MIN.read(annotations, &mut invalid).unwrap_or_default();
        let max_allowed = MAX.read(annotations, &mut invalid).unwrap_or_default();
        let are_bounds_unknown = invalid.len() > before;
        let policy = Self {
            mode: if are_bounds_unknown {
                Some(TuningMode::Off)
            } else {
                mode
            },
            min_allowed,
            max_allowed,
            may_restart: annotations::flag(annotations, RESIZE_RESTARTS, &mut invalid),
            are_bounds_unknown,
        };
        (policy, invalid)
    }

    pub fn allowed(&self, container: &str, resource: TunedResource) -> Range {
        Range {
            least: self.min_allowed.of(container, resource),
            most: self.max_allowed.of(container, resource),
        }
    }
}

const MIN: AnnotationParser<AllowedAmounts> = AnnotationParser {
    key: MIN_ALLOWED,
    accepted: AllowedAmounts::ACCEPTED,
    parse: AllowedAmounts::parse,
};
const MAX: AnnotationParser<AllowedAmounts> = AnnotationParser {
    key: MAX_ALLOWED,
    accepted: AllowedAmounts::ACCEPTED,
    parse: AllowedAmounts::parse,
};

#[cfg(test)]
mod tests {
    use evenkeel_objects::annotations::TUNING;

    use super::*;

    fn parse(annotations: &[(&str, &str)]) -> (TuningPolicy, Vec<&'static str>) {
        let annotations = annotations
            .iter()
            .map(|&(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        let (policy, invalid) = TuningPolicy::parse(&annotations);
        let keys = invalid.into_iter().map(|invalid| invalid.key).collect();
        (policy, keys)
    }

    #[test]
    fn bounds_hold_for_all_containers_and_those_of_one_before_them() {
        let (policy, invalid) = parse(&[
            (TUNING, "on"),
            (MIN_ALLOWED, "cpu=100m, memory=64Mi,side.cpu=10m"),
            (MAX_ALLOWED, "side.car.memory=1Gi"),
            (RESIZE_RESTARTS, "true"),
        ]);
        assert_eq!(invalid, Vec::<&str>::new());
        assert_eq!(
            (policy.mode, policy.may_restart),
            (Some(TuningMode::On), true)
        );
        let least = |container, resource| policy.allowed(container, resource).least;
        let amount = |value| Some(Amount::new(value));
        assert_eq!(least("app", TunedResource::Cpu), amount(100));
        assert_eq!(least("side", TunedResource::Cpu), amount(10));
        assert_eq!(least("side", TunedResource::Memory), amount(64 << 20));
        let most = |container| policy.allowed(container, TunedResource::Memory).most;
        assert_eq!([most("side.car"), most("app")], [amount(1 << 30), None]);
    }

    #[test]
    fn a_bound_that_is_not_accepted_turns_tuning_off() {
        for text in ["cpu", "cpu=fast", "disk=1Gi", ".cpu=1", "cpu=1,,memory=1"] {
            let (policy, invalid) = parse(&[(TUNING, "on"), (MAX_ALLOWED, text)]);
            assert_eq!(
                (policy.mode, invalid),
                (Some(TuningMode::Off), vec![MAX_ALLOWED]),
                "{text}"
            );
        }
        assert_eq!(
            parse(&[(TUNING, "yes")]),
            (TuningPolicy::default(), vec![TUNING])
        );
    }
}
