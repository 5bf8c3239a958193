//! The verdict on a candidate for scaling a target, floors or a seasonal rule: worth its cost or not, by the replayed
//! costs of the last days.
//!
//! A candidate is compared with the plain HPA at as many replica-hours ([`ParetoFrontier`]), because a lower target buys
//! safety too. It is worth it if it leaves clearly fewer seconds under-provisioned and no more seconds overloaded, in
//! more parts of the days than not.

use evenkeel_units::{count_as_f64, words};

use super::CounterfactualResult;
use super::pareto_frontier::{Cost, CostRatios, FrontierPosition, ParetoFrontier};

/// The share of the time under-provisioned up to which nothing is to be saved: a minute and a half a day.
pub(crate) const LITTLE: f64 = 0.001;
/// The share of the plain HPA's seconds under-provisioned above which a candidate is not worth enabling. Floors that are
/// enabled act up to a larger one ([`Trust`](evenkeel_forecast::Trust)).
pub const WORTH_ENABLING: f64 = 0.9;
/// The same for seconds overloaded, of which a candidate may not have clearly more.
const OVERLOADS: f64 = 1.1;
/// Parts within this of 1 speak neither for a candidate nor against it.
const EVEN: f64 = 0.05;

/// One way of scaling on the judged days.
#[derive(Debug, Clone, PartialEq)]
pub struct RunCosts {
    /// The whole cost.
    pub cost: Cost,
    /// The cost of each part of the time, as long as those of all other runs.
    pub parts: Vec<Cost>,
}

/// The plain HPA at a target.
#[derive(Debug, Clone, PartialEq)]
pub struct PlainRun {
    /// The target, as a share of the request.
    pub target: f64,
    pub run: RunCosts,
}

/// The verdict on a candidate, with the figures that it rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct CostBenefit {
    pub verdict: CostBenefitVerdict,
    /// The candidate beside the plain HPA at as many replica-hours; `None` if it has more than the plain HPA at its
    /// lowest target.
    pub ratios: Option<CostRatios>,
    /// The highest target at which the plain HPA is as safe as the candidate; `None` if it is at none.
    pub as_safe: Option<LowerTarget>,
    pub agreement: Agreement,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostBenefitVerdict {
    Worth,
    Not(CostBenefitObjection),
}

words! {
    /// The objection to a candidate.
    pub enum CostBenefitObjection {
        /// The plain HPA leaves hardly any time under-provisioned.
        NothingToSave = "NothingToSave",
        /// It has more replica-hours than the plain HPA at its lowest target.
        CostMore = "CostMore",
        /// The plain HPA with a lower target is about as safe at the same cost, or safer.
        LowerTarget = "LowerTarget",
        /// It leaves more time overloaded.
        Overload = "Overload",
        /// It is better in the sum, and not in more parts of the days than it is worse in.
        PartsDisagree = "PartsDisagree",
    }
}

impl CostBenefitVerdict {
    /// The reason in reports and conditions.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Worth => "Pays",
            Self::Not(against) => against.as_str(),
        }
    }
}

/// The plain HPA with a lower target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LowerTarget {
    /// As a share of the request.
    pub target: f64,
    pub cost: Cost,
}

/// The parts of the days by what they say of a candidate.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Agreement {
    /// The parts in which the candidate was better than the plain HPA at as many replica-hours.
    pub better: usize,
    pub worse: usize,
    /// The others: without a second under-provisioned on either side, or not to be compared.
    pub even: usize,
    /// The smallest and the largest share of the plain HPA's seconds under-provisioned in any part.
    pub range: Option<(f64, f64)>,
}

/// True where `cost` is so little time under-provisioned, of so many seconds, that nothing could save much.
pub fn is_little(cost: &Cost, judged_seconds: f64) -> bool {
    cost.under_provisioned_seconds <= LITTLE * judged_seconds
}

/// The verdict on a candidate beside the plain HPA at several targets. Without any run of the plain HPA nothing can be
/// said for a candidate.
pub fn judge(plain: &[PlainRun], candidate: &RunCosts) -> CostBenefit {
    let frontier = |of: &dyn Fn(&RunCosts) -> Option<Cost>| {
        ParetoFrontier::new(plain.iter().filter_map(|one| of(&one.run)).collect())
    };
    let whole = frontier(&|run| Some(run.cost));
    let compared = whole.map(|frontier| frontier.compare(&candidate.cost));
    let parts = candidate.parts.iter().enumerate().map(|(index, cost)| {
        let frontier = frontier(&|run| run.parts.get(index).copied())?;
        frontier.compare(cost).ratios
    });
    let agreement = Agreement::of(parts);
    let ratios = compared.and_then(|compared| compared.ratios);
    let is_above = compared.is_none_or(|compared| compared.place == FrontierPosition::Above);
    let verdict = verdict(ratios.filter(|_| !is_above), &agreement);
    CostBenefit {
        verdict,
        ratios,
        as_safe: as_safe(plain, &candidate.cost),
        agreement,
    }
}

/// The verdict on the floors of a counterfactual, which knows less than a replay: the time under-provisioned
/// alone.
pub(crate) fn judge_trial(tried: &CounterfactualResult) -> CostBenefitVerdict {
    if tried.plain.under <= LITTLE {
        CostBenefitVerdict::Not(CostBenefitObjection::NothingToSave)
    } else if tried.cost_more {
        CostBenefitVerdict::Not(CostBenefitObjection::CostMore)
    } else if tried.ratio() > WORTH_ENABLING {
        CostBenefitVerdict::Not(CostBenefitObjection::LowerTarget)
    } else {
        CostBenefitVerdict::Worth
    }
}

fn verdict(ratios: Option<CostRatios>, agreement: &Agreement) -> CostBenefitVerdict {
    let Some(ratios) = ratios else {
        return CostBenefitVerdict::Not(CostBenefitObjection::CostMore);
    };
    if ratios.under_provisioned > WORTH_ENABLING {
        CostBenefitVerdict::Not(CostBenefitObjection::LowerTarget)
    } else if ratios.overloaded > OVERLOADS {
        CostBenefitVerdict::Not(CostBenefitObjection::Overload)
    } else if agreement.better <= agreement.worse {
        CostBenefitVerdict::Not(CostBenefitObjection::PartsDisagree)
    } else {
        CostBenefitVerdict::Worth
    }
}

/// The highest target at which the plain HPA has no more seconds under-provisioned than `candidate`.
fn as_safe(plain: &[PlainRun], candidate: &Cost) -> Option<LowerTarget> {
    let safe = plain.iter().filter(|one| {
        one.run.cost.under_provisioned_seconds <= candidate.under_provisioned_seconds
    });
    let highest = safe.max_by(|a, b| a.target.total_cmp(&b.target))?;
    Some(LowerTarget {
        target: highest.target,
        cost: highest.run.cost,
    })
}

impl Agreement {
    fn of(parts: impl Iterator<Item = Option<CostRatios>>) -> Self {
        let mut agreement = Self::default();
        for part in parts {
            let Some(share) = part.map(|ratios| ratios.under_provisioned) else {
                agreement.even += 1;
                continue;
            };
            let count = if share < 1.0 - EVEN {
                &mut agreement.better
            } else if share > 1.0 + EVEN {
                &mut agreement.worse
            } else {
                &mut agreement.even
            };
            *count += 1;
            let (low, high) = agreement.range.unwrap_or((share, share));
            agreement.range = Some((low.min(share), high.max(share)));
        }
        agreement
    }

    /// The share of the parts that say something in which the candidate was better; `None` where none does.
    pub fn share(&self) -> Option<f64> {
        let told = self.better + self.worse;
        (told > 0).then(|| count_as_f64(self.better) / count_as_f64(told))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(replica_hours: f64, under: f64, over: f64) -> Cost {
        Cost {
            under_provisioned_seconds: under,
            overloaded_seconds: over,
            replica_hours,
        }
    }

    /// A run of two parts with the same replica-hours.
    fn run(replica_hours: f64, under: [f64; 2], over: f64) -> RunCosts {
        let parts = under.map(|under| cost(replica_hours / 2.0, under, over / 2.0));
        RunCosts {
            cost: cost(replica_hours, under.iter().sum(), over),
            parts: parts.to_vec(),
        }
    }

    /// The HPA at 60, 50 and 40 %: each tenth of the target halves the seconds for a fifth more hours.
    fn plain() -> Vec<PlainRun> {
        let at = |target, hours, under: f64| PlainRun {
            target,
            run: run(hours, [under, under], 30.0),
        };
        vec![
            at(0.6, 100.0, 785.0),
            at(0.5, 120.0, 385.0),
            at(0.4, 144.0, 185.0),
        ]
    }

    #[test]
    fn floors_are_worth_it_where_they_beat_the_lower_target_in_most_parts() {
        for (case, floors, verdict) in [
            (
                "half of it",
                run(110.0, [200.0, 200.0], 30.0),
                CostBenefitVerdict::Worth,
            ),
            (
                "for fewer hours than today's",
                run(95.0, [400.0, 400.0], 30.0),
                CostBenefitVerdict::Worth,
            ),
            (
                "as a lower target would",
                run(120.0, [385.0, 385.0], 30.0),
                CostBenefitVerdict::Not(CostBenefitObjection::LowerTarget),
            ),
            (
                "as today",
                run(100.0, [785.0, 785.0], 30.0),
                CostBenefitVerdict::Not(CostBenefitObjection::LowerTarget),
            ),
            (
                "more than two thirds cost",
                run(150.0, [0.0, 0.0], 0.0),
                CostBenefitVerdict::Not(CostBenefitObjection::CostMore),
            ),
            (
                "overloaded",
                run(110.0, [200.0, 200.0], 400.0),
                CostBenefitVerdict::Not(CostBenefitObjection::Overload),
            ),
            (
                "better in one part, worse in the other",
                run(110.0, [0.0, 700.0], 30.0),
                CostBenefitVerdict::Not(CostBenefitObjection::PartsDisagree),
            ),
        ] {
            assert_eq!(judge(&plain(), &floors).verdict, verdict, "{case}");
        }
    }

    #[test]
    fn the_rival_is_the_highest_target_that_is_as_safe() {
        let target = |under| {
            let worth = judge(&plain(), &run(110.0, [under, under], 30.0));
            worth
                .as_safe
                .map(|one| (one.target, one.cost.replica_hours))
        };
        assert_eq!(target(785.0), Some((0.6, 100.0)));
        assert_eq!(target(400.0), Some((0.5, 120.0)));
        assert_eq!(target(300.0), Some((0.4, 144.0)));
        assert_eq!(target(100.0), None);
    }

    #[test]
    fn parts_that_say_nothing_are_even() {
        let mut floors = run(110.0, [200.0, 200.0], 30.0);
        let mut plain = plain();
        // A night without load: no Pod is under-provisioned, and floors make no difference.
        floors.parts.push(cost(12.0, 0.0, 0.0));
        floors.parts.push(cost(10.0, 0.0, 0.0));
        for one in &mut plain {
            one.run.parts.extend([cost(10.0, 0.0, 0.0); 2]);
        }
        let CostBenefit {
            agreement, verdict, ..
        } = judge(&plain, &floors);
        assert_eq!(
            (agreement.better, agreement.worse, agreement.even),
            (2, 0, 2)
        );
        assert_eq!(
            (verdict, agreement.share()),
            (CostBenefitVerdict::Worth, Some(1.0))
        );
        let (low, high) = agreement.range.unwrap();
        assert!(low < 0.5 && (high - 1.0).abs() < 1e-9, "{low} {high}");
        assert_eq!(Agreement::default().share(), None);
    }

    #[test]
    fn little_is_a_thousandth_of_the_time() {
        assert!(is_little(&cost(1.0, 86.0, 0.0), 86_400.0));
        assert!(!is_little(&cost(1.0, 87.0, 0.0), 86_400.0));
    }

    #[test]
    fn without_a_rival_nothing_is_said_for_floors() {
        let worth = judge(&[], &run(110.0, [0.0, 0.0], 0.0));
        assert_eq!(
            worth.verdict,
            CostBenefitVerdict::Not(CostBenefitObjection::CostMore)
        );
        assert_eq!((worth.ratios, worth.as_safe), (None, None));
    }
}
