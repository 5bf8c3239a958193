//! `leaderElection`, `writer`, `wake` and `log`: the behaviour of the process itself.

use std::time::Duration;

use evenkeel_objects::plan::election::Timing;
use evenkeel_objects::yaml_values::YamlText;
use evenkeel_placement::plan::headroom_wakeup;

use super::check::{Checker, NamedDuration};
use super::section::section;
use super::value::Count;
use crate::controller::{leadership, writer};
use crate::telemetry::{LogFilter, LogFormat, LogSettings};

section! {
    /// `leaderElection` as it is written.
    LeaderElectionSection {
        lease_name: String = "evenkeel".to_owned(),
        // With these a leader that is cut off is replaced within 15 s.
        lease_duration: YamlText = "10s".into(),
        renew_deadline: YamlText = "6s".into(),
        retry_period: YamlText = "2s".into(),
        identity: Option<YamlText> = None,
    }

    /// `writer` as it is written.
    WriterSection {
        queue: Count = Count(2000),
        timeout: YamlText = "3s".into(),
        qps: Count = Count(100),
        in_flight: Count = Count(8),
    }

    /// `wake` as it is written.
    WakeSection {
        min_interval: YamlText = "5s".into(),
    }

    /// `log` as it is written.
    LogSection {
        level: YamlText = "info".into(),
        format: LogFormat = LogFormat::default(),
    }
}

const LEASE: &str = "leaderElection.leaseDuration";
const RENEW: &str = "leaderElection.renewDeadline";
const RETRY: &str = "leaderElection.retryPeriod";
const TIMEOUT: &str = "writer.timeout";
/// The most concurrent writes: the API server shares its capacity among clients, and makes those
/// wait that ask for more.
const MOST_IN_FLIGHT: u32 = 16;
const MARGIN: &str = "leaderElection.leaseDuration minus leaderElection.renewDeadline";

impl LeaderElectionSection {
    pub(super) fn check(&self, check: &mut Checker) -> leadership::Settings {
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
        let lease = NamedDuration::new(LEASE, check.duration(LEASE, lease_duration));
        let renew = NamedDuration::new(RENEW, check.duration(RENEW, renew_deadline));
        let retry = NamedDuration::new(RETRY, check.duration(RETRY, retry_period));
        check.shorter(renew, lease);
        check.shorter(retry, renew);
        // The Lease object counts whole seconds.
        if lease.duration.subsec_nanos() != 0 {
            check.refuse_value(LEASE, lease.duration, "whole seconds");
        }
        leadership::Settings {
            lease_name: lease_name.clone(),
            timing: Timing {
                lease_duration: lease.duration.unsigned_abs(),
                renew_deadline: renew.duration.unsigned_abs(),
                retry_period: retry.duration.unsigned_abs(),
            },
            identity: identity.clone().map(|YamlText(name)| name),
        }
    }
}

impl WriterSection {
    /// A write under way when its sender stops being the leader must end before another replica can
    /// lead.
    pub(super) fn check(&self, timing: &Timing, check: &mut Checker) -> writer::Settings {
        let Self {
            queue,
            timeout,
            qps,
            in_flight,
        } = self;
        let timeout = check.duration(TIMEOUT, timeout);
        let margin = timing.lease_duration.saturating_sub(timing.renew_deadline);
        let margin = margin.try_into().unwrap_or_default();
        check.shorter(
            NamedDuration::new(TIMEOUT, timeout),
            NamedDuration::new(MARGIN, margin),
        );
        let qps = check.at_least_one("writer.qps", *qps).get();
        let Count(most) = *in_flight;
        if !(1..=MOST_IN_FLIGHT).contains(&most) {
            let accepted = format!("a whole number from 1 to {MOST_IN_FLIGHT}");
            check.refuse_value("writer.inFlight", most, &accepted);
        }
        writer::Settings {
            queue: check.at_least_one("writer.queue", *queue).get(),
            timeout: timeout.unsigned_abs(),
            pause: Duration::from_secs(1) / u32::try_from(qps).unwrap_or(u32::MAX),
            in_flight: usize::try_from(most).unwrap_or(1),
        }
    }
}

impl WakeSection {
    pub(super) fn check(&self, check: &mut Checker) -> headroom_wakeup::Settings {
        let Self { min_interval } = self;
        headroom_wakeup::Settings {
            min_interval: check.duration("wake.minInterval", min_interval),
            ..headroom_wakeup::Settings::default()
        }
    }
}

impl LogSection {
    pub(super) fn check(&self, check: &mut Checker) -> LogSettings {
        let Self { level, format } = self;
        let filter = level.as_ref().parse();
        LogSettings {
            filter: check.take("log.level", filter, LogFilter::default()),
            format: *format,
        }
    }
}
