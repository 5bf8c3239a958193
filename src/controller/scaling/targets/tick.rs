//! Everything that one tick over all targets reads, and the work that it leaves.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::key::TargetKey;
use crate::controller::scaling::cron_metrics::CronTally;
use crate::controller::scaling::history_backfill::{BackfillNamespaces, BackfillRequest};
use crate::controller::scaling::plans::Plans;
use crate::controller::scaling::recent_history::RecentHistory;
use crate::controller::scaling::samples::ScalingSample;
use crate::controller::scaling::status_store::BoardEntry;
use evenkeel_core::forecast::ModelAssets;
use evenkeel_kubernetes::cron_hpa::CheckedCronHpa;
use evenkeel_kubernetes::external_metrics::ServedLoad;
use evenkeel_kubernetes::object_ref::ObjectRef;
use evenkeel_kubernetes::plan::Write;
use evenkeel_kubernetes::plan::scaling::{PendingScaleIn, Settings};
use evenkeel_kubernetes::query_answers::{
    CheckAnswers, CheckRequest, SignalReadings, SignalRequest,
};

/// Everything that one tick reads.
pub(in crate::controller::scaling) struct ScalingTickInput<'a> {
    pub(in crate::controller::scaling) now: Timestamp,
    pub(in crate::controller::scaling) settings: Settings,
    /// The context that the models of all targets share.
    pub(in crate::controller::scaling) shared: &'a ModelAssets,
    /// The newest round of measurements, unless it is too old to hold.
    pub(in crate::controller::scaling) sample: Option<&'a ScalingSample>,
    /// The newest answers to the questions of single targets.
    pub(in crate::controller::scaling) signals: &'a SignalReadings,
    /// The newest answers to external checks.
    pub(in crate::controller::scaling) checks: &'a CheckAnswers,
    /// True where this tick decides, and does not only measure.
    pub(in crate::controller::scaling) decides: bool,
    pub(in crate::controller::scaling) plans: &'a Plans,
    /// True where there is a past to be asked for.
    pub(in crate::controller::scaling) has_past: bool,
    pub(in crate::controller::scaling) traces: &'a RecentHistory,
    /// True where the loads that are expected are served.
    pub(in crate::controller::scaling) serves: bool,
    /// True where it is said before a scale-in which Pods go first.
    pub(in crate::controller::scaling) balances_scale_in: bool,
    /// The Scales with counts that were written since the tick before, each with its last count.
    pub(in crate::controller::scaling) scaled: &'a HashMap<ObjectRef, i32>,
    /// The CronHPAs of all namespaces that have opted in.
    pub(in crate::controller::scaling) crons: &'a [Arc<CheckedCronHpa>],
}

/// The work that one tick leaves.
#[derive(Debug, Default)]
pub(in crate::controller::scaling) struct ScalingTickOutput {
    pub(in crate::controller::scaling) writes: Vec<Write>,
    pub(in crate::controller::scaling) shown: Vec<BoardEntry>,
    /// The loads that are expected, by namespace, where they are served.
    pub(in crate::controller::scaling) served: Vec<(Arc<str>, ServedLoad)>,
    pub(in crate::controller::scaling) asks: Asks,
    /// Targets with bounds that another writer contests.
    pub(in crate::controller::scaling) contested: Vec<ContestedTarget>,
    /// Targets with bounds that are still to be put back, if that is the plan.
    pub(in crate::controller::scaling) restoring: usize,
    /// The memory that all of them take.
    pub(in crate::controller::scaling) bytes: usize,
    /// The targets that rest since their work panicked.
    pub(in crate::controller::scaling) quarantined: usize,
    pub(in crate::controller::scaling) crons: CronTally,
    /// The scale-ins that are about to come, with the writes that bring them about.
    pub(in crate::controller::scaling) scale_ins: Vec<PendingScaleIn>,
}

/// The data that targets ask for.
#[derive(Debug, Default)]
pub(in crate::controller::scaling) struct Asks {
    /// Namespaces with targets that lack their past.
    pub(in crate::controller::scaling) past: BackfillNamespaces,
    /// Queries of targets that lack their past.
    pub(in crate::controller::scaling) past_queries: Vec<Arc<str>>,
    /// The questions that belong to one target each.
    pub(in crate::controller::scaling) wanted: Vec<SignalRequest>,
    /// The external checks of changes that are under way or held.
    pub(in crate::controller::scaling) checks: Vec<CheckRequest>,
}

impl Asks {
    /// The past that is wished for.
    pub(in crate::controller::scaling) fn wishes(self) -> impl Iterator<Item = BackfillRequest> {
        let namespaces = self.past.into_iter();
        let namespaces =
            namespaces.map(|(namespace, tick)| BackfillRequest::Namespace(namespace, tick));
        namespaces.chain(self.past_queries.into_iter().map(BackfillRequest::Query))
    }
}

/// A target with bounds that another writer contests.
#[derive(Debug)]
pub(in crate::controller::scaling) struct ContestedTarget {
    pub(in crate::controller::scaling) key: TargetKey,
    pub(in crate::controller::scaling) object: ObjectRef,
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
    }
}
