//! Verdicts in words, with their figures.

use serde::Serialize;

use super::past::LoadPast;
use super::work::{LEAST_MINUTES, Outcome};
use crate::cli::forecast::replay::report::{Series, percentage};
use crate::cli::output;
use evenkeel_core::scaling::frontier::Cost;
use evenkeel_core::scaling::worth::{Against, Verdict as WorthVerdict, Worth};
use evenkeel_core::units::count_as_f64;

/// The verdict on an HPA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Verdict {
    WorthEnabling,
    NotWorthEnabling,
    TooLittleData,
    NotForecast,
}

impl Verdict {
    pub(super) const ALL: [Self; 4] = [
        Self::WorthEnabling,
        Self::NotWorthEnabling,
        Self::TooLittleData,
        Self::NotForecast,
    ];

    /// As people read it.
    pub(super) const fn told(self) -> &'static str {
        match self {
            Self::WorthEnabling => "worth enabling",
            Self::NotWorthEnabling => "not worth enabling",
            Self::TooLittleData => "too little data",
            Self::NotForecast => "not forecast",
        }
    }

    pub(super) const fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Unfit(super::candidate::Unfit::OneCount(_)) | Outcome::NothingToSave(_) => {
                Self::NotWorthEnabling
            }
            Outcome::Unfit(_) => Self::NotForecast,
            Outcome::TooLittle => Self::TooLittleData,
            Outcome::Judged(judged) => match judged.1.verdict {
                WorthVerdict::Worth => Self::WorthEnabling,
                WorthVerdict::Not(_) => Self::NotWorthEnabling,
            },
        }
    }
}

/// The name of what the verdict stands on.
pub(super) fn reason(outcome: &Outcome, past: Option<&LoadPast>) -> &'static str {
    match outcome {
        Outcome::Unfit(unfit) => unfit.reason(),
        Outcome::TooLittle => match past {
            Some(past) if past.failed.is_some() => "QueryFailed",
            Some(past) if past.known > 0 => "TooShort",
            _ => "NoSeries",
        },
        Outcome::NothingToSave(_) => Against::NothingToSave.reason(),
        Outcome::Judged(judged) => judged.1.verdict.reason(),
    }
}

/// What the verdict stands on, as a sentence without its full stop.
pub(super) fn because(outcome: &Outcome, past: Option<&LoadPast>) -> String {
    match outcome {
        Outcome::Unfit(unfit) => unfit.told(),
        Outcome::TooLittle => too_little(past),
        Outcome::NothingToSave(series) => nothing_to_save(series),
        Outcome::Judged(judged) => told(&judged.0, &judged.1),
    }
}

fn nothing_to_save(series: &Series) -> String {
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
pub(super) fn share(series: &Series) -> String {
    let seconds = series.to.duration_since(series.count_from).as_secs_f64();
    let under = series.policies.first();
    let under = under.map_or(0.0, |one| one.under_provisioned_seconds);
    format!("{:.2} %", 100.0 * under / seconds.max(1.0))
}

fn told(series: &Series, worth: &Worth) -> String {
    let Some((today, floors)) = series.by_default() else {
        return String::new();
    };
    let (today, floors) = (today.cost(), floors.cost());
    let rival = rival(worth, &today);
    match worth.verdict {
        WorthVerdict::Worth => format!("{}; {rival}", difference(&today, &floors)),
        WorthVerdict::Not(Against::NothingToSave) => nothing_to_save(series),
        WorthVerdict::Not(Against::LowerTarget) => format!(
            "a lower target buys the same safety at the same cost or less: {}; {rival}",
            difference(&today, &floors)
        ),
        WorthVerdict::Not(Against::CostMore) => format!(
            "floors cost more than the plain HPA at two thirds of its target: {}; {rival}",
            difference(&today, &floors)
        ),
        WorthVerdict::Not(Against::Overload) => format!(
            "floors leave more time overloaded than the plain HPA at the same cost: {}",
            difference(&today, &floors)
        ),
        WorthVerdict::Not(Against::PartsDisagree) => format!(
            "the result varies from day to day: floors were better in {} half days and worse in \
             {}: {}",
            worth.agreement.better,
            worth.agreement.worse,
            difference(&today, &floors)
        ),
    }
}

/// What floors would have changed.
fn difference(today: &Cost, floors: &Cost) -> String {
    format!(
        "with floors {:.0} s under-provisioned instead of {:.0} s, for {} replica-hours",
        floors.under_provisioned_seconds,
        today.under_provisioned_seconds,
        more(today, floors)
    )
}

/// The lower target that is as safe as floors.
fn rival(worth: &Worth, today: &Cost) -> String {
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
