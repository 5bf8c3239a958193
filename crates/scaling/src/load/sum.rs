//! The one sum of a target's load over its Pods, for the service and for every simulation.
//!
//! The sum is forecast and not the mean, which would jump with each scale-out of our own. It is the
//! load of its time only where the same Pods have carried load all through the window that they
//! were measured over: the cpu of a Pod that starts is warm-up, and what a Pod takes over from the
//! others, or leaves to them, shows in their rates a window later. So a Pod that starts, settles or
//! is deleted adds nothing of its own, and while some settle or have just ceased to carry load the
//! sum is an estimate, which nothing learns from.

use evenkeel_metrics::pod::PodFacts;
use evenkeel_metrics::sample::Measurement;
use evenkeel_metrics::signal::Signal;
use evenkeel_units::{Amount, count_as_f64};
use jiff::{SignedDuration, Timestamp};

/// One Pod in this many may settle, be missing or have ceased to carry load while the sum counts as
/// certain: its share is less than what is noise in any load, and of hundreds of Pods there is
/// always one that comes or goes.
pub const NEGLIGIBLE: usize = 50;

/// The time from which on a Pod that is ready uses what it is to use: the compilers and caches of its
/// start go on for a while, and the counters that exporters show are up to 15 s old.
const SETTLES: SignedDuration = SignedDuration::from_secs(30);

/// The factor above the normal load of its replicas up to which a sum over more Pods counts as
/// certain. It is the tolerance of an HPA, within which the HPA does not scale.
const SURGE_TOLERANCE: f64 = 1.1;

/// The load of a target in one signal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadSum {
    /// The sum over the Pods that count, in the base unit of the signal.
    pub sum: f64,
    pub certainty: Certainty,
}

/// The certainty that a sum is the load of its time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Certainty {
    /// All Pods that carried load were measured over a window in which they did.
    Certain,
    /// More Pods than replicas carry load. The load is `whole`, the sum over all of them, if they share the traffic;
    /// if it is mirrored, or each Pod uses something without traffic, it is less. The load before tells which.
    Surge { whole: f64 },
    /// Load is with Pods that are not measured for it: the load is about what it last was, or more.
    Estimated,
}

/// The part of one Pod in the load of its target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum PodLoad {
    /// It was measured, and had settled before the windows of all Pods began.
    Carried(f64),
    /// It carries load, but one of the windows began before it had settled.
    Settling,
    /// It carries load, and was not measured.
    Unmeasured,
    /// It carried no load in the windows: it starts, is not ready, became so later, or is deleted.
    Idle,
}

/// The time from the begin of the first window to the end of the last one, over the Pods of a target
/// that carry load. Windows differ: that of a new Pod may be short, and the rates of the others tell
/// of it only a whole window later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    pub start: Timestamp,
    pub end: Timestamp,
}

impl Windows {
    /// The windows of these measurements; `None` where there is none.
    pub fn of<'a>(measurements: impl IntoIterator<Item = &'a Measurement>) -> Option<Self> {
        let all = measurements.into_iter().map(|one| Self {
            start: one.start(),
            end: one.timestamp,
        });
        all.reduce(|one, other| Self {
            start: one.start.min(other.start),
            end: one.end.max(other.end),
        })
    }
}

impl PodLoad {
    /// The part of a Pod that was `measured`, where the windows of all Pods are these.
    pub(crate) fn of(
        pod: &PodFacts,
        signal: &Signal,
        measured: Option<&Measurement>,
        windows: Windows,
    ) -> Self {
        let Some(since) = pod.carries_since() else {
            return Self::Idle;
        };
        let settled = since.checked_add(SETTLES).unwrap_or(Timestamp::MAX);
        match measured {
            _ if since >= windows.end => Self::Idle,
            None => Self::Unmeasured,
            Some(measured) if settled <= windows.start => {
                Self::Carried(in_base_unit(signal, measured.value))
            }
            Some(_) => Self::Settling,
        }
    }
}

/// A value in thousandths of its unit, in the base unit of the loads of `signal`: millicores for
/// processor time, else the unit itself (bytes, requests, messages). Negative values count as 0.
pub fn in_base_unit(signal: &Signal, thousandths: i64) -> f64 {
    let value = Amount::new(u64::try_from(thousandths).unwrap_or(0)).as_f64();
    if signal.is_cpu() {
        value
    } else {
        value / 1000.0
    }
}

/// The sum over the Pods, of which `ceased` more carried load within the window and do no longer;
/// `None` where no Pod was measured that carries load.
pub(crate) fn over_pods(pods: impl IntoIterator<Item = PodLoad>, ceased: usize) -> Option<LoadSum> {
    let (mut sum, mut carried, mut settling, mut unmeasured) = (0.0, 0_usize, 0_usize, 0_usize);
    for pod in pods {
        match pod {
            PodLoad::Carried(value) => {
                sum += value;
                carried += 1;
            }
            PodLoad::Settling => settling += 1,
            PodLoad::Unmeasured => unmeasured += 1,
            PodLoad::Idle => {}
        }
    }
    if carried + settling == 0 {
        return None;
    }
    let unknown = settling + unmeasured + ceased;
    let certainty = if unknown * NEGLIGIBLE <= carried {
        Certainty::Certain
    } else {
        Certainty::Estimated
    };
    Some(LoadSum { sum, certainty })
}

impl LoadSum {
    /// The load for so many `replicas`, of a sum over Pods that `carried` these loads. At the least it is what the
    /// replicas would carry at the load of the most loaded quarter of the Pods. Whether a sum above that by more than
    /// the tolerance of an HPA is the load, [`Self::after`] decides; of a signal that each Pod holds of its own it is not.
    ///
    /// More Pods than replicas carry load while a controller brings out a version: a Deployment with a surge, a canary,
    /// or a preview beside the version that serves.
    pub(crate) fn of_replicas(
        self,
        mut carried: Vec<f64>,
        replicas: usize,
        is_conserved: bool,
    ) -> Self {
        if replicas == 0 || carried.len() <= replicas {
            return self;
        }
        carried.sort_by(|a, b| b.total_cmp(a));
        let most = &carried[..carried.len().div_ceil(4)];
        let mean = most.iter().sum::<f64>() / count_as_f64(most.len());
        let sum = mean * count_as_f64(replicas);
        if self.sum <= sum * SURGE_TOLERANCE {
            return self;
        }
        let certainty = if is_conserved {
            match self.certainty {
                Certainty::Certain => Certainty::Surge { whole: self.sum },
                other => other,
            }
        } else {
            self.certainty
        };
        Self { sum, certainty }
    }

    /// The load where it was `before` when it was last known for certain. The Pods of a surge that share the traffic
    /// carry together what was carried before they came, within the tolerance; a sum that has grown by more is an
    /// estimate.
    pub fn after(self, before: Option<f64>) -> Self {
        let Certainty::Surge { whole } = self.certainty else {
            return self;
        };
        let (sum, certainty) = match before {
            Some(before) if whole <= before * SURGE_TOLERANCE => (whole, Certainty::Certain),
            _ => (self.sum, Certainty::Estimated),
        };
        Self { sum, certainty }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use evenkeel_metrics::pod::{PodPhase, ReadyCondition};
    use evenkeel_objects::condition::ConditionStatus;

    use super::*;

    const fn certain(sum: f64) -> LoadSum {
        let certainty = Certainty::Certain;
        LoadSum { sum, certainty }
    }

    const fn estimated(sum: f64) -> LoadSum {
        let certainty = Certainty::Estimated;
        LoadSum { sum, certainty }
    }

    #[test]
    fn a_sum_is_certain_where_all_that_carry_load_are_measured_for_it() {
        use PodLoad::{Carried, Idle, Settling, Unmeasured};
        for (pods, ceased, sum) in [
            (vec![], 0, None),
            (vec![Carried(3.0), Carried(1.0)], 0, Some(certain(4.0))),
            (vec![Carried(3.0), Idle], 0, Some(certain(3.0))),
            (vec![Carried(0.0)], 0, Some(certain(0.0))),
            (vec![Carried(3.0), Settling], 0, Some(estimated(3.0))),
            (vec![Carried(3.0), Unmeasured], 0, Some(estimated(3.0))),
            (vec![Carried(3.0)], 1, Some(estimated(3.0))),
            // A rollout by Recreate: all Pods are new.
            (vec![Settling, Settling], 0, Some(estimated(0.0))),
            // No Pod is measured, or no Pod carries load: that is no load of 0.
            (vec![Unmeasured, Unmeasured], 0, None),
            (vec![Idle, Idle], 2, None),
        ] {
            assert_eq!(over_pods(pods.clone(), ceased), sum, "{pods:?} {ceased}");
        }
        let many = |unknown| {
            let carried = std::iter::repeat_n(Carried(1.0), 100);
            carried.chain(std::iter::repeat_n(Settling, unknown))
        };
        assert_eq!(over_pods(many(2), 0), Some(certain(100.0)));
        assert_eq!(over_pods(many(1), 1), Some(certain(100.0)));
        assert_eq!(over_pods(many(3), 0), Some(estimated(100.0)));
    }

    /// The harm: with a canary beside the stable Pods the floor was that of both together.
    #[test]
    fn pods_of_a_surge_do_not_double_the_load() {
        let of = |groups: &[(usize, f64)]| -> Vec<f64> {
            let each = |&(count, load): &(usize, f64)| std::iter::repeat_n(load, count);
            groups.iter().flat_map(each).collect()
        };
        for (what, groups, conserved, expected) in [
            ("no surge", vec![(8, 300.0)], true, certain(2400.0)),
            (
                "a weighted canary shares the traffic",
                vec![(8, 240.0), (2, 240.0)],
                true,
                certain(2400.0),
            ),
            (
                "a canary of a quarter, whose Pods carry more",
                vec![(8, 225.0), (2, 300.0)],
                true,
                certain(2400.0),
            ),
            (
                "its share by weight",
                vec![(8, 210.0), (3, 300.0)],
                true,
                certain(2580.0),
            ),
            (
                "mirrored traffic",
                vec![(8, 300.0), (8, 300.0)],
                true,
                estimated(2400.0),
            ),
            (
                "an idle preview",
                vec![(8, 300.0), (8, 20.0)],
                true,
                certain(2560.0),
            ),
            (
                "a busy preview",
                vec![(8, 300.0), (8, 90.0)],
                true,
                estimated(2400.0),
            ),
            (
                "what each Pod holds",
                vec![(8, 300.0), (8, 300.0)],
                false,
                certain(2400.0),
            ),
        ] {
            let carried = of(&groups);
            let sum = certain(carried.iter().sum());
            // Before the surge eight Pods carried 300 each.
            let load = sum.of_replicas(carried.clone(), 8, conserved);
            assert_eq!(load.after(Some(2400.0)), expected, "{what}");
            let blind = load.after(None);
            assert!(blind.sum <= sum.sum, "{what}: without a past it is no more");
            let unknown = sum.of_replicas(carried, 0, conserved);
            assert_eq!(unknown, sum, "{what}: without replicas nothing is known");
        }
    }

    #[test]
    fn a_pod_counts_once_it_has_carried_load_for_a_whole_window() {
        let at = |second: i64| Timestamp::from_second(1_000 + second).unwrap();
        // Its own window is from 45 to 60, that of the others from 0.
        let measured = Measurement {
            timestamp: at(60),
            window: SignedDuration::from_secs(15),
            value: 250,
        };
        for (ready, since, deleted, is_measured, expected) in [
            (true, -90, false, true, PodLoad::Carried(250.0)),
            (true, -30, false, true, PodLoad::Carried(250.0)),
            (true, -29, false, true, PodLoad::Settling),
            (true, 59, false, true, PodLoad::Settling),
            // It took on load after what is measured.
            (true, 60, false, true, PodLoad::Idle),
            (true, -10, false, false, PodLoad::Unmeasured),
            (true, 65, false, false, PodLoad::Idle),
            (true, 59, false, false, PodLoad::Unmeasured),
            // It starts, or its container has crashed; its cpu is warm-up.
            (false, -10, false, true, PodLoad::Idle),
            (false, -10, false, false, PodLoad::Idle),
            (true, -90, true, true, PodLoad::Idle),
        ] {
            let pod = PodFacts {
                name: "a".to_owned(),
                phase: PodPhase::Running,
                deleted,
                start_time: Some(at(-100)),
                ready: Some(ReadyCondition {
                    status: ConditionStatus::from(ready),
                    last_transition_time: at(since),
                }),
                spec: Arc::default(),
            };
            // The window of another Pod.
            let longest = Measurement {
                window: SignedDuration::from_secs(60),
                ..measured
            };
            let windows = Windows::of([&measured, &longest]).unwrap();
            let measured = is_measured.then_some(&measured);
            let found = PodLoad::of(&pod, &Signal::CPU, measured, windows);
            assert_eq!(found, expected, "{ready} {since} {deleted} {is_measured}");
        }
    }
}
