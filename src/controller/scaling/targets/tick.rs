//! Everything that one tick over all targets reads, and the work that it leaves.

use jiff::Timestamp;

use super::key::Key;
use crate::controller::scaling::board::BoardEntry;
use crate::controller::scaling::cron_tally::CronTally;
use crate::controller::scaling::plans::Plans;
use crate::controller::scaling::refill::Asked;
use crate::controller::scaling::samples::Sample;
use crate::controller::scaling::trace::Traces;
use evenkeel_core::forecast::Shared;
use evenkeel_kubernetes::object_ref::ObjectRef;
use evenkeel_kubernetes::plan::Write;
use evenkeel_kubernetes::plan::scaling::Settings;
use evenkeel_kubernetes::plan::scaling::crons::ObservedCron;

/// Everything that one tick reads.
pub(in crate::controller::scaling) struct Tick<'a> {
    pub(in crate::controller::scaling) now: Timestamp,
    pub(in crate::controller::scaling) settings: Settings,
    /// The context that the models of all targets share.
    pub(in crate::controller::scaling) shared: &'a Shared,
    /// The newest round of measurements, unless it is too old to hold.
    pub(in crate::controller::scaling) sample: Option<&'a Sample>,
    /// True where this tick decides, and does not only measure.
    pub(in crate::controller::scaling) decides: bool,
    pub(in crate::controller::scaling) plans: &'a Plans,
    /// True where there is a past to be asked for.
    pub(in crate::controller::scaling) has_past: bool,
    pub(in crate::controller::scaling) traces: &'a Traces,
    /// The CronHPAs of all namespaces that have opted in.
    pub(in crate::controller::scaling) crons: &'a [ObservedCron],
}

/// The work that one tick leaves.
#[derive(Debug, Default)]
pub(in crate::controller::scaling) struct Ticked {
    pub(in crate::controller::scaling) writes: Vec<Write>,
    pub(in crate::controller::scaling) shown: Vec<BoardEntry>,
    /// Namespaces with targets whose past is not known.
    pub(in crate::controller::scaling) past: Asked,
    /// Targets whose bounds somebody contests.
    pub(in crate::controller::scaling) contested: Vec<Contested>,
    /// Targets whose bounds are still to be put back, where that is what is planned.
    pub(in crate::controller::scaling) restoring: usize,
    /// The memory that all of them take.
    pub(in crate::controller::scaling) bytes: usize,
    /// The targets that rest since their work panicked.
    pub(in crate::controller::scaling) quarantined: usize,
    pub(in crate::controller::scaling) crons: CronTally,
}

/// A target whose bounds somebody contests.
#[derive(Debug)]
pub(in crate::controller::scaling) struct Contested {
    pub(in crate::controller::scaling) key: Key,
    pub(in crate::controller::scaling) object: ObjectRef,
}

impl Ticked {
    /// Takes what one target leaves.
    pub(super) fn absorb(&mut self, one: Self) {
        let Self {
            writes,
            shown,
            past,
            contested,
            restoring,
            bytes,
            quarantined,
            crons,
        } = one;
        self.writes.extend(writes);
        self.shown.extend(shown);
        self.past.extend(past);
        self.contested.extend(contested);
        self.restoring += restoring;
        self.bytes += bytes;
        self.quarantined += quarantined;
        self.crons.add(crons);
    }
}
