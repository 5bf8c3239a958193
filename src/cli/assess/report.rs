//! The numbers of an assessment.

use jiff::Timestamp;
use serde::Serialize;

use super::depth::Depth;
use super::target_report::{Saved, TargetReport};
use super::verdict::Verdict;
use super::work::{Assessed, Outcome};
use crate::cli::output::Failure;

/// What all HPAs have in common.
#[derive(Debug, Clone)]
pub(super) struct Terms {
    pub until: Timestamp,
    pub days: u32,
    pub prometheus: String,
    pub depth: Depth,
}

/// All HPAs with their verdicts, those worth enabling first.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Assessment {
    pub until: Timestamp,
    /// The most of the past that was looked at, in days.
    pub days: u32,
    pub prometheus: String,
    pub depth: Depth,
    pub summary: Summary,
    /// What the replays leave out.
    pub notes: Vec<String>,
    pub targets: Vec<TargetReport>,
}

/// HPAs by verdict, and what floors would have changed for those worth enabling together.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Summary {
    pub targets: usize,
    /// Those with a verdict on floors; the others are beyond it, each with its reason.
    pub assessed: usize,
    pub worth_enabling: usize,
    pub not_worth_enabling: usize,
    pub too_little_data: usize,
    pub not_forecast: usize,
    /// On the judged days of those worth enabling.
    pub saved: Saved,
}

impl Assessment {
    pub(super) fn new(terms: Terms, assessed: Vec<Assessed>) -> Self {
        let Terms {
            until,
            days,
            prometheus,
            depth,
        } = terms;
        let replayed =
            |one: &&Assessed| matches!(one.outcome, Outcome::Judged(_) | Outcome::NothingToSave(_));
        let loads = assessed.iter().filter(replayed).count();
        let mut targets: Vec<_> = assessed.into_iter().map(TargetReport::of).collect();
        let saved =
            |one: &TargetReport| one.saved().map_or(0.0, |one| one.under_provisioned_seconds);
        targets.sort_by(|a, b| {
            let order = a.verdict.cmp(&b.verdict);
            order.then_with(|| saved(b).total_cmp(&saved(a)))
        });
        Self {
            until,
            days,
            prometheus,
            depth,
            summary: Summary::of(&targets),
            notes: depth.told(loads).into_iter().collect(),
            targets,
        }
    }

    /// True where there was no HPA to assess.
    pub(super) const fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// The failure where the loads of HPAs were asked for and none has any series: it is another
    /// cluster's Prometheus, or one without cAdvisor.
    pub(super) fn without_any_series(&self) -> Option<Failure> {
        let asked = self.targets.iter().filter_map(|one| one.past.as_ref());
        let known: Vec<f64> = asked.map(|past| past.known_days).collect();
        let none = !known.is_empty() && known.iter().all(|days| *days <= 0.0);
        none.then(|| {
            Failure::work(format_args!(
                "Prometheus at {} has no series of any of the {} loads: check that it belongs to \
                 this cluster, that it scrapes cAdvisor, and that metrics.prometheus.matchers and \
                 queries are those of the service",
                self.prometheus,
                known.len()
            ))
        })
    }
}

impl Summary {
    fn of(targets: &[TargetReport]) -> Self {
        let count = |verdict| targets.iter().filter(|one| one.verdict == verdict).count();
        let worth = targets
            .iter()
            .filter(|one| one.verdict == Verdict::WorthEnabling);
        let saved = worth.filter_map(TargetReport::saved);
        Self {
            targets: targets.len(),
            assessed: count(Verdict::WorthEnabling) + count(Verdict::NotWorthEnabling),
            worth_enabling: count(Verdict::WorthEnabling),
            not_worth_enabling: count(Verdict::NotWorthEnabling),
            too_little_data: count(Verdict::TooLittleData),
            not_forecast: count(Verdict::NotForecast),
            saved: saved.fold(Saved::default(), Saved::plus),
        }
    }

    /// The number of a verdict.
    pub(super) const fn count(&self, verdict: Verdict) -> usize {
        match verdict {
            Verdict::WorthEnabling => self.worth_enabling,
            Verdict::NotWorthEnabling => self.not_worth_enabling,
            Verdict::TooLittleData => self.too_little_data,
            Verdict::NotForecast => self.not_forecast,
        }
    }

    /// The verdicts with their numbers, in a line.
    pub(super) fn told(&self) -> String {
        let [worth, not_worth, too_little, not_forecast] =
            Verdict::ALL.map(|verdict| format!("{} {}", self.count(verdict), verdict.told()));
        let word = if self.targets == 1 { "HPA" } else { "HPAs" };
        let assessed = format!(
            "{} of {} {word} assessed: {worth}, {not_worth}",
            self.assessed, self.targets
        );
        match self.targets - self.assessed {
            0 => assessed,
            beyond => format!("{assessed}; {beyond} beyond it: {too_little}, {not_forecast}"),
        }
    }
}
