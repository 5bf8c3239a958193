//! Everything that one tick over all targets reads, and the work that it leaves.

use std::collections::HashMap;
use std::sync::Arc;

use evenkeel_forecast::ModelAssets;
use evenkeel_objects::object_ref::ObjectRef;
use evenkeel_objects::plan::Write;
use evenkeel_units::panic_error::PanicError;
use jiff::Timestamp;

use super::cron_tally::CronTally;
use super::key::TargetKey;
use super::query_answers::{CheckAnswers, CheckRequest, SignalReadings, SignalRequest};
use super::samples::ScalingSample;
use crate::external_metrics::ServedLoad;
use crate::specs::cron_hpa::CheckedCronHpa;
use crate::status::dashboard::ScalingStatus;
use crate::targets::history_backfill::{BackfillNamespaces, BackfillRequest};
use crate::targets::settings::Settings;
use crate::writes::scale_in::PendingScaleIn;

/// The plans that a tick makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plans {
    /// None: another replica leads, or nothing may be written.
    Nothing,
    /// The writes that follow from the decisions, in the name of this replica.
    Decisions(String),
    /// The user's own bounds are put back.
    Restore,
}

/// Everything that one tick reads.
pub struct ScalingTickInput<'a> {
    pub now: Timestamp,
    pub settings: Settings,
    /// The context that the models of all targets share.
    pub shared: &'a ModelAssets,
    /// The newest round of measurements, unless it is too old to hold.
    pub sample: Option<&'a ScalingSample>,
    /// The newest answers to the questions of single targets.
    pub signals: &'a SignalReadings,
    /// The newest answers to external checks.
    pub checks: &'a CheckAnswers,
    /// True where this tick decides, and does not only measure.
    pub decides: bool,
    pub plans: &'a Plans,
    /// True where there is a past to be asked for.
    pub has_past: bool,
    /// True where the loads that are expected are served.
    pub serves: bool,
    /// True where it is said before a scale-in which Pods go first.
    pub balances_scale_in: bool,
    /// The Scales with counts that were written since the tick before, each with its last count.
    pub scaled: &'a HashMap<ObjectRef, i32>,
    /// The CronHPAs of all namespaces that have opted in.
    pub crons: &'a [Arc<CheckedCronHpa>],
}

/// The work that one tick leaves.
#[derive(Debug, Default)]
pub struct ScalingTickOutput {
    pub writes: Vec<Write>,
    pub shown: Vec<Arc<ScalingStatus>>,
    /// The loads that are expected, by namespace, where they are served.
    pub served: Vec<(Arc<str>, ServedLoad)>,
    pub asks: Asks,
    /// Targets with bounds that another writer contests.
    pub contested: Vec<ContestedTarget>,
    /// Targets with bounds that are still to be put back, if that is the plan.
    pub restoring: usize,
    /// The memory that all of them take.
    pub bytes: usize,
    /// The targets that rest since their work panicked.
    pub quarantined: usize,
    pub crons: CronTally,
    /// The scale-ins that are about to come, with the writes that bring them about.
    pub scale_ins: Vec<PendingScaleIn>,
    /// The panics in the work on single objects, to be logged.
    pub panics: Vec<WorkPanic>,
}

/// The data that targets ask for.
#[derive(Debug, Default)]
pub struct Asks {
    /// The number of the tick.
    pub tick: u64,
    /// Namespaces with targets that lack their past.
    pub past: BackfillNamespaces,
    /// Queries of targets that lack their past.
    pub past_queries: Vec<Arc<str>>,
    /// The questions that belong to one target each.
    pub wanted: Vec<SignalRequest>,
    /// The external checks of changes that are under way or held.
    pub checks: Vec<CheckRequest>,
}

impl Asks {
    /// The past that is wished for.
    pub fn wishes(self) -> impl Iterator<Item = BackfillRequest> {
        let namespaces = self.past.into_iter();
        let namespaces =
            namespaces.map(|(namespace, tick)| BackfillRequest::Namespace(namespace, tick));
        namespaces.chain(self.past_queries.into_iter().map(BackfillRequest::Query))
    }
}

/// A target with bounds that another writer contests.
#[derive(Debug)]
pub struct ContestedTarget {
    pub key: TargetKey,
    pub object: ObjectRef,
}

/// A panic in the work on one object.
#[derive(Debug, Clone)]
pub struct WorkPanic {
    pub work: PanickedWork,
    pub namespace: Box<str>,
    /// The workload, or the name of the `CronHPA`.
    pub object: Box<str>,
    pub error: PanicError,
}

/// The work that panicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PanickedWork {
    /// The work on a target, which is paused.
    Target,
    /// The report of a target in quarantine.
    Quarantined,
    /// The work on a `CronHPA`, whose previous request stays.
    CronHpa,
    /// The history of a target, which starts without it.
    History,
}

impl WorkPanic {
    pub(super) fn of_target(key: &TargetKey, work: PanickedWork, error: PanicError) -> Self {
        Self {
            work,
            namespace: (*key.namespace).into(),
            object: key.workload.to_string().into(),
            error,
        }
    }
}

impl ScalingTickOutput {
    /// Takes what one target leaves.
    pub(super) fn absorb(&mut self, one: Self) {
        let Self {
            writes,
            shown,
            served,
            asks,
            contested,
            restoring,
            bytes,
            quarantined,
            crons,
            scale_ins,
            panics,
        } = one;
        self.writes.extend(writes);
        self.shown.extend(shown);
        self.served.extend(served);
        self.asks.past.extend(asks.past);
        self.asks.past_queries.extend(asks.past_queries);
        self.asks.wanted.extend(asks.wanted);
        self.asks.checks.extend(asks.checks);
        self.contested.extend(contested);
        self.restoring += restoring;
        self.bytes += bytes;
        self.quarantined += quarantined;
        self.crons.add(crons);
        self.scale_ins.extend(scale_ins);
        self.panics.extend(panics);
    }
}
