//! The pasts that fits are made on, each read whole. A slow source gets limited time: the part that
//! was read is kept for the next request, so a slow past is read in several turns.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use evenkeel_clock as clock;
use evenkeel_metrics::signal::Signal;
use evenkeel_objects::pod_names::WorkloadName;
use evenkeel_scaling::tracker::backfill_pace::{BackfillPace, BackfillRemainder};
use tokio::time::Instant;

use super::steps::{Span, Steps};
use crate::controller::scaling::history_backfill::{
    HistoryClient, HistoryRequest, HistoryResponse, HistorySource,
};
use crate::controller::scaling::metrics::ScalingMetrics;

/// The longest time that the pasts of one piece of work may take.
const LONGEST: Duration = Duration::from_mins(5);
/// The pasts that are kept in part: 20 MB at most.
const KEPT: usize = 256;

pub(super) struct Pasts {
    asker: HistoryClient,
    kept: Mutex<VecDeque<PartialFitHistory>>,
}

/// Which past it is.
#[derive(Debug, Clone, PartialEq)]
struct PastOf {
    what: FitHistorySubject,
    /// The workload of the past; `None` for that of a query.
    workload: Option<WorkloadName>,
    span: Span,
}

#[derive(Debug, Clone, PartialEq)]
enum FitHistorySubject {
    Signal(Signal),
    Pods,
    Query(Box<str>),
}

struct PartialFitHistory {
    of: PastOf,
    had: FitHistoryProgress,
}

struct FitHistoryProgress {
    steps: Steps,
    /// The part that is still to be queried.
    rest: BackfillRemainder,
}

impl PastOf {
    fn new(question: HistoryRequest<'_>, workload: &WorkloadName, span: Span) -> Self {
        let whose = Some(workload.clone());
        let (what, workload) = match question {
            HistoryRequest::Sums(signal, _) => (FitHistorySubject::Signal(signal.clone()), whose),
            HistoryRequest::Pods(_) => (FitHistorySubject::Pods, whose),
            HistoryRequest::Query(query) => (FitHistorySubject::Query(query.into()), None),
        };
        Self {
            what,
            workload,
            span,
        }
    }
}

impl Pasts {
    pub(super) fn new(past: Arc<dyn HistorySource>, metrics: ScalingMetrics) -> Self {
        Self {
            asker: HistoryClient::new(past, metrics),
            kept: Mutex::default(),
        }
    }

    /// The pasts of the workloads of a query, in their order; `None` if a part cannot be had in
    /// time.
    pub(super) async fn of(
        &self,
        question: HistoryRequest<'_>,
        workloads: &[WorkloadName],
        span: Span,
        pace: &mut BackfillPace,
    ) -> Option<Vec<Steps>> {
        let of = workloads.iter();
        let of: Vec<_> = of
            .map(|workload| PastOf::new(question, workload, span))
            .collect();
        self.whole(question, of, clock::runtime() + LONGEST, pace)
            .await
    }

    /// The pasts of one workload for some queries, in order; `None` as above, and for all of them.
    pub(super) async fn of_all(
        &self,
        questions: &[HistoryRequest<'_>],
        workload: &WorkloadName,
        span: Span,
        pace: &mut BackfillPace,
    ) -> Option<Vec<Steps>> {
        let until = clock::runtime() + LONGEST;
        let mut all = Vec::new();
        for question in questions {
            let of = PastOf::new(*question, workload, span);
            let Some(past) = self.whole(*question, vec![of], until, pace).await else {
                let before = questions.iter().zip(all).map(|(question, steps)| {
                    let rest = BackfillRemainder::of(span.end, span.step, 0);
                    (
                        PastOf::new(*question, workload, span),
                        FitHistoryProgress { steps, rest },
                    )
                });
                self.keep(before);
                return None;
            };
            all.extend(past);
        }
        Some(all)
    }

    async fn whole(
        &self,
        question: HistoryRequest<'_>,
        of: Vec<PastOf>,
        until: Instant,
        pace: &mut BackfillPace,
    ) -> Option<Vec<Steps>> {
        let had = of.iter().map(|of| self.had(of));
        let mut had: Vec<FitHistoryProgress> = had.collect::<Option<_>>()?;
        // The query for a part that one of them lacks covers all of them.
        let mut rest = had
            .iter()
            .map(|had| had.rest)
            .max_by_key(BackfillRemainder::left)?;
        let asked = self.ask(question, &mut rest, pace, |answer| {
            for (of, had) in of.iter().zip(&mut had) {
                let points = match &answer {
                    HistoryResponse::Points(points) => Some(points),
                    HistoryResponse::Sums(sums) => {
                        of.workload.as_ref().and_then(|one| sums.sums.get(one))
                    }
                };
                if let Some(points) = points {
                    had.steps.take(points);
                }
            }
        });
        if let Ok(Some(())) = tokio::time::timeout_at(until, asked).await {
            return Some(had.into_iter().map(|had| had.steps).collect());
        }
        let had = had
            .into_iter()
            .map(|had| FitHistoryProgress { rest, ..had });
        self.keep(of.into_iter().zip(had));
        None
    }

    /// Asks for all that is left of a past; `None` where a part of it cannot be had.
    async fn ask(
        &self,
        question: HistoryRequest<'_>,
        rest: &mut BackfillRemainder,
        pace: &mut BackfillPace,
        mut take: impl FnMut(HistoryResponse),
    ) -> Option<()> {
        while let Some(answer) = self.asker.next_part(question, rest, pace).await {
            take(answer);
        }
        (rest.left() == 0).then_some(())
    }

    /// The kept part of a past, then removed, or an empty one; `None` for a past before all time.
    fn had(&self, of: &PastOf) -> Option<FitHistoryProgress> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept.iter().position(|kept| kept.of == *of);
        if let Some(kept) = place.and_then(|place| kept.remove(place)) {
            return Some(kept.had);
        }
        Some(FitHistoryProgress {
            steps: of.span.empty()?,
            rest: of.span.rest(),
        })
    }

    /// Keeps what was had, and forgets the oldest for it.
    fn keep(&self, had: impl Iterator<Item = (PastOf, FitHistoryProgress)>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let some = had.filter(|(of, had)| had.rest.left() < of.span.rest().left());
        kept.extend(some.map(|(of, had)| PartialFitHistory { of, had }));
        let too_many = kept.len().saturating_sub(KEPT);
        kept.drain(..too_many);
    }
}
