//! The way of scaling that is recommended for a target. Floors have two rivals that work without Evenkeel: the plain
//! HPA with a lower target, and a seasonal rule as its second metric. A rival that does as well for no more
//! replica-hours is preferred.

use evenkeel_sandbox::target_replay::{ReplayOutcome, ReplayPolicy, SeasonalRule};
use evenkeel_scaling::counterfactual::cost_benefit::{
    CostBenefit, CostBenefitObjection, CostBenefitVerdict, LowerTarget, PlainRun, RunCosts,
    WORTH_ENABLING, judge,
};
use evenkeel_scaling::counterfactual::pareto_frontier::Cost;

/// The share of floors' time under-provisioned, both at equal replica-hours, up to which a seasonal rule does as well.
const AS_GOOD: f64 = 1.05;
/// The share of floors' replica-hours up to which a rival costs no more than floors.
const AS_CHEAP: f64 = 1.02;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum RecommendedWay {
    Floors,
    /// The second metric of the HPA.
    SeasonalRule(SeasonalRule),
    /// The plain HPA with this target.
    LowerTarget(LowerTarget),
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
    /// The rule with the least time under-provisioned: among those that are preferred to floors, else among those that
    /// are worth enabling, else among all.
    pub rule: Option<RuleJudgement>,
    pub recommended: RecommendedWay,
}

/// The verdict on a seasonal rule that can be compared with the plain HPA.
#[derive(Debug)]
pub(super) struct RuleJudgement {
    pub rule: SeasonalRule,
    pub cost: Cost,
    verdict: CostBenefitVerdict,
    /// Its time under-provisioned as a share of the plain HPA's at equal replica-hours.
    pub share: f64,
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
        let rules = rules.iter();
        let rules = rules.filter_map(|(rule, run)| RuleJudgement::of(*rule, run, &plain));
        let rank = |rule: &RuleJudgement| (!rule.beats(&floors, &floored.cost), !rule.is_worth());
        let rule = rules.min_by(|one, other| {
            let order = rank(one).cmp(&rank(other));
            order.then(one.share.total_cmp(&other.share))
        });
        let recommended = recommended(&floors, &floored.cost, rule.as_ref(), &plain);
        Some(Self {
            floors,
            rule,
            recommended,
        })
    }
}

impl RuleJudgement {
    /// `None` if the rule has more replica-hours than the plain HPA at its lowest target.
    fn of(rule: SeasonalRule, run: &RunCosts, plain: &[PlainRun]) -> Option<Self> {
        let judged = judge(plain, run);
        Some(Self {
            rule,
            cost: run.cost,
            verdict: judged.verdict,
            share: judged.ratios?.under_provisioned,
        })
    }

    fn is_worth(&self) -> bool {
        self.verdict == CostBenefitVerdict::Worth
    }

    /// True if it is worth enabling, and floors are not or do no better at its cost.
    fn beats(&self, floors: &CostBenefit, cost: &Cost) -> bool {
        let share = floors.ratios.map(|ratios| ratios.under_provisioned);
        let is_as_good = || share.is_some_and(|share| self.share <= share * AS_GOOD);
        let floors_pay = floors.verdict == CostBenefitVerdict::Worth;
        self.is_worth() && (!floors_pay || is_as_cheap(&self.cost, cost) && is_as_good())
    }
}

fn recommended(
    floors: &CostBenefit,
    cost: &Cost,
    rule: Option<&RuleJudgement>,
    plain: &[PlainRun],
) -> RecommendedWay {
    let preferred = rule.filter(|one| one.beats(floors, cost));
    match (preferred, floors.verdict) {
        (Some(one), _) => RecommendedWay::SeasonalRule(one.rule),
        (None, CostBenefitVerdict::Worth) => RecommendedWay::Floors,
        (
            None,
            CostBenefitVerdict::Not(
                CostBenefitObjection::LowerTarget | CostBenefitObjection::CostMore,
            ),
        ) => {
            lower_target(plain, cost).map_or(RecommendedWay::Unchanged, RecommendedWay::LowerTarget)
        }
        (None, CostBenefitVerdict::Not(_)) => RecommendedWay::Unchanged,
    }
}

fn is_as_cheap(rival: &Cost, floors: &Cost) -> bool {
    rival.replica_hours <= floors.replica_hours * AS_CHEAP
}

/// The highest target at which the plain HPA does as well as floors; `None` if its own target does, none of them, or
/// only one that costs more than floors.
fn lower_target(plain: &[PlainRun], floors: &Cost) -> Option<LowerTarget> {
    let own = plain.first()?.target;
    let does = |one: &&PlainRun| {
        let seconds = one.run.cost.under_provisioned_seconds;
        seconds * WORTH_ENABLING <= floors.under_provisioned_seconds
    };
    let highest = plain.iter().filter(does);
    let highest = highest.max_by(|one, other| one.target.total_cmp(&other.target))?;
    let lower = LowerTarget {
        target: highest.target,
        cost: highest.run.cost,
    };
    (lower.target < own && is_as_cheap(&lower.cost, floors)).then_some(lower)
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

    const LAST_WEEK: SeasonalRule = SeasonalRule {
        season: Season::LastWeek,
        ..RULE
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

    type HoursAndSeconds = (f64, f64);

    /// The HPA at 60, 50 and 40 % with each tenth halving the seconds, and floors and rules by their replica-hours and
    /// seconds.
    fn replayed(
        floors: HoursAndSeconds,
        rules: &[(SeasonalRule, HoursAndSeconds)],
    ) -> Vec<(ReplayPolicy, ReplayOutcome)> {
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
            .map(|(rule, (hours, under))| (ReplayPolicy::Rule(*rule), outcome(*hours, *under)));
        plain.into_iter().chain([floors]).chain(rules).collect()
    }

    fn judgement(
        floors: HoursAndSeconds,
        rules: &[(SeasonalRule, HoursAndSeconds)],
    ) -> TargetJudgement {
        TargetJudgement::of(&replayed(floors, rules)).unwrap()
    }

    /// The rules are at the hours of 50 %.
    fn way(floors: (f64, f64), rules: &[(SeasonalRule, f64)]) -> RecommendedWay {
        let rules: Vec<_> = rules
            .iter()
            .map(|&(rule, under)| (rule, (120.0, under)))
            .collect();
        judgement(floors, &rules).recommended
    }

    fn lower_target(target: f64, replica_hours: f64, seconds: f64) -> RecommendedWay {
        let cost = outcome(replica_hours, seconds).cost;
        RecommendedWay::LowerTarget(LowerTarget { target, cost })
    }

    #[test]
    fn what_does_as_well_at_equal_cost_without_a_controller_is_recommended() {
        let floors = RecommendedWay::Floors;
        let rule = RecommendedWay::SeasonalRule(RULE);
        for (case, floored, rules, expected) in [
            ("no rule", (120.0, 400.0), &[][..], floors),
            ("a worse rule", (120.0, 400.0), &[(RULE, 440.0)], floors),
            ("within 5 %", (120.0, 400.0), &[(RULE, 415.0)], rule),
            ("a better rule", (120.0, 400.0), &[(RULE, 100.0)], rule),
            (
                "the better of two rules",
                (120.0, 400.0),
                &[(LAST_WEEK, 300.0), (RULE, 200.0)],
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
                lower_target(0.5, 120.0, 800.0),
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
                lower_target(0.4, 144.0, 400.0),
            ),
            ("as today", (100.0, 1600.0), &[], RecommendedWay::Unchanged),
        ] {
            assert_eq!(way(floored, rules), expected, "{case}");
        }
    }

    #[test]
    fn a_rule_that_costs_more_than_floors_is_preferred_only_if_these_do_not_pay() {
        let floors = RecommendedWay::Floors;
        let rule = RecommendedWay::SeasonalRule(RULE);
        for (case, floored, rule_cost, expected) in [
            (
                "cheaper, and a larger share",
                (120.0, 400.0),
                (100.0, 900.0),
                floors,
            ),
            ("cheaper, and as good", (120.0, 400.0), (105.0, 300.0), rule),
            ("2 % more", (120.0, 400.0), (122.4, 100.0), rule),
            ("3 % more", (120.0, 400.0), (123.6, 100.0), floors),
            (
                "3 % more, floors gain nothing",
                (120.0, 780.0),
                (123.6, 100.0),
                rule,
            ),
            (
                "more than the lowest target",
                (120.0, 400.0),
                (150.0, 0.0),
                floors,
            ),
        ] {
            let way = judgement(floored, &[(RULE, rule_cost)]).recommended;
            assert_eq!(way, expected, "{case}");
        }
        // A better rule that costs more hides none that is as good for no more.
        let both = judgement(
            (120.0, 400.0),
            &[(LAST_WEEK, (126.0, 60.0)), (RULE, (120.0, 200.0))],
        );
        assert_eq!(both.recommended, rule);
        assert_eq!(both.rule.map(|best| best.rule), Some(RULE));
    }

    #[test]
    fn the_best_rule_is_one_that_is_worth_enabling_if_there_is_one() {
        // Hardly any second under-provisioned in the sum, and worse in one half than better in the other.
        let mixed = |policy| {
            let mut mixed = outcome(120.0, 100.0);
            let halves = [0.0, 790.0];
            for (part, under) in mixed.parts.iter_mut().zip(halves) {
                part.under_provisioned_seconds = under;
            }
            (policy, mixed)
        };
        let best = |others: &[(SeasonalRule, f64)]| {
            let mut all = replayed((120.0, 780.0), &[]);
            all.push(mixed(ReplayPolicy::Rule(LAST_WEEK)));
            let others = others.iter();
            all.extend(
                others.map(|(rule, under)| (ReplayPolicy::Rule(*rule), outcome(120.0, *under))),
            );
            TargetJudgement::of(&all).unwrap().rule.unwrap().rule
        };
        assert_eq!(best(&[(RULE, 300.0)]), RULE);
        assert_eq!(best(&[(RULE, 790.0)]), LAST_WEEK);
    }

    #[test]
    fn a_lower_target_that_costs_more_than_floors_is_not_recommended() {
        for (case, floors, expected) in [
            ("2 % more", (117.7, 780.0), lower_target(0.5, 120.0, 800.0)),
            ("3 % more", (116.5, 825.0), RecommendedWay::Unchanged),
            (
                "a tenth less safe",
                (120.0, 721.0),
                lower_target(0.5, 120.0, 800.0),
            ),
        ] {
            assert_eq!(way(floors, &[]), expected, "{case}");
        }
    }

    #[test]
    fn without_floors_nothing_is_judged() {
        assert!(TargetJudgement::of(&[]).is_none());
    }
}
