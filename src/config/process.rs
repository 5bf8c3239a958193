//! `leaderElection`, `writer`, `wake` and `log`: how the process itself behaves.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::check::Checker;
use super::value::{Count, Text};
use crate::controller::writer;
use crate::telemetry::LogFilter;

/// `leaderElection` as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    default,
    expecting = "a mapping of fields"
)]
pub struct LeaderElectionFile {
    lease_name: String,
    lease_duration: Text,
    renew_deadline: Text,
    retry_period: Text,
    identity: Option<Text>,
}

impl Default for LeaderElectionFile {
    fn default() -> Self {
        Self {
            lease_name: "evenkeel".to_owned(),
            // With these a leader that is cut off is replaced within 15 s.
            lease_duration: "10s".into(),
            renew_deadline: "6s".into(),
            retry_period: "2s".into(),
            identity: None,
        }
    }
}

/// Which replica writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderElection {
    /// The Lease.
    pub lease_name: String,
    /// How long a leader that is not heard of stays one.
    pub lease_duration: SignedDuration,
    /// How long a leader tries to renew before it gives up.
    pub renew_deadline: SignedDuration,
    /// The pause between tries.
    pub retry_period: SignedDuration,
    /// This replica's name in the Lease; the host name where it is not given.
    pub identity: Option<String>,
}

const LEASE: &str = "leaderElection.leaseDuration";
const RENEW: &str = "leaderElection.renewDeadline";
const RETRY: &str = "leaderElection.retryPeriod";
const TIMEOUT: &str = "writer.timeout";
const MARGIN: &str = "leaderElection.leaseDuration minus leaderElection.renewDeadline";

impl LeaderElectionFile {
    pub(crate) fn check(&self, check: &mut Checker) -> LeaderElection {
        let Self {
            lease_name,
            lease_duration,
            renew_deadline,
            retry_period,
            identity,
        } = self;
        if lease_name.is_empty() {
            check.refuse_value(
                "leaderElection.leaseName",
                lease_name,
                "the name of a Lease",
            );
        }
        let lease_duration = check.duration(LEASE, lease_duration);
        let renew_deadline = check.duration(RENEW, renew_deadline);
        let retry_period = check.duration(RETRY, retry_period);
        check.shorter((RENEW, renew_deadline), (LEASE, lease_duration));
        check.shorter((RETRY, retry_period), (RENEW, renew_deadline));
        // The Lease object counts whole seconds.
        if lease_duration.subsec_nanos() != 0 {
            check.refuse_value(LEASE, lease_duration, "whole seconds");
        }
        LeaderElection {
            lease_name: lease_name.clone(),
            lease_duration,
            renew_deadline,
            retry_period,
            identity: identity.clone().map(|Text(name)| name),
        }
    }
}

/// `writer` as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    default,
    expecting = "a mapping of fields"
)]
pub struct WriterFile {
    queue: Count,
    timeout: Text,
    qps: Count,
}

impl Default for WriterFile {
    fn default() -> Self {
        let writer::Settings {
            queue,
            timeout,
            pause,
        } = writer::Settings::default();
        let timeout = SignedDuration::try_from(timeout).unwrap_or(SignedDuration::MAX);
        let qps = 1000 / pause.as_millis().max(1);
        Self {
            queue: Count(u32::try_from(queue).unwrap_or(u32::MAX)),
            timeout: Text(format!("{timeout:#}")),
            qps: Count(u32::try_from(qps).unwrap_or(u32::MAX)),
        }
    }
}

/// How writes reach the API server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Writer {
    /// Writes that may wait; further ones are dropped and planned again later.
    pub queue: u32,
    /// How long one write may take.
    pub timeout: SignedDuration,
    /// The most writes in a second.
    pub qps: u32,
}

impl WriterFile {
    /// A write may still be under way when its sender stops being the leader, and must have ended
    /// before another replica can be.
    pub(crate) fn check(&self, election: &LeaderElection, check: &mut Checker) -> Writer {
        let Self {
            queue,
            timeout,
            qps,
        } = self;
        let timeout = check.duration(TIMEOUT, timeout);
        let margin = election.lease_duration - election.renew_deadline;
        check.shorter((TIMEOUT, timeout), (MARGIN, margin));
        Writer {
            queue: check.at_least_one("writer.queue", *queue),
            timeout,
            qps: check.at_least_one("writer.qps", *qps),
        }
    }
}

/// `wake` as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    default,
    expecting = "a mapping of fields"
)]
pub struct WakeFile {
    min_interval: Text,
}

impl Default for WakeFile {
    fn default() -> Self {
        Self {
            min_interval: "5s".into(),
        }
    }
}

/// How Pods that were refused are woken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wake {
    /// The shortest time between two wakes, each of which makes kube-scheduler try all of them.
    pub min_interval: SignedDuration,
}

impl WakeFile {
    pub(crate) fn check(&self, check: &mut Checker) -> Wake {
        let Self { min_interval } = self;
        Wake {
            min_interval: check.duration("wake.minInterval", min_interval),
        }
    }
}

/// `log` as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    default,
    expecting = "a mapping of fields"
)]
pub struct LogFile {
    level: Text,
    format: LogFormat,
}

impl Default for LogFile {
    fn default() -> Self {
        Self {
            level: "info".into(),
            format: LogFormat::default(),
        }
    }
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// One JSON object a line.
    Json,
    /// For people.
    #[default]
    Text,
}

/// What is logged, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// A level, or levels by module such as `info,evenkeel::extender=debug`; it parses as a
    /// [`LogFilter`].
    pub level: String,
    /// How lines look.
    pub format: LogFormat,
}

impl LogFile {
    pub(crate) fn check(&self, check: &mut Checker) -> Log {
        let Self { level, format } = self;
        if let Err(error) = level.as_ref().parse::<LogFilter>() {
            check.refuse("log.level", error);
        }
        Log {
            level: level.0.clone(),
            format: *format,
        }
    }
}
