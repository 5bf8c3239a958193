//! The way of scaling that is recommended for a target. Floors have two rivals that need no controller: the plain HPA
//! with a lower target, and a seasonal rule as its second metric. A rival that does as well at equal replica-hours is
//! preferred.

use evenkeel_sandbox::target_replay::{ReplayOutcome, ReplayPolicy, SeasonalRule};
use evenkeel_scaling::counterfactual::cost_benefit::{
    CostBenefit, CostBenefitObjection, CostBenefitVerdict, PlainRun, RunCosts, judge,
};
use evenkeel_scaling::counterfactual::pareto_frontier::Cost;

/// The share of floors' time under-provisioned, both at equal replica-hours, up to which a seasonal rule does as well.
const AS_GOOD: f64 = 1.05;
/// The share of a plain HPA's time under-provisioned from which on floors are not worth enabling, and its lower target
/// does as well.
const NO_GAIN: f64 = 0.9;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum RecommendedWay {
    Floors,
    /// The second metric of the HPA.
    SeasonalRule(SeasonalRule),
    /// The plain HPA with this target, as a share of the request.
    LowerTarget(f64),
    /// No way does better than the HPA as it is at its cost, or the results disagree.
    Unchanged,
}

impl RecommendedWay {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Floors => "floors",
            Self::SeasonalRule(_) => "seasonalRule",
            Self::LowerTarget(_) => "lowerTarget",
            Self::Unchanged => "unchanged",
        }
    }
}

/// The verdicts on the ways of scaling a target, each beside the plain HPA at equal replica-hours.
#[derive(Debug)]
pub(super) struct TargetJudgement {
    /// Floors at the default risk.
    pub floors: CostBenefit,
    /// The seasonal rule with the least time under-provisioned.
    pub rule: Option<(SeasonalRule, CostBenefit)>,
    pub recommended: RecommendedWay,
}

impl TargetJudgement {
    /// `None` if floors at the default risk were not replayed.
    pub(super) fn of(replayed: &[(ReplayPolicy, ReplayOutcome)]) -> Option<Self> {
        let (mut plain, mut floored, mut rules) = (Vec::new(), None, Vec::new());
        for (policy, outcome) in replayed {
            let run = RunCosts {
                cost: outcome.cost,
                parts: outcome.parts.clone(),
            };
            match *policy {
                ReplayPolicy::Hpa { target } => plain.push(PlainRun {
                    target: target.get(),
                    run,
                }),
                ReplayPolicy::Evenkeel(floors) if floors.is_at_default_risk() => {
                    floored = Some(run);
                }
                ReplayPolicy::Evenkeel(_) => {}
                ReplayPolicy::Rule(rule) => rules.push((rule, run)),
            }
        }
        let floored = floored?;
        let floors = judge(&plain, &floored);
        let rules = rules.iter().map(|(rule, run)| (*rule, judge(&plain, run)));
        let rule = rules.min_by(|(_, one), (_, other)| share(one).total_cmp(&share(other)));
        let rule = rule.filter(|(_, judged)| judged.ratios.is_some());
        let recommended = recommended(&floors, rule.as_ref(), lower_target(&plain, &floored.cost));
        Some(Self {
            floors,
            rule,
            recommended,
        })
    }
}

/// The time under-provisioned as a share of the plain HPA's at equal replica-hours.
fn share(judged: &CostBenefit) -> f64 {
    let ratios = judged.ratios;
    ratios.map_or(f64::INFINITY, |ratios| ratios.under_provisioned)
}

fn recommended(
    floors: &CostBenefit,
    rule: Option<&(SeasonalRule, CostBenefit)>,
    lower: Option<f64>,
) -> RecommendedWay {
    let floors_pay = floors.verdict == CostBenefitVerdict::Worth;
    let as_good = rule.filter(|(_, judged)| {
        judged.verdict == CostBenefitVerdict::Worth
            && (!floors_pay || share(judged) <= share(floors) * AS_GOOD)
    });
    match (as_good, floors.verdict) {
        (Some((rule, _)), _) => RecommendedWay::SeasonalRule(*rule),
        (None, CostBenefitVerdict::Worth) => RecommendedWay::Floors,
        (
            None,
            CostBenefitVerdict::Not(
                CostBenefitObjection::LowerTarget | CostBenefitObjection::CostMore,
            ),
        ) => lower.map_or(RecommendedWay::Unchanged, RecommendedWay::LowerTarget),
        (None, CostBenefitVerdict::Not(_)) => RecommendedWay::Unchanged,
    }
}

/// The highest target at which the plain HPA does as well as floors; `None` if its own target does, or none of them.
fn lower_target(plain: &[PlainRun], floors: &Cost) -> Option<f64> {
    let own = plain.first()?.target;
    let does = |one: &&PlainRun| {
        let seconds = one.run.cost.under_provisioned_seconds;
        seconds * NO_GAIN <= floors.under_provisioned_seconds
    };
    let targets = plain.iter().filter(does).map(|one| one.target);
    targets
        .max_by(f64::total_cmp)
        .filter(|target| *target < own)
}

#[cfg(test)]
mod tests {
    use evenkeel_forecast::ModelSet;
    use evenkeel_objects::risk::Risk;
    use evenkeel_sandbox::target_replay::{Floors, Season};
    use evenkeel_units::Ratio;

    use super::*;

    const RULE: SeasonalRule = SeasonalRule {
        season: Season::Yesterday,
        factor: 1.0,
    };

    /// A run of two equal halves.
    fn outcome(replica_hours: f64, under: f64) -> ReplayOutcome {
        let cost = |parts: f64| Cost {
            under_provisioned_seconds: under / parts,
            overloaded_seconds: 0.0,
            replica_hours: replica_hours / parts,
        };
        ReplayOutcome {
            cost: cost(1.0),
            parts: vec![cost(2.0); 2],
            points: Vec::new(),
        }
    }

    /// The HPA at 60, 50 and 40 % with each tenth halving the seconds, floors with `floors` seconds at the hours of
    /// 50 %, and rules with `rules` seconds at the same hours.
    fn way(floors: (f64, f64), rules: &[(SeasonalRule, f64)]) -> RecommendedWay {
        let plain = [
            (0.6, 100.0, 1600.0),
            (0.5, 120.0, 800.0),
            (0.4, 144.0, 400.0),
        ];
        let plain = plain.map(|(target, hours, under)| {
            let target = Ratio::share(target).unwrap();
            (ReplayPolicy::Hpa { target }, outcome(hours, under))
        });
        let by_floors = Floors {
            risk: Risk::default(),
            ..Floors::by(ModelSet::Auto)
        };
        let floors = (
            ReplayPolicy::Evenkeel(by_floors),
            outcome(floors.0, floors.1),
        );
        let rules = rules
            .iter()
            .map(|(rule, under)| (ReplayPolicy::Rule(*rule), outcome(120.0, *under)));
        let all: Vec<_> = plain.into_iter().chain([floors]).chain(rules).collect();
        TargetJudgement::of(&all).unwrap().recommended
    }

    #[test]
    fn what_does_as_well_at_equal_cost_without_a_controller_is_recommended() {
        let floors = RecommendedWay::Floors;
        let rule = RecommendedWay::SeasonalRule(RULE);
        let last_week = SeasonalRule {
            season: Season::LastWeek,
            ..RULE
        };
        for (case, floored, rules, expected) in [
            ("no rule", (120.0, 400.0), &[][..], floors),
            ("a worse rule", (120.0, 400.0), &[(RULE, 440.0)], floors),
            ("within 5 %", (120.0, 400.0), &[(RULE, 415.0)], rule),
            ("a better rule", (120.0, 400.0), &[(RULE, 100.0)], rule),
            (
                "the better of two rules",
                (120.0, 400.0),
                &[(last_week, 300.0), (RULE, 200.0)],
                rule,
            ),
            (
                "floors gain nothing",
                (120.0, 780.0),
                &[(RULE, 400.0)],
                rule,
            ),
            ("floors cost too much", (150.0, 0.0), &[(RULE, 400.0)], rule),
            (
                "nothing gains",
                (120.0, 780.0),
                &[(RULE, 780.0)],
                RecommendedWay::LowerTarget(0.5),
            ),
            (
                "floors cost too much, and the lowest target is not as safe",
                (150.0, 0.0),
                &[],
                RecommendedWay::Unchanged,
            ),
            (
                "floors cost too much, and a lower target is as safe",
                (150.0, 400.0),
                &[],
                RecommendedWay::LowerTarget(0.4),
            ),
            ("as today", (100.0, 1600.0), &[], RecommendedWay::Unchanged),
        ] {
            assert_eq!(way(floored, rules), expected, "{case}");
        }
    }

    #[test]
    fn without_floors_nothing_is_judged() {
        assert!(TargetJudgement::of(&[]).is_none());
    }
}
