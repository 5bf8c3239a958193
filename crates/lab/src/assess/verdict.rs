//! Verdicts in words, with their figures.

use evenkeel_scaling::counterfactual::cost_benefit::{
    CostBenefit, CostBenefitObjection, CostBenefitVerdict as WorthVerdict, WORTH_ENABLING,
};
use evenkeel_scaling::counterfactual::pareto_frontier::Cost;
use evenkeel_terminal::output;
use evenkeel_units::{count_as_f64, words};
use serde::Serialize;

use super::load_history::LoadPast;
use super::recommendation::{RecommendedWay, RuleJudgement, TargetJudgement};
use super::target_replay::{AssessOutcome, LEAST_MINUTES};
use crate::forecast::replay::report::{ReplayedSeries, percentage};

words! {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    pub(super) enum AssessVerdict {
        WorthEnabling = "worth enabling",
        NotWorthEnabling = "not worth enabling",
        TooLittleData = "too little data",
        NotForecast = "not forecast",
    }
}

impl AssessVerdict {
    pub(super) const fn of(outcome: &AssessOutcome) -> Self {
        match outcome {
            AssessOutcome::Unfit(super::candidate::NotForecastReason::OneCount(_))
            | AssessOutcome::NothingToSave(_) => Self::NotWorthEnabling,
            AssessOutcome::Unfit(_) => Self::NotForecast,
            AssessOutcome::TooLittle => Self::TooLittleData,
            AssessOutcome::Judged(judged) => match judged.1.recommended {
                RecommendedWay::Floors => Self::WorthEnabling,
                _ => Self::NotWorthEnabling,
            },
        }
    }
}

pub(super) fn reason(outcome: &AssessOutcome, past: Option<&LoadPast>) -> &'static str {
    match outcome {
        AssessOutcome::Unfit(unfit) => unfit.reason(),
        AssessOutcome::TooLittle => match past {
            Some(past) if past.failed.is_some() => "QueryFailed",
            Some(past) if past.known > 0 => "TooShort",
            _ => "NoSeries",
        },
        AssessOutcome::NothingToSave(_) => CostBenefitObjection::NothingToSave.as_str(),
        AssessOutcome::Judged(judged) => match judged.1.recommended {
            RecommendedWay::SeasonalRule(_) => "SeasonalRule",
            _ => judged.1.floors.verdict.reason(),
        },
    }
}

/// The reason for the verdict, as a sentence without its full stop.
pub(super) fn because(outcome: &AssessOutcome, past: Option<&LoadPast>) -> String {
    match outcome {
        AssessOutcome::Unfit(unfit) => unfit.told(),
        AssessOutcome::TooLittle => too_little(past),
        AssessOutcome::NothingToSave(series) => nothing_to_save(series),
        AssessOutcome::Judged(judged) => told(&judged.0, &judged.1),
    }
}

fn nothing_to_save(series: &ReplayedSeries) -> String {
    format!(
        "the HPA as it is was under-provisioned for only {} of the judged time: there is nothing \
         to gain",
        share(series)
    )
}

fn too_little(past: Option<&LoadPast>) -> String {
    let hours = |minutes: usize| count_as_f64(minutes) / 60.0;
    match past {
        Some(LoadPast {
            failed: Some(error),
            ..
        }) => format!("Prometheus does not return its history: {error}"),
        Some(past) if past.known > 0 => format!(
            "Prometheus has {:.1} hours of its load, and {:.0} are needed",
            hours(past.known),
            hours(LEAST_MINUTES)
        ),
        _ => "Prometheus has no series of its load".to_owned(),
    }
}

/// The judged time that the HPA as it is was under-provisioned for.
pub(super) fn share(series: &ReplayedSeries) -> String {
    let seconds = series.to.duration_since(series.count_from).as_secs_f64();
    let under = series.policies.first();
    let under = under.map_or(0.0, |one| one.under_provisioned_seconds);
    format!("{:.2} %", 100.0 * under / seconds.max(1.0))
}

fn told(series: &ReplayedSeries, judged: &TargetJudgement) -> String {
    let Some((today, floors)) = series.by_default() else {
        return String::new();
    };
    let (today, floors) = (today.cost(), floors.cost());
    let told = match judged.recommended {
        RecommendedWay::SeasonalRule(rule) => {
            let cost = judged.rule.as_ref().map_or(floors, |one| one.cost);
            of_rival(
                &format!("the seasonal rule {rule}"),
                &cost,
                [&today, &floors],
            )
        }
        RecommendedWay::LowerTarget(lower) => {
            let rival = format!("the plain HPA at a target of {}", percentage(lower.target));
            of_rival(&rival, &lower.cost, [&today, &floors])
        }
        _ => of_floors(series, &judged.floors, [&today, &floors]),
    };
    let shares = judged.rule.as_ref().map(|one| shares(one, &judged.floors));
    let sentences: Vec<_> = [told].into_iter().chain(shares).collect();
    sentences.join(". ")
}

/// Floors and the best seasonal rule beside the plain HPA.
fn shares(best: &RuleJudgement, floors: &CostBenefit) -> String {
    let RuleJudgement { rule, share, .. } = best;
    let floors = floors.ratios.map_or(
        "not comparable, they cost more than the lowest target".to_owned(),
        |ratios| format!("{:.2}", ratios.under_provisioned),
    );
    format!(
        "Under-provisioned time relative to the plain HPA at equal replica-hours: best rule ({rule}) {share:.2}, \
         floors {floors}"
    )
}

/// A recommended rival, from its cost and those of today's HPA and of floors.
fn of_rival(rival: &str, cost: &Cost, [today, floors]: [&Cost; 2]) -> String {
    format!(
        "{rival} leaves {:.0} s under-provisioned instead of {:.0} s, for {} replica-hours; floors leave {:.0} s, \
         for {}",
        cost.under_provisioned_seconds,
        today.under_provisioned_seconds,
        more(today, cost),
        floors.under_provisioned_seconds,
        more(today, floors)
    )
}

/// The verdict on floors, from the costs of today's HPA and of floors.
fn of_floors(series: &ReplayedSeries, worth: &CostBenefit, [today, floors]: [&Cost; 2]) -> String {
    let rival = rival(worth, today);
    let difference = difference(today, floors);
    match worth.verdict {
        WorthVerdict::Worth => format!("{difference}; {rival}"),
        WorthVerdict::Not(CostBenefitObjection::NothingToSave) => nothing_to_save(series),
        WorthVerdict::Not(CostBenefitObjection::LowerTarget) => format!(
            "floors leave more than {:.0} % of the time under-provisioned of a plain HPA at equal replica-hours: \
             {difference}; {rival}",
            WORTH_ENABLING * 100.0,
        ),
        WorthVerdict::Not(CostBenefitObjection::CostMore) => format!(
            "floors cost more than the plain HPA at two thirds of its target: {difference}; {rival}"
        ),
        WorthVerdict::Not(CostBenefitObjection::Overload) => format!(
            "floors leave more time overloaded than the plain HPA at the same cost: {difference}"
        ),
        WorthVerdict::Not(CostBenefitObjection::PartsDisagree) => format!(
            "the result varies from day to day: floors were better in {} half days and worse in \
             {}: {difference}",
            worth.agreement.better, worth.agreement.worse,
        ),
    }
}

fn difference(today: &Cost, floors: &Cost) -> String {
    format!(
        "with floors {:.0} s under-provisioned instead of {:.0} s, for {} replica-hours",
        floors.under_provisioned_seconds,
        today.under_provisioned_seconds,
        more(today, floors)
    )
}

/// The lower target that is as safe as floors.
fn rival(worth: &CostBenefit, today: &Cost) -> String {
    worth.as_safe.map_or_else(
        || "no target of the plain HPA down to two thirds of its own is as safe".to_owned(),
        |one| {
            format!(
                "the plain HPA is as safe at a target of {}, for {} replica-hours",
                percentage(one.target),
                more(today, &one.cost)
            )
        },
    )
}

/// Replica-hours beside today's: `5.6 % more`.
fn more(today: &Cost, other: &Cost) -> String {
    let share = other.replica_hours / today.replica_hours - 1.0;
    if !share.is_finite() {
        return output::percent(0.0);
    }
    let word = if share < 0.0 { "fewer" } else { "more" };
    format!("{:.1} % {word}", 100.0 * share.abs())
}
