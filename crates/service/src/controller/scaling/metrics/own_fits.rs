//! Metrics of the fits of targets' own trees.

use std::time::Duration;

use evenkeel_units::words;

use crate::telemetry::metric_families::families;

/// Upper bounds in seconds: trees take a part of a second, networks some seconds.
const FITS: [f64; 9] = [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 5.0, 15.0, 60.0];

families! {
    pub(in crate::controller::scaling) struct FitMetrics {
        fits: Counter[outcome] = "scaling_own_fits",
            "Fits of the targets' own trees and of the models that they name, by outcome";
        duration: Histogram(FITS) = "scaling_own_fit_duration" in Seconds,
            "CPU time of a fit of a target's own trees (which are fitted twice) or of its model";
        traffic_fits: Counter[outcome] = "scaling_traffic_fits",
            "Fits of traffic models of targets, by outcome";
    }
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

impl FitMetrics {
    pub(in crate::controller::scaling) fn ended(&self, outcome: FitOutcome) {
        self.fits(outcome.as_str()).inc();
    }

    pub(in crate::controller::scaling) fn took(&self, took: Duration) {
        self.duration.observe(took.as_secs_f64());
    }

    pub(in crate::controller::scaling) fn traffic_ended(&self, outcome: TrafficOutcome) {
        self.traffic_fits(outcome.as_str()).inc();
    }
}
