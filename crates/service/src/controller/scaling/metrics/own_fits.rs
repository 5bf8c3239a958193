//! Metrics of the fits of targets' own trees.

use std::time::Duration;

use evenkeel_units::words;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// Upper bounds in seconds: trees take a part of a second, networks some seconds.
const FITS: [f64; 9] = [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 5.0, 15.0, 60.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FitOutcomeLabel {
    outcome: &'static str,
}

#[derive(Debug, Clone, Default)]
pub(in crate::controller::scaling) struct TrafficFitMetrics {
    fits: Family<FitOutcomeLabel, Counter>,
}

words! {
    pub(in crate::controller::scaling) enum TrafficOutcome {
        /// The traffic explained a day that the model had not seen.
        Accepted = "Accepted",
        Refused = "Refused",
        /// Too little of the past is known.
        TooShort = "TooShort",
        NoPast = "NoPast",
        Failed = "Failed",
    }
}

impl TrafficFitMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "traffic_fits",
            "Fits of traffic models of targets, by outcome",
            self.fits.clone(),
        );
    }

    pub(in crate::controller::scaling) fn ended(&self, outcome: TrafficOutcome) {
        let outcome = outcome.as_str();
        self.fits.get_or_create(&FitOutcomeLabel { outcome }).inc();
    }
}

#[derive(Debug, Clone)]
pub(in crate::controller::scaling) struct FitMetrics {
    fits: Family<FitOutcomeLabel, Counter>,
    duration: Histogram,
}

words! {
    /// The end of a fit of a target's own trees, or of the model that it names.
    pub(in crate::controller::scaling) enum FitOutcome {
        /// It has trees that do no worse than what all targets share, or its model.
        Fitted = "Fitted",
        /// The model that all targets share does better.
        GlobalIsBetter = "GlobalIsBetter",
        /// Too little of the past is known.
        TooShort = "TooShort",
        NoPast = "NoPast",
        /// The network that it names is in no file that can be read.
        NoNetwork = "NoNetwork",
        /// The trees could not be grown.
        Failed = "Failed",
    }
}

impl Default for FitMetrics {
    fn default() -> Self {
        Self {
            fits: Family::default(),
            duration: Histogram::new(FITS),
        }
    }
}

impl FitMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "own_fits",
            "Fits of the targets' own trees and of the models that they name, by outcome",
            self.fits.clone(),
        );
        registry.register_with_unit(
            "own_fit_duration",
            "CPU time of a fit of a target's own trees (which are fitted twice) or of its model",
            Unit::Seconds,
            self.duration.clone(),
        );
    }

    pub(in crate::controller::scaling) fn ended(&self, outcome: FitOutcome) {
        let outcome = outcome.as_str();
        self.fits.get_or_create(&FitOutcomeLabel { outcome }).inc();
    }

    pub(in crate::controller::scaling) fn took(&self, took: Duration) {
        self.duration.observe(took.as_secs_f64());
    }
}
