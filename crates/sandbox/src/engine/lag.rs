//! How long wanted Pods took to be on a node, in time of the scenario. A real control plane takes
//! milliseconds, which count many times over if the scenario runs faster than the clock. The run
//! without Evenkeel gets the same lags, Pod for Pod, so that the two differ in decisions only.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde::Serialize;

use crate::autoscaler;

/// By namespace and name of the workload, in the order of the Pods.
#[derive(Debug, Clone, PartialEq)]
pub struct Lags {
    /// Interval of an HPA's looks.
    pub sync: SignedDuration,
    pods: BTreeMap<(String, String), Vec<SignedDuration>>,
}

/// In seconds of the scenario.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct LagSummary {
    /// Measured Pods: those that no node refused.
    pub pods: usize,
    pub mean_seconds: f64,
    pub longest_seconds: f64,
}

impl Default for Lags {
    /// A control plane without delay.
    fn default() -> Self {
        Self {
            sync: autoscaler::SYNC,
            pods: BTreeMap::new(),
        }
    }
}

impl Lags {
    pub fn new(sync: SignedDuration) -> Self {
        Self {
            sync,
            ..Self::default()
        }
    }

    /// Lag of the workload's next Pod.
    pub fn record(&mut self, namespace: &str, name: &str, lag: SignedDuration) {
        let key = (namespace.to_owned(), name.to_owned());
        self.pods.entry(key).or_default().push(lag);
    }

    /// Lag of a workload's Pod number `before`; if the run had fewer Pods, the mean of the
    /// workload, or of all.
    pub fn of(&self, namespace: &str, name: &str, before: usize) -> SignedDuration {
        let own = self.pods.get(&(namespace.to_owned(), name.to_owned()));
        let known = own.and_then(|lags| lags.get(before).copied());
        known
            .or_else(|| mean(own?.iter()))
            .or_else(|| mean(self.pods.values().flatten()))
            .unwrap_or_default()
    }

    pub fn summary(&self) -> LagSummary {
        let all = || self.pods.values().flatten();
        let seconds = |lag: Option<SignedDuration>| lag.unwrap_or_default().as_secs_f64();
        LagSummary {
            pods: all().count(),
            mean_seconds: seconds(mean(all())),
            longest_seconds: seconds(all().max().copied()),
        }
    }
}

fn mean<'a>(lags: impl Iterator<Item = &'a SignedDuration>) -> Option<SignedDuration> {
    let (sum, count) = lags.fold((SignedDuration::ZERO, 0_i32), |(sum, count), lag| {
        (sum.saturating_add(*lag), count.saturating_add(1))
    });
    (count > 0).then(|| sum / count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_that_the_run_did_not_have_gets_the_mean_of_its_like() {
        let second = SignedDuration::from_secs;
        let mut lags = Lags::default();
        assert_eq!(lags.of("shop", "web", 0), SignedDuration::ZERO);
        for (name, lag) in [("web", 2), ("web", 4), ("store", 9)] {
            lags.record("shop", name, second(lag));
        }
        for (name, before, lag) in [
            ("web", 0, 2),
            ("web", 1, 4),
            ("web", 2, 3),
            ("store", 5, 9),
            ("new", 0, 5),
        ] {
            assert_eq!(
                lags.of("shop", name, before),
                second(lag),
                "{name} {before}"
            );
        }
        let summary = lags.summary();
        assert_eq!(summary.pods, 3);
        assert!((summary.mean_seconds - 5.0).abs() < 1e-9);
        assert!((summary.longest_seconds - 9.0).abs() < 1e-9);
    }
}
