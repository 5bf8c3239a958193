//! Queries a part of the past until there is an answer, at the database's pace.

use std::sync::Arc;

use evenkeel_clock as clock;
use evenkeel_metrics::signal::Signal;
use evenkeel_scaling::tracker::backfill_pace::{
    BackfillOutcome, BackfillPace, BackfillRemainder, BackfillStep, Slots,
};
use jiff::SignedDuration;

use super::history_source::{HistoryRequest, HistoryResponse, HistorySource};
use crate::controller::scaling::metrics::ScalingMetrics;
use crate::metrics::query_queue::{Backoff, LanePolicy};
use crate::metrics::query_turns::{QueryNumber, QueryTurns};

/// Questions for the past of queries. Each that waits is of another past that is read.
const QUERIES: LanePolicy = LanePolicy {
    at_once: 4,
    waiting: usize::MAX,
    slow_after: None,
    backoff: Backoff::Once,
};

pub(in crate::controller::scaling) struct HistoryClient {
    past: Arc<dyn HistorySource>,
    metrics: ScalingMetrics,
    queries: QueryTurns<QueryNumber>,
}

/// The end of asking for some slots.
enum HistoryFetchOutcome {
    Answered(HistoryResponse),
    /// Fewer slots are to be asked for.
    TooMuch,
    /// This part of the past cannot be had.
    NotToBeHad,
}

impl HistoryClient {
    pub(in crate::controller::scaling) fn new(
        past: Arc<dyn HistorySource>,
        metrics: ScalingMetrics,
    ) -> Self {
        Self {
            past,
            metrics,
            queries: QueryTurns::new(QUERIES),
        }
    }

    /// How long after a time its load is known.
    pub(in crate::controller::scaling) fn lag(&self, signal: &Signal) -> SignedDuration {
        self.past.lag(signal)
    }

    /// The newest part of what is left of a past, which is then no longer left; `None` where nothing
    /// is left, or it cannot be had.
    pub(in crate::controller::scaling) async fn next_part(
        &self,
        question: HistoryRequest<'_>,
        rest: &mut BackfillRemainder,
        pace: &mut BackfillPace,
    ) -> Option<HistoryResponse> {
        loop {
            let slots = rest.newest(pace.points())?;
            match self.ask(question, slots, pace).await {
                HistoryFetchOutcome::Answered(answer) => {
                    rest.took(slots.points);
                    return Some(answer);
                }
                HistoryFetchOutcome::TooMuch => {}
                HistoryFetchOutcome::NotToBeHad => return None,
            }
        }
    }

    /// Asks for some slots until there is an answer, or it is not to be had.
    async fn ask(
        &self,
        question: HistoryRequest<'_>,
        slots: Slots,
        pace: &mut BackfillPace,
    ) -> HistoryFetchOutcome {
        loop {
            // A place of the queries is held while one is asked, and not while it rests.
            let held = match question {
                HistoryRequest::Query(_) => self.queries.take(None).await.ok(),
                HistoryRequest::Sums(..) | HistoryRequest::Pods(_) => None,
            };
            let begun = clock::instant();
            let Some(answer) = question.ask(&*self.past, slots).await else {
                return HistoryFetchOutcome::NotToBeHad;
            };
            drop(held);
            self.metrics.refill(answer.as_ref().map(drop));
            let outcome = match &answer {
                Ok(answer) => BackfillOutcome::Answered {
                    series: answer.series(),
                    took: begun.elapsed(),
                },
                Err(error) => question.outcome(error, slots),
            };
            match (pace.after(slots.points, outcome), answer) {
                (BackfillStep::Take(rest), Ok(answer)) => {
                    tokio::time::sleep(rest).await;
                    return HistoryFetchOutcome::Answered(answer);
                }
                (BackfillStep::AskForLess, _) => return HistoryFetchOutcome::TooMuch,
                (BackfillStep::AskAgain(pause), answer) => {
                    let error = answer.err().map(|error| error.to_string());
                    tracing::debug!(
                        error,
                        ?pause,
                        "the history of the load will be queried again later"
                    );
                    tokio::time::sleep(pause).await;
                }
                (BackfillStep::GiveUp | BackfillStep::Take(_), answer) => {
                    let error = answer.err().map(|error| error.to_string());
                    tracing::warn!(error, %question, "the history of the load cannot be read");
                    return HistoryFetchOutcome::NotToBeHad;
                }
            }
        }
    }
}
