//! The numbers of an assessment.

use jiff::Timestamp;
use serde::Serialize;

use super::replay_depth::Depth;
use super::target_replay::{AssessOutcome, AssessedTarget};
use super::target_report::{FloorSavings, TargetReport};
use super::verdict::AssessVerdict;
use evenkeel_terminal::output::CliFailure;

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
    pub summary: AssessmentSummary,
    /// The parts of targets that the replays leave out.
    pub notes: Vec<String>,
    pub targets: Vec<TargetReport>,
}

/// HPAs by verdict, and what floors would have changed for those worth enabling together.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AssessmentSummary {
    pub targets: usize,
    /// Those with a verdict on floors; the others are beyond it, each with its reason.
    pub assessed: usize,
    pub worth_enabling: usize,
    pub not_worth_enabling: usize,
    pub too_little_data: usize,
    pub not_forecast: usize,
    /// On the judged days of those worth enabling.
    pub saved: FloorSavings,
    /// As `1 floors, 5 rules, 1 lower target, 1 no change`, without the ways that no target has.
    #[serde(skip)]
    pub recommended: String,
}

impl Assessment {
    pub(super) fn new(terms: Terms, assessed: Vec<AssessedTarget>) -> Self {
        let Terms {
            until,
            days,
            prometheus,
            depth,
        } = terms;
        let replayed = |one: &&AssessedTarget| {
            matches!(
                one.outcome,
                AssessOutcome::Judged(_) | AssessOutcome::NothingToSave(_)
            )
        };
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
            summary: AssessmentSummary::of(&targets),
            notes: depth.told(loads).into_iter().collect(),
            targets,
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// The failure if no load of any HPA has a series: it is another cluster's Prometheus, or one
    /// without cAdvisor.
    pub(super) fn without_any_series(&self) -> Option<CliFailure> {
        let asked = self.targets.iter().filter_map(|one| one.past.as_ref());
        let known: Vec<f64> = asked.map(|past| past.known_days).collect();
        let none = !known.is_empty() && known.iter().all(|days| *days <= 0.0);
        none.then(|| {
            CliFailure::work(format_args!(
                "Prometheus at {} has no series of any of the {} loads: check that it belongs to \
                 this cluster, that it scrapes cAdvisor, and that metrics.prometheus.matchers and \
                 queries are those of the service",
                self.prometheus,
                known.len()
            ))
        })
    }
}

impl AssessmentSummary {
    fn of(targets: &[TargetReport]) -> Self {
        let count = |verdict| targets.iter().filter(|one| one.verdict == verdict).count();
        let worth = targets
            .iter()
            .filter(|one| one.verdict == AssessVerdict::WorthEnabling);
        let saved = worth.filter_map(TargetReport::saved);
        Self {
            targets: targets.len(),
            assessed: count(AssessVerdict::WorthEnabling) + count(AssessVerdict::NotWorthEnabling),
            worth_enabling: count(AssessVerdict::WorthEnabling),
            not_worth_enabling: count(AssessVerdict::NotWorthEnabling),
            too_little_data: count(AssessVerdict::TooLittleData),
            not_forecast: count(AssessVerdict::NotForecast),
            saved: saved.fold(FloorSavings::default(), FloorSavings::plus),
            recommended: recommended(targets),
        }
    }

    pub(super) const fn count(&self, verdict: AssessVerdict) -> usize {
        match verdict {
            AssessVerdict::WorthEnabling => self.worth_enabling,
            AssessVerdict::NotWorthEnabling => self.not_worth_enabling,
            AssessVerdict::TooLittleData => self.too_little_data,
            AssessVerdict::NotForecast => self.not_forecast,
        }
    }

    /// The verdicts with their numbers, in a line.
    pub(super) fn told(&self) -> String {
        let [worth, not_worth, too_little, not_forecast] = AssessVerdict::ALL
            .map(|verdict| format!("{} {}", self.count(verdict), verdict.as_str()));
        let word = if self.targets == 1 { "HPA" } else { "HPAs" };
        let assessed = format!(
            "{} of {} {word} assessed: {worth}, {not_worth}",
            self.assessed, self.targets
        );
        let assessed = match self.targets - self.assessed {
            0 => assessed,
            beyond => format!("{assessed}; {beyond} beyond it: {too_little}, {not_forecast}"),
        };
        match &*self.recommended {
            "" => assessed,
            recommended => format!("{assessed}; recommended: {recommended}"),
        }
    }
}

/// The numbers of targets by what is recommended for them.
fn recommended(targets: &[TargetReport]) -> String {
    let of = |way: &str, one: &str, several: &str| {
        let ways = targets.iter().filter_map(|one| one.recommended.as_ref());
        match ways.filter(|advice| advice.way == way).count() {
            0 => None,
            1 => Some(format!("1 {one}")),
            count => Some(format!("{count} {several}")),
        }
    };
    let counts = [
        of("floors", "floors", "floors"),
        of("seasonalRule", "rule", "rules"),
        of("lowerTarget", "lower target", "lower targets"),
        of("unchanged", "no change", "no change"),
    ];
    let counts: Vec<_> = counts.into_iter().flatten().collect();
    counts.join(", ")
}
