//! The replicas that open windows ask for, without the state and the record that runs need.

use jiff::Timestamp;

use super::rule::RuleTiming;
use super::schedule_cache::ScheduleCache;
use super::spec::CronSpec;
use super::state::CronState;

/// The request of the windows of some rules at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenWindows {
    /// At least one is open: the largest replicas of the open windows, until the last of those with
    /// this count closes.
    Replicas { replicas: i32, until: Timestamp },
    /// None is open until this moment; `None` where none comes.
    Nothing { until: Option<Timestamp> },
}

/// The request of the windows of these rules at `now`, with the `agenda` of these rules. Runs do
/// not count here.
pub fn asked(spec: &CronSpec, agenda: &mut ScheduleCache, now: Timestamp) -> OpenWindows {
    let mut largest = None;
    for (place, rule) in spec.rules().iter().enumerate() {
        if !spec.is_active(rule) || !matches!(rule.when, RuleTiming::Window { .. }) {
            continue;
        }
        let open = agenda.open_window(spec, place, None, now);
        largest = largest.max(open.map(|window| (rule.replicas, window.end)));
    }
    if let Some((replicas, until)) = largest {
        return OpenWindows::Replicas { replicas, until };
    }
    let next = agenda.next(spec, &CronState::default(), now, 1);
    OpenWindows::Nothing {
        until: next.first().map(|next| next.at.timestamp()),
    }
}
