//! The series of a record: the cpu and the ready Pods of each workload at each step, and the mean
//! use of a Pod of the other resources.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use evenkeel_objects::pod_names::WorkloadName;
use evenkeel_sandbox::recording::{ClusterRecord, RecordSpan, WorkloadRecord};
use evenkeel_scaling::tracker::backfill_pace::BackfillRemainder;
use evenkeel_service::controller::scaling::history_backfill::{HistoryRequest, HistoryResponse};
use evenkeel_service::metrics::MetricsError;
use evenkeel_service::metrics::prometheus::{Grid, PrometheusSource, Workloads};
use evenkeel_terminal::output;
use evenkeel_units::{Resource, count_as_f64};
use futures::{StreamExt as _, TryStreamExt as _};
use jiff::{SignedDuration, Timestamp};

use crate::forecast::progress::Bar;
use crate::prometheus_history::{ask_all, is_of_all};

/// Workloads that are asked for at once.
const AT_ONCE: usize = 4;
/// Times of the means of one Pod.
const MEAN_TIMES: i64 = 96;
/// Millicores of a core.
const MILLI: f64 = 1000.0;

/// Reads the series of all workloads.
///
/// # Errors
/// Prometheus does not answer at all; a missing or refused series is noted in the record.
pub(super) async fn read(
    source: &PrometheusSource,
    record: &mut ClusterRecord,
) -> Result<(), MetricsError> {
    let namespaces: BTreeSet<String> = record
        .workloads
        .iter()
        .map(|one| one.namespace.clone())
        .collect();
    let mut unmeasured = BTreeSet::new();
    for namespace in namespaces {
        match means(source, &namespace, record).await {
            Ok(missing) => unmeasured.extend(missing),
            Err(error) if is_of_all(&error) => return Err(error),
            Err(_) => record.unread.namespaces.push(namespace),
        }
    }
    record.unread.resources = unmeasured.into_iter().map(Resource::noun).collect();
    let (span, count) = (record.span, count_as_f64(record.workloads.len()));
    let (mut bar, mut done, mut found) = (Bar::new(true), 0.0, BTreeMap::new());
    let mut answers = futures::stream::iter(record.workloads.iter().enumerate())
        .map(|(place, workload)| async move {
            match WorkloadSeries::read(source, workload, span).await {
                Err(error) if is_of_all(&error) => Err(error),
                series => Ok((place, series)),
            }
        })
        .buffer_unordered(AT_ONCE);
    let mut refused = Vec::new();
    while let Some((place, series)) = answers.try_next().await? {
        match series {
            Ok(series) => drop(found.insert(place, series)),
            Err(error) => refused.push((place, error)),
        }
        done += 1.0;
        bar.tell(done / count, "asking Prometheus");
    }
    drop(answers);
    bar.finish();
    if let Some((place, error)) = refused.first() {
        let WorkloadRecord {
            namespace, name, ..
        } = &record.workloads[*place];
        output::warn(&format!(
            "{namespace}/{name}: {error}; it is recorded without series"
        ));
    }
    record.unread.refused_workloads = refused.len();
    for (place, series) in found {
        let WorkloadSeries {
            load,
            ready,
            is_counted,
        } = series;
        record.unread.counts_by_series += usize::from(is_counted);
        let workload = &mut record.workloads[place];
        (workload.load, workload.ready) = (load, ready);
    }
    Ok(())
}

/// Fills the mean use of a Pod for the workloads of a namespace, and counts workloads that are gone.
/// Returns the resources that are not measured.
async fn means(
    source: &PrometheusSource,
    namespace: &str,
    record: &mut ClusterRecord,
) -> Result<Vec<Resource>, MetricsError> {
    let span = record.span;
    let step =
        SignedDuration::from_secs((span.length().as_secs() / MEAN_TIMES).max(span.step.as_secs()));
    let points = span.length().as_secs() / step.as_secs();
    let grid = Grid {
        first: span.from,
        step,
        points: u32::try_from(points).unwrap_or(1).max(1),
    };
    let within = [namespace];
    let mut unmeasured = Vec::new();
    let Some(pods) = source.workload_pods(Workloads::In(&within), grid).await else {
        return Ok(Resource::ALL.to_vec());
    };
    let pods = pods?.sums;
    let own = |one: &&mut WorkloadRecord| one.namespace == namespace;
    let names: BTreeSet<String> = record
        .workloads
        .iter_mut()
        .filter(own)
        .map(|one| one.reference())
        .collect();
    let gone = pods.keys().filter(|name| !names.contains(&*name.workload));
    record.unread.deleted_workloads += gone.count();
    for resource in Resource::ALL {
        if resource == Resource::Cpu {
            continue;
        }
        let sums = source
            .workload_sums(resource, Workloads::In(&within), grid)
            .await;
        let sums = sums.transpose()?.map(|sums| sums.sums).unwrap_or_default();
        if sums.is_empty() && !pods.is_empty() {
            unmeasured.push(resource);
        }
        for workload in record.workloads.iter_mut().filter(own) {
            workload.each[resource] = mean(&name(workload), &sums, &pods);
        }
    }
    Ok(unmeasured)
}

type Sums = HashMap<WorkloadName, Vec<(Timestamp, f64)>>;

/// The use of one Pod, over the times at which both the sum and the Pods are known.
fn mean(name: &WorkloadName, sums: &Sums, pods: &Sums) -> Option<f64> {
    let counts: HashMap<Timestamp, f64> = pods.get(name)?.iter().copied().collect();
    let (mut used, mut counted) = (0.0, 0.0);
    for (at, sum) in sums.get(name)? {
        if let Some(count) = counts.get(at) {
            used += sum;
            counted += count;
        }
    }
    (counted > 0.0).then(|| used / counted)
}

fn name(workload: &WorkloadRecord) -> WorkloadName {
    WorkloadName {
        namespace: workload.namespace.as_str().into(),
        workload: workload.reference().into(),
    }
}

/// Values by step.
struct WorkloadSeries {
    load: Vec<Option<f64>>,
    ready: Vec<Option<f64>>,
    /// Counted by series of Pods, because kube-state-metrics has none.
    is_counted: bool,
}

impl WorkloadSeries {
    async fn read(
        source: &PrometheusSource,
        workload: &WorkloadRecord,
        span: RecordSpan,
    ) -> Result<Self, MetricsError> {
        let (of, lag) = (name(workload), source.lag(Resource::Cpu));
        let mean = source.settled_mean_query(Resource::Cpu, &of);
        let mean = match &mean {
            Some(query) => values(source, query, span, lag).await?,
            None => vec![None; span.points()],
        };
        let mut ready = values(source, &ready_query(workload), span, SignedDuration::ZERO).await?;
        let sum = source.workload_query(Resource::Cpu, &of);
        let pods = sum.as_deref().and_then(|sum| sum.strip_prefix("sum("));
        let mut is_counted = false;
        if let (true, Some(pods)) = (ready.iter().all(Option::is_none), pods) {
            ready = values(source, &format!("count({pods}"), span, lag).await?;
            is_counted = ready.iter().any(Option::is_some);
        }
        let step = span.step.as_secs().max(1);
        let reach = (lag.as_secs() + step - 1) / step;
        Ok(Self {
            load: loads(&mean, &ready, usize::try_from(reach).unwrap_or(0)),
            ready,
            is_counted,
        })
    }
}

/// The load in millicores by step: the mean use of the Pods that had run for long enough, in cores, times the ready
/// Pods. A rate is a mean over `reach` steps before and after its time, so the counts are averaged over these too.
fn loads(mean: &[Option<f64>], ready: &[Option<f64>], reach: usize) -> Vec<Option<f64>> {
    let load = |(place, mean): (usize, &Option<f64>)| {
        let last = place.saturating_add(reach).min(ready.len().checked_sub(1)?);
        let around = ready.get(place.saturating_sub(reach)..=last)?;
        let known: Vec<f64> = around.iter().flatten().copied().collect();
        let pods = known.iter().sum::<f64>() / count_as_f64(known.len());
        (!known.is_empty()).then_some((*mean)? * MILLI * pods)
    };
    mean.iter().enumerate().map(load).collect()
}

fn ready_query(workload: &WorkloadRecord) -> String {
    let WorkloadRecord {
        namespace, name, ..
    } = workload;
    let kind = workload.kind.to_lowercase();
    format!(
        "max(kube_{kind}_status_replicas_ready{{$state,namespace=\"{namespace}\",{kind}=\"{name}\"}})"
    )
}

/// The values of a query by step, moved by how long after a time it is measured.
async fn values(
    source: &PrometheusSource,
    promql: &str,
    span: RecordSpan,
    lag: SignedDuration,
) -> Result<Vec<Option<f64>>, MetricsError> {
    let mut values = vec![None; span.points()];
    // A question asks for the middles of steps, and these are the steps' times here.
    let end = span.until.checked_add(lag.saturating_add(span.step / 2));
    let end = end.unwrap_or(span.until);
    let points = u32::try_from(values.len()).unwrap_or(u32::MAX);
    let rest = BackfillRemainder::of(end, span.step, points);
    let asked = ask_all(source, HistoryRequest::Query(promql), rest, |answer, _| {
        let HistoryResponse::Points(points) = answer else {
            return;
        };
        for (at, value) in points {
            let at = at.checked_sub(lag).unwrap_or(at);
            if let Some(place) = span.place(at) {
                values[place] = Some(value);
            }
        }
    });
    asked.await?;
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starting_pods_add_no_load_and_counts_change_as_slowly_as_rates() {
        let mean = [
            Some(0.5),
            Some(0.5),
            None,
            Some(0.4),
            Some(0.25),
            Some(0.25),
        ];
        let ready = [1.0, 1.0, 1.0, 2.0, 2.0, 2.0].map(Some);
        let found = loads(&mean, &ready, 1);
        let whole = |load: &Option<f64>| load.map(f64::round);
        let found: Vec<_> = found.iter().map(whole).collect();
        assert_eq!(
            found,
            [
                Some(500.0),
                Some(500.0),
                None,
                Some(667.0),
                Some(500.0),
                Some(500.0)
            ]
        );
        assert_eq!(loads(&mean, &[None; 6], 1), [None; 6]);
        assert!(loads(&[], &[], 1).is_empty());
    }
}
