//! The load of a target: the sum over its Pods, as far as they were measured.
//!
//! A mean per Pod would jump with each scale-out of our own. A Pod that runs and was not measured
//! yet carries load all the same, so it counts as the mean of the others; where fewer than half of
//! the ready Pods were measured nobody knows the sum.

use crate::units::count_as_f64;

/// One Pod of a target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PodLoad {
    /// What it uses; `None` where it was not measured.
    pub measured: Option<f64>,
    /// Whether it is ready.
    pub ready: bool,
}

/// The sum over the Pods; `None` where too few of the ready ones were measured, or there is none.
///
/// A Pod that is neither ready nor measured counts as nothing.
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
