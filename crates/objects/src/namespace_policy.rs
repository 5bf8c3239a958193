//! The annotations of a namespace: its opt-in, and its deviations from the configured policy.

use std::collections::BTreeMap;

use evenkeel_units::Ratio;
use jiff::SignedDuration;

use super::annotations::{
    AnnotationParser, ENABLED, HEADROOM, InvalidAnnotation, NO_HEADROOM, PROFILE_THRESHOLD,
    RELAX_AFTER, RISK, SCALING, SCORE_LABELS, TUNING,
};
use super::{annotations, duration};
use crate::no_headroom::NoHeadroom;
use crate::risk::Risk;
use crate::scaling_mode::ScalingMode;
use crate::tuning_mode::TuningMode;

/// The time for which a Pod is refused before the least loaded nodes take it all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelaxAfter {
    Never,
    After(SignedDuration),
}

/// The policy in the annotations of a namespace; `None` leaves it to the configuration.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NamespacePolicy {
    /// True where the namespace has opted in; otherwise Evenkeel does nothing in it.
    pub enabled: bool,
    /// h in `[CLBP] (4.1)`.
    pub headroom: Option<Ratio>,
    /// The share from which a resource is dominant, `[CLBP] (4.2)`.
    pub profile_threshold: Option<Ratio>,
    /// The answer to a Pod for which no node has headroom.
    pub no_headroom: Option<NoHeadroom>,
    /// The time after which a refused Pod is let through.
    pub relax_after: Option<RelaxAfter>,
    /// False keeps score terms away from its Pods.
    pub score_labels: Option<bool>,
    /// The mode of scaling targets that do not name theirs.
    pub scaling: Option<ScalingMode>,
    pub risk: Option<Risk>,
    /// How far the Pods of workloads are tuned that do not say so.
    pub tuning: Option<TuningMode>,
}

impl NamespacePolicy {
    /// The policy in these annotations, and those of them that are not accepted.
    pub fn parse(annotations: &BTreeMap<String, String>) -> (Self, Vec<InvalidAnnotation>) {
        let mut invalid = Vec::new();
        let policy = Self {
            enabled: annotations::flag(annotations, ENABLED, &mut invalid),
            headroom: SHARE_HEADROOM.read(annotations, &mut invalid),
            profile_threshold: SHARE_THRESHOLD.read(annotations, &mut invalid),
            no_headroom: MODE.read(annotations, &mut invalid),
            relax_after: RELAX.read(annotations, &mut invalid),
            score_labels: SCORE_TERMS.read(annotations, &mut invalid),
            scaling: SCALING_MODE.read(annotations, &mut invalid),
            risk: ACCEPTED_RISK.read(annotations, &mut invalid),
            tuning: TUNING_MODE.read(annotations, &mut invalid),
        };
        (policy, invalid)
    }
}

const SHARE: &str = "a number above 0 and at most 1";
const SHARE_HEADROOM: AnnotationParser<Ratio> = AnnotationParser {
    key: HEADROOM,
    accepted: SHARE,
    parse: |text| Ratio::share_from_str(text).ok(),
};
const SHARE_THRESHOLD: AnnotationParser<Ratio> = AnnotationParser {
    key: PROFILE_THRESHOLD,
    ..SHARE_HEADROOM
};
const MODE: AnnotationParser<NoHeadroom> = AnnotationParser {
    key: NO_HEADROOM,
    accepted: "reject or relax",
    parse: |text| text.parse().ok(),
};
const RELAX: AnnotationParser<RelaxAfter> = AnnotationParser {
    key: RELAX_AFTER,
    accepted: duration::ACCEPTED,
    parse: |text| {
        duration::parse(text).map(|limit| {
            if limit.is_zero() {
                RelaxAfter::Never
            } else {
                RelaxAfter::After(limit)
            }
        })
    },
};
const SCORE_TERMS: AnnotationParser<bool> = AnnotationParser {
    key: SCORE_LABELS,
    accepted: "on or off",
    parse: |text| match text {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    },
};
/// How the mode of scaling is read.
pub const SCALING_MODE: AnnotationParser<ScalingMode> = AnnotationParser {
    key: SCALING,
    accepted: ScalingMode::ACCEPTED,
    parse: |text| text.parse().ok(),
};
/// How the accepted risk is read.
pub const ACCEPTED_RISK: AnnotationParser<Risk> = AnnotationParser {
    key: RISK,
    accepted: Risk::ACCEPTED,
    parse: |text| text.parse().ok(),
};
/// How the mode of tuning is read.
pub const TUNING_MODE: AnnotationParser<TuningMode> = AnnotationParser {
    key: TUNING,
    accepted: "off, recommend or on",
    parse: |text| text.parse().ok(),
};

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(annotations: &[(&str, &str)]) -> (NamespacePolicy, Vec<&'static str>) {
        let annotations = annotations
            .iter()
            .map(|&(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        let (policy, invalid) = NamespacePolicy::parse(&annotations);
        (
            policy,
            invalid.into_iter().map(|invalid| invalid.key).collect(),
        )
    }

    #[test]
    fn without_annotations_a_namespace_is_out() {
        assert_eq!(parse(&[]), (NamespacePolicy::default(), vec![]));
        assert!(!NamespacePolicy::default().enabled);
    }

    #[test]
    fn every_annotation_is_read() {
        let (policy, invalid) = parse(&[
            (ENABLED, "true"),
            (HEADROOM, "0.7"),
            (PROFILE_THRESHOLD, "0.2"),
            (NO_HEADROOM, "relax"),
            (RELAX_AFTER, "1h30m"),
            (SCORE_LABELS, "off"),
            (SCALING, "floor"),
            (RISK, "2%"),
            (TUNING, "on"),
        ]);
        let expected = NamespacePolicy {
            enabled: true,
            headroom: Ratio::share(0.7).ok(),
            profile_threshold: Ratio::share(0.2).ok(),
            no_headroom: Some(NoHeadroom::Relax),
            relax_after: Some(RelaxAfter::After(SignedDuration::from_mins(90))),
            score_labels: Some(false),
            scaling: Some(ScalingMode::Floor),
            risk: Risk::new(0.02).ok(),
            tuning: Some(TuningMode::On),
        };
        assert_eq!((policy, invalid), (expected, vec![]));
        assert_eq!(
            parse(&[(RELAX_AFTER, "0")]).0.relax_after,
            Some(RelaxAfter::Never)
        );
        assert_eq!(
            parse(&[(ENABLED, "false")]),
            (NamespacePolicy::default(), vec![])
        );
    }

    #[test]
    fn what_is_not_accepted_is_named_and_the_rest_applies() {
        let (policy, invalid) = parse(&[
            (ENABLED, "yes"),
            (HEADROOM, "80%"),
            (PROFILE_THRESHOLD, "0"),
            (NO_HEADROOM, "Reject"),
            (RELAX_AFTER, "5"),
            (SCALING, "on"),
            (RISK, "50%"),
            (TUNING, "auto"),
        ]);
        assert_eq!(policy, NamespacePolicy::default());
        assert_eq!(
            invalid,
            [
                ENABLED,
                HEADROOM,
                PROFILE_THRESHOLD,
                NO_HEADROOM,
                RELAX_AFTER,
                SCALING,
                RISK,
                TUNING
            ]
        );
        assert!(parse(&[(ENABLED, "true"), (HEADROOM, "2")]).0.enabled);
    }
}
