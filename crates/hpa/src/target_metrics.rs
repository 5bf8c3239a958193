//! The metrics of a workload without an autoscaler, in an annotation. `cpu=80%` is a share of the
//! requests, `cpu=500m` and `memory=1Gi` an amount for each Pod, and `container/app/cpu=70%` the
//! same of one container. Several are separated by commas; the one that asks for the most replicas
//! wins.

use evenkeel_metrics::signal::{MetricTarget, ResourceName, Signal};
use evenkeel_objects::limits::FOLLOWED;
use evenkeel_quantity::Quantity;

use super::autoscaler::HpaMetrics;
use crate::MetricSpec;

pub const ACCEPTED: &str = "cpu or memory, or container/NAME/cpu or .../memory, each with a \
    whole percent of the requests or an amount for each Pod, such as cpu=80%,memory=1Gi or \
    container/app/cpu=500m; at most 16 of them in 2048 bytes";

/// The longest text, in bytes: all accepted texts fit, and it is parsed with each snapshot of the
/// targets.
const LONGEST: usize = 2048;

const LONGEST_NAME: usize = 63;

/// The metrics of a workload that names none, the same as for an HPA without metrics.
pub const DEFAULT: &str = "cpu=80%";

/// The metrics in a text; `None` where it is not accepted.
pub fn parse(text: &str) -> Option<HpaMetrics> {
    if text.len() > LONGEST {
        return None;
    }
    let mut metrics: Vec<MetricSpec> = Vec::new();
    for part in text.split(',') {
        if metrics.len() == FOLLOWED {
            return None;
        }
        let (name, value) = part.split_once('=')?;
        let signal = signal(name.trim())?;
        let is_named = |one: &MetricSpec| matches!(one, MetricSpec::Known(of, _) if *of == signal);
        if metrics.iter().any(is_named) {
            return None;
        }
        let target = target(value.trim())?;
        metrics.push(MetricSpec::new(signal, target));
    }
    Some(HpaMetrics(metrics))
}

/// The signal of a name. The name is that used everywhere, except for containers, which `cpu/app`
/// would hide.
fn signal(name: &str) -> Option<Signal> {
    let Some(named) = name.strip_prefix("container/") else {
        return resource(name).map(Signal::Resource);
    };
    let (container, of) = named.split_once('/')?;
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_name = !container.is_empty() && container.len() <= LONGEST_NAME;
    (is_name && container.bytes().all(plain)).then_some(())?;
    Some(Signal::ContainerResource {
        resource: resource(of)?,
        container: container.to_owned(),
    })
}

fn resource(name: &str) -> Option<ResourceName> {
    let found = ResourceName::from(name);
    matches!(found, ResourceName::Cpu | ResourceName::Memory).then_some(found)
}

/// A whole percent above 0 (above 100 is valid: Pods may use more than they request), or an amount
/// above 0.
fn target(value: &str) -> Option<MetricTarget> {
    if let Some(digits) = value.strip_suffix('%') {
        let percent = number(digits).filter(|&percent| percent > 0)?;
        return Some(MetricTarget::Utilization(percent));
    }
    // An amount begins with its digits; a bare suffix would be 0 for Kubernetes.
    let milli = value.parse::<Quantity>().ok()?.milli_value();
    (milli > 0).then_some(MetricTarget::AverageValue(milli))
}

/// Digits alone: no sign, no space.
pub fn number(digits: &str) -> Option<i32> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<Vec<(String, MetricTarget)>> {
        let HpaMetrics(metrics) = parse(text)?;
        let told = |metric: &MetricSpec| match metric {
            MetricSpec::Known(signal, Some(target)) => (signal.to_string(), *target),
            other => panic!("{other:?}"),
        };
        Some(metrics.iter().map(told).collect())
    }

    #[test]
    fn every_kind_of_metric_is_read() {
        let share = MetricTarget::Utilization;
        let amount = MetricTarget::AverageValue;
        for (text, metrics) in [
            ("cpu=80%", vec![("cpu", share(80))]),
            ("cpu = 120%", vec![("cpu", share(120))]),
            ("cpu=500m", vec![("cpu", amount(500))]),
            ("cpu=1.5", vec![("cpu", amount(1500))]),
            (
                "memory=1Gi",
                vec![("memory", amount(1024 * 1024 * 1024 * 1000))],
            ),
            (
                "memory=70%, cpu=80%",
                vec![("memory", share(70)), ("cpu", share(80))],
            ),
            (
                "cpu=80%,container/app/cpu=70%,container/side-car/memory=64Mi",
                vec![
                    ("cpu", share(80)),
                    ("cpu/app", share(70)),
                    ("memory/side-car", amount(64 * 1024 * 1024 * 1000)),
                ],
            ),
        ] {
            let expected = metrics.into_iter().map(|(name, to)| (name.to_owned(), to));
            assert_eq!(parsed(text), Some(expected.collect()), "{text}");
        }
        assert!(parsed(DEFAULT).is_some());
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "",
            "80%",
            "cpu",
            "cpu=",
            "cpu=0%",
            "cpu=-1%",
            "cpu=8.5%",
            "cpu=%",
            "cpu=0",
            "cpu=-5m",
            "cpu=+80%",
            "disk=5%",
            "cpu=1%,cpu=2%",
            "cpu=1%,cpu=500m",
            "cpu=1%,",
            "cpu=80%;memory=7%",
            "container/cpu=70%",
            "container//cpu=70%",
            "container/app/disk=70%",
            "container/App/cpu=70%",
            "nvidia.com/gpu=50%",
            "pods/requests=5",
            "cpu=80 %",
        ] {
            assert_eq!(parsed(text), None, "{text}");
        }
        let long = format!("container/{}/cpu=70%", "a".repeat(64));
        assert_eq!(parsed(&long), None);
    }

    #[test]
    fn no_more_are_read_than_are_followed() {
        let of = |count: usize| {
            let one = |number| format!("container/{number}{}/memory=123456789Ki", "a".repeat(61));
            let all: Vec<_> = (10..10 + count).map(one).collect();
            all.join(",")
        };
        let most = of(FOLLOWED);
        assert_eq!(parsed(&most).map(|found| found.len()), Some(FOLLOWED));
        assert_eq!(parsed(&of(FOLLOWED + 1)), None);
        assert_eq!(parsed(&format!("{most}{}", " ".repeat(LONGEST))), None);
    }
}
