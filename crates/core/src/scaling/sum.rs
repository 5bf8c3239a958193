//! The one sum of a target's load over its Pods, for the service and for every simulation.
//!
//! The sum is forecast and not the mean, which would jump with each scale-out of our own. A ready
//! Pod that was not measured yet carries load all the same and counts as the mean of the others;
//! where fewer than half of the ready Pods were measured the sum is not known.

use super::signal::Signal;
use crate::units::{Amount, count_as_f64};

/// The usage of one Pod of a target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PodLoad {
    /// The usage; `None` where the Pod was not measured.
    pub measured: Option<f64>,
    /// True where the Pod is ready.
    pub ready: bool,
}

/// A value in thousandths of its unit, in the base unit of the loads of `signal`: millicores for
/// processor time, else the unit itself (bytes, requests, messages). Negative values count as 0.
#[must_use]
pub fn in_base_unit(signal: &Signal, thousandths: i64) -> f64 {
    let value = Amount::new(u64::try_from(thousandths).unwrap_or(0)).as_f64();
    if signal.is_cpu() {
        value
    } else {
        value / 1000.0
    }
}

/// The sum over the Pods; `None` where fewer than half of the ready ones were measured, or no Pod
/// was. A Pod that is neither ready nor measured counts as nothing.
#[must_use]
pub fn over_pods(pods: impl IntoIterator<Item = PodLoad>) -> Option<f64> {
    let (mut sum, mut measured, mut ready, mut missing) = (0.0, 0_usize, 0_usize, 0_usize);
    for pod in pods {
        ready += usize::from(pod.ready);
        match pod.measured {
            Some(value) => {
                sum += value;
                measured += 1;
            }
            None => missing += usize::from(pod.ready),
        }
    }
    let known = ready - missing;
    if measured == 0 || 2 * known < ready {
        return None;
    }
    Some(sum + sum / count_as_f64(measured) * count_as_f64(missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_pods_without_a_measurement_count_as_the_others_do() {
        let pod = |measured, ready| PodLoad { measured, ready };
        let ready = |measured| pod(measured, true);
        for (pods, sum) in [
            (vec![], None),
            (vec![ready(Some(3.0)), ready(Some(1.0))], Some(4.0)),
            (vec![ready(Some(3.0)), ready(None)], Some(6.0)),
            (vec![ready(Some(3.0)), ready(None), ready(None)], None),
            (vec![ready(None)], None),
            // What starts and is measured counts; what starts and is not, does not.
            (vec![ready(Some(3.0)), pod(Some(1.0), false)], Some(4.0)),
            (vec![ready(Some(3.0)), pod(None, false)], Some(3.0)),
            (vec![pod(Some(1.0), false)], Some(1.0)),
            (vec![pod(None, false)], None),
            (vec![ready(Some(0.0)), ready(Some(0.0))], Some(0.0)),
        ] {
            assert_eq!(over_pods(pods.clone()), sum, "{pods:?}");
        }
    }
}
