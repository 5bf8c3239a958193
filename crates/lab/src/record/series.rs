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
        let lag = source.lag(Resource::Cpu);
        let query = source.workload_query(Resource::Cpu, &name(workload));
        let mut load = match &query {
            Some(query) => values(source, query, span, lag).await?,
            None => vec![None; span.points()],
        };
        load.iter_mut().flatten().for_each(|cores| *cores *= MILLI);
        let ready = values(source, &ready_query(workload), span, SignedDuration::ZERO).await?;
        let count = query
            .as_deref()
            .and_then(|query| query.strip_prefix("sum("));
        if let (true, Some(pods)) = (ready.iter().all(Option::is_none), count) {
            let counted = values(source, &format!("count({pods}"), span, lag).await?;
            return Ok(Self {
                is_counted: counted.iter().any(Option::is_some),
                ready: counted,
                load,
            });
        }
        Ok(Self {
            load,
            ready,
            is_counted: false,
        })
    }
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
