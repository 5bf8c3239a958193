//! Metrics of scaling: of the loop, and of each target. Target metrics are written from the newest
//! state at each scrape, so ten thousand of them take no memory between scrapes, and a removed
//! target takes its series with it.

mod own_fits;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_objects::condition::ConditionStatus;
use evenkeel_scaling::recommend::decision_basis::DecisionBasis;
use evenkeel_scaling::status::scaling_status::{LoadStatus, ScalingStatus};
use evenkeel_scaling::tick::CronTally;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::status_store::StatusStore;
use crate::metrics::MetricsError;

pub(super) use self::own_fits::{FitMetrics, FitOutcome, TrafficFitMetrics, TrafficOutcome};

/// Upper bounds in seconds, from a few targets to far beyond ten thousand.
const TICKS: [f64; 8] = [0.001, 0.005, 0.02, 0.1, 0.25, 0.5, 1.0, 5.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ScalingOutcomeLabel {
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabel {
    state: &'static str,
}

#[derive(Debug, Clone)]
pub struct ScalingMetrics {
    ticks: Histogram,
    memory: Gauge,
    quarantined: Gauge,
    refill: Family<ScalingOutcomeLabel, Counter>,
    refilling: Gauge,
    own_fits: FitMetrics,
    traffic_fits: TrafficFitMetrics,
    restoring: Gauge,
    cron_hpas: Family<StateLabel, Gauge>,
    cron_runs: Family<ScalingOutcomeLabel, Counter>,
    board: StatusStore,
}

impl Default for ScalingMetrics {
    fn default() -> Self {
        Self {
            ticks: Histogram::new(TICKS),
            memory: Gauge::default(),
            quarantined: Gauge::default(),
            refill: Family::default(),
            refilling: Gauge::default(),
            own_fits: FitMetrics::default(),
            traffic_fits: TrafficFitMetrics::default(),
            restoring: Gauge::default(),
            cron_hpas: Family::default(),
            cron_runs: Family::default(),
            board: StatusStore::default(),
        }
    }
}

impl ScalingMetrics {
    /// Makes the families part of what `/metrics` shows.
    pub fn register(&self, registry: &mut Registry) {
        let own = registry.sub_registry_with_prefix("scaling");
        own.register_with_unit(
            "tick_duration",
            "Time that one tick over all targets took",
            Unit::Seconds,
            self.ticks.clone(),
        );
        own.register_with_unit(
            "memory",
            "Memory for the history of targets, their models and the rules of CronHPAs",
            Unit::Bytes,
            self.memory.clone(),
        );
        own.register(
            "targets_quarantined",
            "Targets that are paused because the work on them panicked",
            self.quarantined.clone(),
        );
        own.register(
            "refill_queries",
            "Queries to Prometheus for the history of targets, by outcome",
            self.refill.clone(),
        );
        own.register(
            "refilling",
            "Histories that are being read: of all targets of a namespace together, and of single \
             queries",
            self.refilling.clone(),
        );
        own.register(
            "restoring",
            "Objects whose bounds are not yet put back; on the leader, under writes: restore",
            self.restoring.clone(),
        );
        own.register(
            "cron_hpas",
            "CronHPAs in opted-in namespaces, by whether their crons are in effect; on the leader",
            self.cron_hpas.clone(),
        );
        own.register(
            "cron_runs",
            "Runs of CronHPAs that took place or were missed",
            self.cron_runs.clone(),
        );
        self.own_fits.register(own);
        self.traffic_fits.register(own);
        own.register_collector(Box::new(TargetCollector(self.board.clone())));
    }

    pub const fn board(&self) -> &StatusStore {
        &self.board
    }

    pub(super) fn ticked(&self, took: Duration, memory: usize, quarantined: usize) {
        self.ticks.observe(took.as_secs_f64());
        let gauge = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.memory.set(gauge(memory));
        self.quarantined.set(gauge(quarantined));
    }

    pub(super) fn crons(&self, tally: &CronTally) {
        let CronTally {
            followed,
            refused,
            made,
            missed,
        } = *tally;
        for (state, count) in [("followed", followed), ("refused", refused)] {
            let gauge = self.cron_hpas.get_or_create(&StateLabel { state });
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        for (outcome, count) in [("made", made), ("missed", missed)] {
            let runs = self
                .cron_runs
                .get_or_create(&ScalingOutcomeLabel { outcome });
            runs.inc_by(count);
        }
    }

    pub(super) fn restoring(&self, left: usize) {
        let left = i64::try_from(left).unwrap_or(i64::MAX);
        if self.restoring.set(left) > 0 && left == 0 {
            tracing::info!("all bounds are put back");
        }
    }

    pub(super) fn refill(&self, outcome: Result<(), &MetricsError>) {
        let outcome = outcome.map_or_else(MetricsError::reason, |()| "answered");
        self.refill
            .get_or_create(&ScalingOutcomeLabel { outcome })
            .inc();
    }

    pub(super) const fn own_fits(&self) -> &FitMetrics {
        &self.own_fits
    }

    pub(super) const fn traffic_fits(&self) -> &TrafficFitMetrics {
        &self.traffic_fits
    }

    /// Shows that a past is asked for while what it gives is held.
    pub(super) fn refilling(&self) -> BackfillGaugeGuard {
        self.refilling.inc();
        BackfillGaugeGuard(self.refilling.clone())
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
