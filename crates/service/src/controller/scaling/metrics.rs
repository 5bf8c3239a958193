//! Metrics of scaling: of the loop, and of each target. Target metrics are written from the newest
//! state at each scrape, so ten thousand of them take no memory between scrapes, and a removed
//! target takes its series with it.

mod own_fits;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_objects::condition::ConditionStatus;
use evenkeel_scaling::recommend::decision_basis::DecisionBasis;
use evenkeel_scaling::status::dashboard::{LoadStatus, ScalingStatus};
use evenkeel_scaling::tick::CronTally;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};

use super::status_store::StatusStore;
use crate::metrics::MetricsError;
use crate::telemetry::Registry;
use crate::telemetry::metric_families::{count, families};

pub(super) use self::own_fits::{FitMetrics, FitOutcome, TrafficOutcome};

/// Upper bounds in seconds, from a few targets to far beyond ten thousand.
const TICKS: [f64; 8] = [0.001, 0.005, 0.02, 0.1, 0.25, 0.5, 1.0, 5.0];

families! {
    struct TickMetrics {
        ticks: Histogram(TICKS) = "scaling_tick_duration" in Seconds,
            "Time that one tick over all targets took";
        memory: Gauge = "scaling_memory" in Bytes,
            "Memory for the history of targets, their models and the rules of CronHPAs";
        quarantined: Gauge = "scaling_targets_quarantined",
            "Targets that are paused because the work on them panicked";
        refill: Counter[outcome] = "scaling_refill_queries",
            "Queries to Prometheus for the history of targets, by outcome";
        refilling: Gauge = "scaling_refilling",
            "Histories that are being read: of all targets of a namespace together, and of single \
             queries";
        restoring: Gauge = "scaling_restoring",
            "Objects whose bounds are not yet put back; on the leader, under writes: restore";
        cron_hpas: Gauge[state] = "scaling_cron_hpas",
            "CronHPAs in opted-in namespaces, by whether their crons are in effect; on the leader";
        cron_runs: Counter[outcome] = "scaling_cron_runs",
            "Runs of CronHPAs that took place or were missed";
    }
}

#[derive(Debug, Clone, Default)]
pub struct ScalingMetrics {
    own: TickMetrics,
    fits: FitMetrics,
    board: StatusStore,
}

impl ScalingMetrics {
    /// Makes the families part of what `/metrics` shows.
    pub fn register(&self, registry: &mut Registry) {
        self.own.register(registry);
        self.fits.register(registry);
        let targets = Box::new(TargetCollector(self.board.clone()));
        registry
            .sub_registry_with_prefix("scaling")
            .register_collector(targets);
    }

    pub const fn board(&self) -> &StatusStore {
        &self.board
    }

    pub(super) fn ticked(&self, took: Duration, memory: usize, quarantined: usize) {
        self.own.ticks.observe(took.as_secs_f64());
        self.own.memory.set(count(memory));
        self.own.quarantined.set(count(quarantined));
    }

    pub(super) fn crons(&self, tally: &CronTally) {
        let CronTally {
            followed,
            refused,
            made,
            missed,
        } = *tally;
        for (state, hpas) in [("followed", followed), ("refused", refused)] {
            self.own.cron_hpas(state).set(count(hpas));
        }
        for (outcome, runs) in [("made", made), ("missed", missed)] {
            self.own.cron_runs(outcome).inc_by(runs);
        }
    }

    pub(super) fn restoring(&self, left: usize) {
        if self.own.restoring.set(count(left)) > 0 && left == 0 {
            tracing::info!("all bounds are put back");
        }
    }

    pub(super) fn refill(&self, outcome: Result<(), &MetricsError>) {
        let outcome = outcome.map_or_else(MetricsError::reason, |()| "answered");
        self.own.refill(outcome).inc();
    }

    pub(super) const fn fits(&self) -> &FitMetrics {
        &self.fits
    }

    /// Shows that a past is asked for while what it gives is held.
    pub(super) fn refilling(&self) -> BackfillGaugeGuard {
        self.own.refilling.inc();
        BackfillGaugeGuard(self.own.refilling.clone())
    }
}

#[derive(Debug)]
pub(super) struct BackfillGaugeGuard(Gauge);

impl Drop for BackfillGaugeGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// The targets, written from the newest picture.
#[derive(Debug)]
struct TargetCollector(StatusStore);

impl Collector for TargetCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let targets = self.0.targets();
        let mut families = Families {
            targets: &targets,
            encoder: &mut encoder,
        };
        families.forecasts()?;
        families.gauge(
            "target_replicas",
            "Replicas of the target: current, decided and floor",
            |shown| {
                let floor = shown.floor.map(|floor| floor.replicas);
                [
                    ("current", shown.current),
                    ("decided", shown.decided),
                    ("floor", floor),
                ]
                .into_iter()
                .filter_map(|(of, replicas)| Some((("of", of), f64::from(replicas?))))
                .collect()
            },
        )?;
        families.gauge(
            "target_grounds",
            "The basis of the decision is 1: forecast, traffic, d-hpa, reaction, portrait, \
             last-known or nothing",
            |shown| {
                let holds = |grounds| f64::from(u8::from(grounds == shown.grounds));
                DecisionBasis::ALL
                    .map(|of| (("grounds", of.as_str()), holds(of.as_str())))
                    .to_vec()
            },
        )?;
        families.conditions()?;
        families.decisions()
    }
}

struct Families<'a, 'e> {
    targets: &'a [Arc<ScalingStatus>],
    encoder: &'a mut DescriptorEncoder<'e>,
}

impl Families<'_, '_> {
    fn forecasts(&mut self) -> fmt::Result {
        self.loads("target_load", "The load, summed over the Pods", |load| {
            load.now
        })?;
        self.loads(
            "target_forecast",
            "The forecast load at the end of the horizon",
            |load| load.forecast.as_ref().map(|forecast| forecast.mean),
        )?;
        self.loads(
            "target_forecast_ratio",
            "The error of the forecasts relative to the naive forecast; below 1 is better",
            |load| load.trust.as_ref()?.ratio,
        )?;
        self.loads(
            "target_forecast_coverage",
            "The share of observations inside the 80 % interval",
            |load| load.trust.as_ref()?.coverage,
        )?;
        self.loads(
            "target_forecast_trusted",
            "1 while the forecast is trusted",
            |load| {
                load.trust
                    .as_ref()
                    .map(|trust| f64::from(u8::from(trust.trusted)))
            },
        )?;
        self.loads(
            "target_risk_asked",
            "The share of time in which its ready Pods may carry more than target and tolerance",
            |load| Some(load.risk.as_ref()?.asked),
        )?;
        self.loads(
            "target_risk_achieved",
            "The share of the last two days in which they did, or would have done with the \
             recommendation",
            |load| load.risk.as_ref()?.achieved,
        )
    }

    fn loads(
        &mut self,
        name: &str,
        help: &str,
        value: impl Fn(&LoadStatus) -> Option<f64>,
    ) -> fmt::Result {
        self.gauge(name, help, |shown| {
            let mut told: Vec<((&'static str, &str), f64)> = Vec::new();
            for load in &shown.loads {
                let label = ("resource", &*load.resource);
                // Two loads of one name, such as an object in two versions of its group, are one
                // series.
                if !told.iter().any(|(known, _)| *known == label) {
                    told.extend(value(load).map(|value| (label, value)));
                }
            }
            told
        })
    }

    fn conditions(&mut self) -> fmt::Result {
        self.gauge(
            "target_condition",
            "1 if a condition of the target is True, 0 if it is False",
            |shown| {
                let conditions = shown.conditions.iter();
                conditions
                    .map(|condition| {
                        let holds = f64::from(u8::from(condition.status == ConditionStatus::True));
                        (("condition", &*condition.kind), holds)
                    })
                    .collect()
            },
        )
    }

    fn gauge(
        &mut self,
        name: &str,
        help: &str,
        values: impl for<'s> Fn(&'s ScalingStatus) -> Vec<((&'static str, &'s str), f64)>,
    ) -> fmt::Result {
        let mut encoder = self
            .encoder
            .encode_descriptor(name, help, None, MetricType::Gauge)?;
        for status in self.targets {
            for (label, value) in values(status) {
                let labels = labels(status, label);
                ConstGauge::new(value).encode(encoder.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }

    fn decisions(&mut self) -> fmt::Result {
        let mut encoder = self.encoder.encode_descriptor(
            "target_decisions",
            "Decisions by the rule that limited them",
            None,
            MetricType::Counter,
        )?;
        for status in self.targets {
            for &(limited_by, count) in status.decisions.iter() {
                let labels = labels(status, ("limited_by", limited_by));
                ConstCounter::new(count).encode(encoder.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

fn labels<'a>(
    shown: &'a ScalingStatus,
    own: (&'static str, &'a str),
) -> [(&'static str, &'a str); 4] {
    [
        ("namespace", &*shown.namespace),
        ("kind", &*shown.object.kind),
        ("name", &*shown.object.name),
        own,
    ]
}

#[cfg(test)]
mod tests;
