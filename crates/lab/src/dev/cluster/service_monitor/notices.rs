//! From the service's metrics to notices for a person: what is unusual, and how the service reacts.

use jiff::SignedDuration;

use crate::dev::cluster::events::DevServiceNotice;
use evenkeel_service::metrics::exposition::{Exposition, ExpositionLabels};

/// The counts of the last look.
#[derive(Debug, Default)]
pub(super) struct Notices {
    failures: Option<f64>,
    /// Questions have failed since the last sample came, which was so old at the last look.
    failing: Option<f64>,
    interrupted: Option<f64>,
    /// The watches were interrupted; how many looks ago that was noticed.
    resyncing: Option<u32>,
}

/// When the first sample is due: rates need two scrapes, and the service asks every 15 s.
pub(super) const FIRST_SAMPLE: SignedDuration = SignedDuration::from_mins(1);
/// Age in seconds up to which a sample may have missed one scrape and one question.
const OLD: f64 = 30.0;

/// For how many looks it is said that the watches are in sync again.
const RESYNCED: u32 = 5;

const FAILURES: &str = "evenkeel_metrics_query_failures_total";
const AGE: &str = "evenkeel_metrics_sample_age_seconds";
const NODES: &str = "evenkeel_metrics_nodes";
const WATCHES: &str = "evenkeel_watch_events_total";
const SYNCED: &str = "evenkeel_watch_synced";
const WRITES: &str = "evenkeel_writes_enabled";
const LEADER: &str = "evenkeel_leader";

impl Notices {
    /// The notices at a time of the scenario, the same things in the same order.
    pub(super) fn of(
        &mut self,
        metrics: Option<&Exposition>,
        at: SignedDuration,
    ) -> Vec<DevServiceNotice> {
        let Some(metrics) = metrics else {
            return vec![notice("service", "its metrics do not answer".to_owned())];
        };
        let found = [
            self.metrics(metrics, at),
            self.watches(metrics),
            off(metrics, LEADER)
                .then(|| notice("leadership", "not leading: nothing is written".to_owned())),
            off(metrics, WRITES).then(|| {
                notice(
                    "writes",
                    "skipped: writes are disabled (writes: disabled)".to_owned(),
                )
            }),
        ];
        found.into_iter().flatten().collect()
    }

    /// The notice about queries that fail, and about nodes with a stale last sample.
    fn metrics(&mut self, metrics: &Exposition, at: SignedDuration) -> Option<DevServiceNotice> {
        let failures = metrics.sum(FAILURES, &[]).unwrap_or(0.0);
        let before = self.failures.replace(failures);
        let stale = largest(metrics, NODES, &[("freshness", "stale")]);
        let stale = stale.filter(|nodes| *nodes >= 1.0);
        let age = largest(metrics, AGE, &[]).unwrap_or(0.0);
        let none_yet = !is_measured(metrics);
        let failed = before.is_some_and(|before| failures > before);
        // A look between two questions that fail has no new failure, and no newer sample either.
        let failing = failed || self.failing.is_some_and(|before| none_yet || age >= before);
        self.failing = failing.then_some(if none_yet { f64::INFINITY } else { age });
        let text = match stale {
            Some(nodes) => format!("stale {age:.0} s on {nodes:.0} nodes: placing by requests"),
            None if failing && none_yet && at >= FIRST_SAMPLE => {
                "not there yet: placing by requests".to_owned()
            }
            None if failing && !none_yet && age >= OLD => {
                format!("failing, {age:.0} s old: placing by the last sample")
            }
            None => return None,
        };
        Some(notice("metrics", text))
    }

    /// Watches that broke off, and that they are in sync again.
    fn watches(&mut self, metrics: &Exposition) -> Option<DevServiceNotice> {
        let errors = metrics.sum(WATCHES, &[("outcome", "error")]).unwrap_or(0.0);
        let before = self.interrupted.replace(errors);
        let synced = metrics.values(SYNCED, &[]).all(|synced| synced >= 1.0);
        let broken = before.is_some_and(|before| errors > before) || !synced;
        if broken {
            self.resyncing = Some(0);
            let text = "interrupted: acting on the last known objects".to_owned();
            return Some(notice("watches", text));
        }
        let looks = self.resyncing?;
        self.resyncing = Some(looks + 1).filter(|looks| *looks < RESYNCED);
        Some(notice("watches", "resynced".to_owned()))
    }
}

/// True where nodes have a measurement that is believed, or the service does not say.
pub(super) fn is_measured(metrics: &Exposition) -> bool {
    largest(metrics, NODES, &[("freshness", "fresh")]).is_none_or(|nodes| nodes >= 1.0)
}

fn off(metrics: &Exposition, gauge: &str) -> bool {
    largest(metrics, gauge, &[]).is_some_and(|value| value < 1.0)
}

fn largest(metrics: &Exposition, name: &str, labels: ExpositionLabels<'_>) -> Option<f64> {
    metrics.values(name, labels).reduce(f64::max)
}

fn notice(about: &'static str, text: String) -> DevServiceNotice {
    DevServiceNotice { about, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WELL: &str = "evenkeel_metrics_query_failures_total{query=\"all\"} 3\n\
        evenkeel_metrics_sample_age_seconds 40\n\
        evenkeel_metrics_nodes{resource=\"cpu\",freshness=\"stale\"} 0\n\
        evenkeel_watch_events_total{kind=\"pod\",outcome=\"error\"} 1\n\
        evenkeel_watch_synced{kind=\"pod\"} 1\n\
        evenkeel_leader 1\nevenkeel_writes_enabled 1\n";

    fn said(notices: &mut Notices, text: &str) -> Vec<String> {
        let metrics = Exposition::parse(text);
        let on = notices.of(Some(&metrics), FIRST_SAMPLE);
        on.iter()
            .map(|notice| format!("{} {}", notice.about, notice.text))
            .collect()
    }

    #[test]
    fn what_is_as_usual_is_not_said() {
        let mut notices = Notices::default();
        // Counts from before the first look cause no notice.
        assert!(said(&mut notices, WELL).is_empty());
        assert!(said(&mut notices, WELL).is_empty());
    }

    #[test]
    fn metrics_fail_then_grow_stale() {
        let mut notices = Notices::default();
        said(&mut notices, WELL);
        let failing = WELL.replace("all\"} 3", "all\"} 4");
        assert_eq!(
            said(&mut notices, &failing),
            ["metrics failing, 40 s old: placing by the last sample"]
        );
        let stale = failing
            .replace("stale\"} 0", "stale\"} 6")
            .replace("seconds 40", "seconds 180");
        assert_eq!(
            said(&mut notices, &stale),
            ["metrics stale 180 s on 6 nodes: placing by requests"]
        );
    }

    #[test]
    fn metrics_fail_until_a_newer_sample_is_there() {
        let mut notices = Notices::default();
        said(&mut notices, WELL);
        let failing = WELL.replace("all\"} 3", "all\"} 4");
        said(&mut notices, &failing);
        let later = failing.replace("age_seconds 40", "age_seconds 60");
        assert_eq!(
            said(&mut notices, &later),
            ["metrics failing, 60 s old: placing by the last sample"]
        );
        let newer = failing.replace("age_seconds 40", "age_seconds 0");
        assert!(said(&mut notices, &newer).is_empty());
        assert!(said(&mut notices, &later).is_empty());
    }

    #[test]
    fn metrics_that_were_never_there_are_not_called_old() {
        let none =
            format!("{WELL}evenkeel_metrics_nodes{{resource=\"cpu\",freshness=\"fresh\"}} 0\n");
        let mut notices = Notices::default();
        said(&mut notices, &none);
        assert_eq!(
            said(&mut notices, &none.replace("all\"} 3", "all\"} 4")),
            ["metrics not there yet: placing by requests"]
        );
        let first = WELL.replace("all\"} 3", "all\"} 4");
        assert!(said(&mut notices, &first).is_empty());
    }

    /// The harm: the first screen of every run told of metrics that fail.
    #[test]
    fn metrics_do_not_fail_before_their_first_sample_is_due_nor_while_it_is_new() {
        let none =
            format!("{WELL}evenkeel_metrics_nodes{{resource=\"cpu\",freshness=\"fresh\"}} 0\n");
        let mut notices = Notices::default();
        for failures in 3..8 {
            let text = none.replace("all\"} 3", &format!("all\"}} {failures}"));
            let metrics = Exposition::parse(&text);
            let early = SignedDuration::from_secs(45);
            assert_eq!(notices.of(Some(&metrics), early), []);
        }
        let new = WELL.replace("all\"} 3", "all\"} 9");
        let new = new.replace("age_seconds 40", "age_seconds 3");
        assert!(said(&mut notices, &new).is_empty());
    }

    #[test]
    fn watches_are_interrupted_and_resynced() {
        let mut notices = Notices::default();
        said(&mut notices, WELL);
        let errors = WELL.replace("error\"} 1", "error\"} 2");
        let interrupted = "watches interrupted: acting on the last known objects";
        assert_eq!(said(&mut notices, &errors), [interrupted]);
        for _ in 0..RESYNCED {
            assert_eq!(said(&mut notices, &errors), ["watches resynced"]);
        }
        assert!(said(&mut notices, &errors).is_empty());
        let apart = errors.replace("synced{kind=\"pod\"} 1", "synced{kind=\"pod\"} 0");
        assert_eq!(said(&mut notices, &apart), [interrupted]);
    }

    #[test]
    fn a_service_that_may_not_write_or_does_not_answer_is_told() {
        let mut notices = Notices::default();
        let text = WELL
            .replace("leader 1", "leader 0")
            .replace("enabled 1", "enabled 0");
        assert_eq!(said(&mut notices, &text).len(), 2);
        let none = notices.of(None, FIRST_SAMPLE);
        assert_eq!(none[0].about, "service");
    }
}
