//! How many replicas a resource metric asks for.
//!
//! Pods that are not ready, or not measured, are assumed to use what makes the change smaller, and
//! what is assumed of them never turns its direction.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use evenkeel_core::units::{Amount, count_as_f64, replicas_ceil};

/// What a metric is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Hundredths of what Pods request.
    Utilization(i32),
    /// An amount per Pod.
    AverageValue(i64),
}

/// How far a ratio may be from 1 without effect, in each direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// On the way up.
    pub up: f64,
    /// On the way down.
    pub down: f64,
}

impl Tolerance {
    fn covers(self, ratio: f64) -> bool {
        (1.0 - self.down) <= ratio && ratio <= (1.0 + self.up)
    }
}

/// How long measurements of starting Pods are not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settling {
    /// After a Pod's start, cpu counts only once it is ready and was measured since.
    pub initialization: SignedDuration,
    /// A Pod that was never ready longer than this after its start has never been ready.
    pub readiness: SignedDuration,
}

/// `status.phase`, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodPhase {
    /// Not started.
    Pending,
    /// Failed for good.
    Failed,
    /// Anything else.
    Running,
}

/// The condition Ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Readiness {
    /// Whether it is False; Unknown is not.
    pub is_false: bool,
    /// Since when.
    pub since: Timestamp,
}

/// A Pod of the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodState {
    /// Its name.
    pub name: String,
    /// Its phase.
    pub phase: PodPhase,
    /// Whether it is being deleted.
    pub deleted: bool,
    /// `status.startTime`.
    pub started: Option<Timestamp>,
    /// The condition Ready, where it has one.
    pub ready: Option<Readiness>,
    /// What it requests of the resource; the error says which container does not.
    pub request: Result<i64, NoProposal>,
}

/// What a Pod uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    /// How much.
    pub value: i64,
    /// The end of the window that it is the mean of.
    pub at: Timestamp,
    /// The window's length.
    pub window: SignedDuration,
}

/// What a metric asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proposal {
    /// Replicas.
    pub replicas: i32,
    /// Hundredths of the requests, where the target is of that kind.
    pub utilization: Option<i32>,
    /// The mean over the Pods that count.
    pub average: i64,
}

/// Why a metric asks for nothing, in the controller's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoProposal {
    /// The target has no Pods.
    #[error("no pods returned by selector while calculating replica count")]
    NoPods,
    /// No Pod that counts is measured.
    #[error("did not receive metrics for targeted pods (pods might be unready)")]
    NoReadyMetrics,
    /// A container requests nothing of the resource.
    #[error("missing request for {resource} in container {container} of Pod {pod}")]
    MissingRequest {
        /// The resource.
        resource: String,
        /// The container.
        container: String,
        /// The Pod.
        pod: String,
    },
    /// A Pod has no such container.
    #[error("container {container} not found in Pod {pod}")]
    ContainerNotFound {
        /// The container.
        container: String,
        /// The Pod.
        pod: String,
    },
    /// What is measured is requested by nobody.
    #[error("no metrics returned matched known pods")]
    NoMatch,
}

/// Pods in the groups that count differently.
#[derive(Debug, Default)]
struct Groups<'a> {
    ready: usize,
    unready: Vec<&'a str>,
    missing: Vec<&'a str>,
    ignored: Vec<&'a str>,
}

/// What the Pods' usage asks for, from `current` replicas; `settling` for cpu only.
///
/// # Errors
/// Usage or requests that nothing can be computed from.
pub fn propose(
    current: i32,
    target: Target,
    tolerance: Tolerance,
    pods: &[PodState],
    (measured, settling, now): (&BTreeMap<String, Measured>, Option<Settling>, Timestamp),
) -> Result<Proposal, NoProposal> {
    if pods.is_empty() {
        return Err(NoProposal::NoPods);
    }
    let groups = group(pods, measured, settling, now);
    let mut values: BTreeMap<&str, i64> = measured
        .iter()
        .map(|(name, measured)| (name.as_str(), measured.value))
        .collect();
    values.retain(|name, _| !groups.ignored.contains(name) && !groups.unready.contains(name));
    if values.is_empty() {
        return Err(NoProposal::NoReadyMetrics);
    }
    let requests = match target {
        Target::Utilization(_) => requests(pods)?,
        Target::AverageValue(_) => BTreeMap::new(),
    };
    let (ratio, utilization, average) = usage(target, &values, &requests)?;
    let keep = |replicas| Proposal {
        replicas,
        utilization,
        average,
    };
    let up_with_unready = !groups.unready.is_empty() && ratio > 1.0;
    if !up_with_unready && groups.missing.is_empty() {
        let replicas = if tolerance.covers(ratio) {
            current
        } else {
            replicas_ceil(ratio * count_as_f64(groups.ready))
        };
        return Ok(keep(replicas));
    }
    assume(target, ratio, &groups, &requests, &mut values);
    let (adjusted, ..) = usage(target, &values, &requests)?;
    let turned = (ratio < 1.0 && adjusted > 1.0) || (ratio > 1.0 && adjusted < 1.0);
    if tolerance.covers(adjusted) || turned {
        return Ok(keep(current));
    }
    let replicas = replicas_ceil(adjusted * count_as_f64(values.len()));
    let against = (adjusted < 1.0 && replicas > current) || (adjusted > 1.0 && replicas < current);
    Ok(keep(if against { current } else { replicas }))
}

/// What Pods without a value of their own are taken to use.
fn assume<'a>(
    target: Target,
    ratio: f64,
    groups: &Groups<'a>,
    requests: &BTreeMap<&'a str, i64>,
    values: &mut BTreeMap<&'a str, i64>,
) {
    for &pod in &groups.missing {
        let request = requests.get(pod).copied().unwrap_or(0);
        let used = match target {
            _ if ratio > 1.0 => 0,
            // All that is requested, or the target where that is more.
            Target::Utilization(target) if ratio < 1.0 => {
                request.saturating_mul(i64::from(target.max(100))) / 100
            }
            Target::AverageValue(target) if ratio < 1.0 => target,
            // At the target itself there is nothing to hold back.
            Target::Utilization(_) | Target::AverageValue(_) => continue,
        };
        values.insert(pod, used);
    }
    if ratio > 1.0 {
        values.extend(groups.unready.iter().map(|&pod| (pod, 0)));
    }
}

fn requests(pods: &[PodState]) -> Result<BTreeMap<&str, i64>, NoProposal> {
    let of = |pod: &PodState| pod.request.clone();
    pods.iter()
        .map(|pod| Ok((pod.name.as_str(), of(pod)?)))
        .collect()
}

/// The ratio of what is used to the target, the utilisation, and the mean.
fn usage(
    target: Target,
    values: &BTreeMap<&str, i64>,
    requests: &BTreeMap<&str, i64>,
) -> Result<(f64, Option<i32>, i64), NoProposal> {
    let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX).max(1);
    match target {
        Target::Utilization(target) => {
            let known = values
                .iter()
                .filter_map(|(pod, value)| Some((value, requests.get(pod)?)));
            let (mut used, mut requested, mut pods) = (0_i64, 0_i64, 0_usize);
            for (value, request) in known {
                used = used.saturating_add(*value);
                requested = requested.saturating_add(*request);
                pods += 1;
            }
            if requested == 0 {
                return Err(NoProposal::NoMatch);
            }
            let utilization = used.saturating_mul(100) / requested;
            let utilization = i32::try_from(utilization).unwrap_or(i32::MAX);
            let ratio = f64::from(utilization) / f64::from(target);
            Ok((ratio, Some(utilization), used / count(pods)))
        }
        Target::AverageValue(target) => {
            let average = values.values().sum::<i64>() / count(values.len());
            Ok((as_f64(average) / as_f64(target), None, average))
        }
    }
}

fn as_f64(value: i64) -> f64 {
    let size = Amount::new(value.unsigned_abs()).as_f64();
    if value < 0 { -size } else { size }
}

fn group<'a>(
    pods: &'a [PodState],
    measured: &BTreeMap<String, Measured>,
    settling: Option<Settling>,
    now: Timestamp,
) -> Groups<'a> {
    let mut groups = Groups::default();
    for pod in pods {
        let name = pod.name.as_str();
        if pod.deleted || pod.phase == PodPhase::Failed {
            groups.ignored.push(name);
        } else if pod.phase == PodPhase::Pending {
            groups.unready.push(name);
        } else if let Some(measured) = measured.get(name) {
            if settling.is_some_and(|settling| is_settling(pod, measured, settling, now)) {
                groups.unready.push(name);
            } else {
                groups.ready += 1;
            }
        } else {
            groups.missing.push(name);
        }
    }
    groups
}

/// Whether what is measured of a Pod may still be its start.
fn is_settling(pod: &PodState, measured: &Measured, settling: Settling, now: Timestamp) -> bool {
    let (Some(ready), Some(started)) = (pod.ready, pod.started) else {
        return true;
    };
    if started + settling.initialization > now {
        // It is not ready, or a whole window since its last change is not measured yet.
        ready.is_false || measured.at < ready.since + measured.window
    } else {
        // It is not ready, and has never been.
        ready.is_false && started + settling.readiness > ready.since
    }
}
