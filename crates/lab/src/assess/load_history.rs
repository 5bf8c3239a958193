//! The past of loads, minute by minute, from Prometheus. A few queries run at a time, each for some
//! workloads of one namespace. A minute with more than one new Pod in fifty has no sum, because new
//! Pods may carry no load yet. Gaps of up to 15 minutes are filled with a line.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use evenkeel_forecast::BRIDGED;
use evenkeel_metrics::signal::Signal;
use evenkeel_objects::pod_names::WorkloadName;
use evenkeel_scaling::tracker::backfill_pace::BackfillRemainder;
use evenkeel_service::controller::scaling::HistorySource;
use evenkeel_service::controller::scaling::history_backfill::{HistoryRequest, HistoryResponse};
use evenkeel_service::metrics::MetricsError;
use evenkeel_service::metrics::prometheus::Workloads;
use evenkeel_units::count_as_f64;
use futures::{StreamExt as _, TryStreamExt as _};
use jiff::{SignedDuration, Timestamp};

use super::candidate::{AssessCandidate, ForecastableLoad, PastQuestion};
use crate::forecast::grid::TraceSample;
use crate::forecast::progress::Bar;
use crate::prometheus_history::{ask_all, is_of_all};

/// The time that the past of one question may take.
const MOST_TIME: Duration = Duration::from_mins(10);
const MINUTE: SignedDuration = SignedDuration::from_mins(1);
const MINUTES_A_DAY: u32 = 24 * 60;
/// Questions that are under way at once.
const AT_ONCE: usize = 4;
/// Workloads of one question.
const TOGETHER: usize = 25;

pub(super) struct Pasts {
    past: Arc<dyn HistorySource>,
    until: Timestamp,
    days: u32,
}

#[derive(Debug, Clone, Default)]
pub(super) struct LoadPast {
    /// Its minutes; the first and the last have a value.
    pub minutes: Vec<Minute>,
    /// The minutes that were measured.
    pub known: usize,
    /// Those of the others that were taken to lie on a line.
    pub bridged: usize,
    /// Why it could not be asked for to the end.
    pub failed: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Minute {
    pub at: Timestamp,
    pub load: Option<f64>,
}

/// A workload with the place of its load.
type IndexedWorkload = (usize, WorkloadName);

/// A question with the places of the loads that it is for.
#[derive(Debug)]
enum PastLoadQuery {
    Sums(Signal, Vec<IndexedWorkload>),
    Query(usize, Arc<str>),
}

type PastLoadPoints = Vec<(usize, Vec<(Timestamp, f64)>, Option<String>)>;

impl Pasts {
    pub(super) fn new(past: Arc<dyn HistorySource>, until: Timestamp, days: u32) -> Self {
        Self { past, until, days }
    }

    /// Each candidate with the past of its load, where it has a load.
    ///
    /// # Errors
    /// Prometheus does not answer.
    pub(super) async fn of(
        &self,
        candidates: Vec<AssessCandidate>,
    ) -> Result<Vec<(AssessCandidate, Option<LoadPast>)>, MetricsError> {
        let asked = asked(&candidates);
        let (all, mut done, mut bar) = (count_as_f64(asked.len()), 0.0, Bar::new(true));
        let mut pasts: HashMap<usize, LoadPast> = HashMap::new();
        let mut answers = futures::stream::iter(&asked)
            .map(|asked| self.ask(asked))
            .buffer_unordered(AT_ONCE);
        while let Some(found) = answers.try_next().await? {
            let found = found.into_iter();
            pasts.extend(
                found.map(|(place, points, failed)| (place, self.minutes(&points, failed))),
            );
            done += 1.0;
            bar.tell(done / all, "asking Prometheus");
        }
        bar.finish();
        let places = candidates.into_iter().enumerate();
        Ok(places
            .map(|(place, candidate)| (candidate, pasts.remove(&place)))
            .collect())
    }

    /// The whole past of the loads of a question. One that is refused is told of its loads alone.
    async fn ask(&self, asked: &PastLoadQuery) -> Result<PastLoadPoints, MetricsError> {
        let mut found: BTreeMap<usize, Vec<(Timestamp, f64)>> = BTreeMap::new();
        let asking = match asked {
            PastLoadQuery::Query(place, query) => {
                let points = found.entry(*place).or_default();
                self.parts_in_time(HistoryRequest::Query(query), |answer| {
                    if let HistoryResponse::Points(part) = answer {
                        points.extend(part);
                    }
                })
                .await
            }
            PastLoadQuery::Sums(signal, loads) => {
                found.extend(loads.iter().map(|(place, _)| (*place, Vec::new())));
                let names: Vec<_> = loads.iter().map(|(_, name)| name.clone()).collect();
                let question = HistoryRequest::Sums(signal, Workloads::These(&names));
                self.parts_in_time(question, |answer| {
                    let HistoryResponse::Sums(mut sums) = answer else {
                        return;
                    };
                    for (place, name) in loads {
                        let part = sums.sums.remove(name).unwrap_or_default();
                        found.entry(*place).or_default().extend(part);
                    }
                })
                .await
            }
        };
        let failed = match asking {
            Ok(Ok(())) => None,
            Ok(Err(error)) if is_of_all(&error) => return Err(error),
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some(format!(
                "there was no complete answer within {} minutes",
                MOST_TIME.as_secs() / 60
            )),
        };
        let found = found.into_iter();
        Ok(found
            .map(|(place, points)| (place, points, failed.clone()))
            .collect())
    }

    /// All minutes, within a time limit: a server that answers a few points at a time would block
    /// others for days.
    async fn parts_in_time(
        &self,
        question: HistoryRequest<'_>,
        mut take: impl FnMut(HistoryResponse),
    ) -> Result<Result<(), MetricsError>, tokio::time::error::Elapsed> {
        let rest = BackfillRemainder::of(self.end(&question), MINUTE, self.days * MINUTES_A_DAY);
        tokio::time::timeout(
            MOST_TIME,
            ask_all(&*self.past, question, rest, |answer, _| take(answer)),
        )
        .await
    }

    /// The end of the last minute for which the load is known by now.
    fn end(&self, question: &HistoryRequest<'_>) -> Timestamp {
        let lag = match question {
            HistoryRequest::Sums(signal, _) => self.past.lag(signal),
            HistoryRequest::Pods(_) => self.past.lag(&Signal::CPU),
            HistoryRequest::Query(_) => SignedDuration::ZERO,
        };
        let end = self.until.checked_sub(lag).unwrap_or(self.until);
        let whole = end.as_second().div_euclid(60) * 60;
        Timestamp::from_second(whole).unwrap_or(end)
    }

    fn minutes(&self, points: &[(Timestamp, f64)], failed: Option<String>) -> LoadPast {
        let minute = |at: Timestamp| at.as_second().div_euclid(60);
        let times = points.iter().map(|(at, _)| minute(*at));
        let (Some(first), Some(last)) = (times.clone().min(), times.max()) else {
            return LoadPast {
                failed,
                ..LoadPast::default()
            };
        };
        let most = usize::try_from(self.days * MINUTES_A_DAY).unwrap_or(usize::MAX);
        let count = usize::try_from(last - first + 1).unwrap_or(0).min(most + 1);
        let mut loads = vec![None; count];
        for (at, load) in points {
            let place = usize::try_from(minute(*at) - first).ok();
            if let Some(place) = place.and_then(|place| loads.get_mut(place)) {
                *place = Some(*load);
            }
        }
        let known = loads.iter().flatten().count();
        let bridged = bridge(&mut loads);
        let at = |minute: i64| Timestamp::from_second(minute * 60 + 30).ok();
        let minutes = (first..).zip(loads).filter_map(|(minute, load)| {
            let at = at(minute)?;
            Some(Minute { at, load })
        });
        LoadPast {
            minutes: minutes.collect(),
            known,
            bridged,
            failed,
        }
    }
}

impl LoadPast {
    pub(super) fn samples(&self) -> Vec<TraceSample> {
        let minutes = self.minutes.iter();
        let sample = |minute: &Minute| TraceSample {
            at: minute.at,
            value: minute.load,
        };
        minutes.map(sample).collect()
    }
}

/// The questions for all loads: those of workloads of one namespace and signal together.
fn asked(candidates: &[AssessCandidate]) -> Vec<PastLoadQuery> {
    let mut asked = Vec::new();
    let mut together: BTreeMap<(Arc<str>, Signal), Vec<IndexedWorkload>> = BTreeMap::new();
    for (place, candidate) in candidates.iter().enumerate() {
        let Ok(ForecastableLoad { signal, past, .. }) = &candidate.load else {
            continue;
        };
        match past {
            PastQuestion::Query(query) => {
                asked.push(PastLoadQuery::Query(place, Arc::clone(query)));
            }
            PastQuestion::Workload(name) => {
                let key = (Arc::clone(&candidate.namespace), signal.clone());
                together.entry(key).or_default().push((place, name.clone()));
            }
        }
    }
    for ((_, signal), loads) in together {
        let parts = loads.chunks(TOGETHER);
        asked.extend(parts.map(|part| PastLoadQuery::Sums(signal.clone(), part.to_vec())));
    }
    asked
}

/// Puts short holes on a line between their neighbours, and gives how many minutes these were.
fn bridge(loads: &mut [Option<f64>]) -> usize {
    let mut bridged = 0;
    let mut last: Option<(usize, f64)> = None;
    for place in 0..loads.len() {
        let Some(load) = loads[place] else { continue };
        if let Some((from, before)) = last {
            let hole = place - from - 1;
            if MINUTE * i32::try_from(hole + 1).unwrap_or(i32::MAX) <= BRIDGED {
                for step in 1..=hole {
                    let share = count_as_f64(step) / count_as_f64(hole + 1);
                    loads[from + step] = Some(before + (load - before) * share);
                }
                bridged += hole;
            }
        }
        last = Some((place, load));
    }
    bridged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_holes_lie_on_a_line_and_long_ones_stay() {
        let mut loads = vec![None, Some(1.0), None, None, Some(4.0)];
        // As many minutes as lie between neighbours that are bridged in service too, and one more.
        loads.extend([None; 14]);
        loads.push(Some(4.0));
        loads.extend([None; 15]);
        loads.push(Some(9.0));
        assert_eq!(bridge(&mut loads), 16);
        assert_eq!(
            loads[..5],
            [None, Some(1.0), Some(2.0), Some(3.0), Some(4.0)]
        );
        assert_eq!(loads[5..20], [Some(4.0); 15]);
        assert!(loads[20..35].iter().all(Option::is_none));
        assert_eq!(bridge(&mut []), 0);
    }
}
