//! The load that annotations name: a preset, or PromQL, with the amount for each Pod. In a query,
//! `$namespace` and `$pods` stand for the target's namespace and its Pod names (a regular
//! expression), `$window` for the span of rates, and `$dcgm` for the matchers of the DCGM exporter.

use std::collections::BTreeMap;

use evenkeel_metrics::signal::{PromQl, PromQlMetric, Signal};
use evenkeel_objects::annotations::{InvalidAnnotation, QUERY, QUERY_TARGET};
use evenkeel_quantity::Quantity;
use evenkeel_units::{Amount, BytesPerSecond, Resource, words};

/// The longest query, in bytes: it is sent with every question.
pub(crate) const LONGEST: usize = 2048;

/// GPUs at work. The exporter's Pod labels are `exported_` if Prometheus has put its own in their
/// place.
const GPU: &str = "sum(max by (UUID, GPU_I_ID) (\
     DCGM_FI_DEV_GPU_UTIL{$dcgm,exported_namespace=\"$namespace\",exported_pod=~\"$pods\"} \
     or DCGM_FI_DEV_GPU_UTIL{$dcgm,namespace=\"$namespace\",pod=~\"$pods\"})) / 100";

/// Memory of GPUs in bytes; the exporter tells it in MiB.
const GPU_MEMORY: &str = "sum(max by (UUID, GPU_I_ID) (\
     DCGM_FI_DEV_FB_USED{$dcgm,exported_namespace=\"$namespace\",exported_pod=~\"$pods\"} \
     or DCGM_FI_DEV_FB_USED{$dcgm,namespace=\"$namespace\",pod=~\"$pods\"})) * 1048576";

words! {
    pub(super) enum Preset {
        Cpu = "cpu",
        Memory = "memory",
        /// Bytes per second of each Pod in its busier direction.
        Network = "network",
        Gpu = "gpu",
        GpuMemory = "gpu-memory",
    }
}

impl Preset {
    pub(crate) fn signal(self) -> Signal {
        let promql = |metric, query: &str| {
            let query = query.into();
            Signal::PromQl(PromQl { metric, query })
        };
        match self {
            Self::Cpu => Signal::CPU,
            Self::Memory => Signal::MEMORY,
            Self::Network => Resource::NetworkIo.into(),
            Self::Gpu => promql(PromQlMetric::Gpu, GPU),
            Self::GpuMemory => promql(PromQlMetric::GpuMemory, GPU_MEMORY),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadQuery {
    pub signal: Signal,
    /// The amount for each Pod, in thousandths and above zero.
    pub target: i64,
}

impl LoadQuery {
    /// The values of [`QUERY`] that are accepted, for messages.
    const QUERIES: &str = "cpu, memory, network, gpu, gpu-memory, or PromQL of at most 2048 bytes";
    /// The other annotation that a query needs, for messages.
    const NEEDS_TARGET: &str = "with evenkeel.dev/query-target, which is its amount for each Pod";
    /// The values of [`QUERY_TARGET`] that are accepted, for messages.
    const TARGETS: &str = "an amount for each Pod above zero, such as 50, 500m, 20Gi, \
                           or for query network 20MB/s";

    /// The load in these annotations; what is not accepted is added to `invalid`.
    pub(crate) fn read(
        annotations: &BTreeMap<String, String>,
        invalid: &mut Vec<InvalidAnnotation>,
    ) -> Option<Self> {
        let query = annotations.get(QUERY)?;
        let Some(signal) = signal(query) else {
            invalid.push(InvalidAnnotation::new(QUERY, query, Self::QUERIES));
            return None;
        };
        let Some(target) = annotations.get(QUERY_TARGET) else {
            invalid.push(InvalidAnnotation::new(QUERY, query, Self::NEEDS_TARGET));
            return None;
        };
        let Some(target_value) = amount(&signal, target) else {
            invalid.push(InvalidAnnotation::new(QUERY_TARGET, target, Self::TARGETS));
            return None;
        };
        Some(Self {
            signal,
            target: target_value,
        })
    }
}

fn signal(text: &str) -> Option<Signal> {
    let text = text.trim();
    let preset = Preset::ALL.into_iter().find(|one| one.as_str() == text);
    if let Some(preset) = preset {
        return Some(preset.signal());
    }
    promql(text).map(|text| Signal::PromQl(PromQl::own(text)))
}

/// A text that may be asked as PromQL, without the white space around it.
pub(crate) fn promql(text: &str) -> Option<&str> {
    let text = text.trim();
    let control = |c: char| c.is_control() && !c.is_whitespace();
    let accepted = !text.is_empty() && text.len() <= LONGEST && !text.contains(control);
    accepted.then_some(text)
}

/// An amount of a signal above zero, in thousandths.
fn amount(signal: &Signal, text: &str) -> Option<i64> {
    let text = text.trim();
    let rate = || {
        let rate: BytesPerSecond = text.parse().ok()?;
        i64::try_from(Amount::from(rate).get())
            .ok()?
            .checked_mul(1000)
    };
    let quantity = || text.parse::<Quantity>().ok().map(Quantity::milli_value);
    let is_rate = *signal == Signal::from(Resource::NetworkIo);
    let milli = if is_rate { rate() } else { quantity() };
    milli.filter(|&milli| milli > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(annotations: &[(&str, &str)]) -> Result<LoadQuery, Option<&'static str>> {
        let annotations = annotations
            .iter()
            .map(|&(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        let mut invalid = Vec::new();
        let found = LoadQuery::read(&annotations, &mut invalid);
        found.ok_or(invalid.first().map(|invalid| invalid.key))
    }

    #[test]
    fn presets_and_queries_are_read_with_the_amount_for_each_pod() {
        for (query, target, name, milli) in [
            ("cpu", "500m", "cpu", 500),
            ("memory", "1Gi", "memory", (1 << 30) * 1000),
            ("network", "20MB/s", "networkIo", 20_000_000_000),
            ("network", "5Mbps", "networkIo", 625_000_000),
            ("gpu", "0.7", "promql/gpu", 700),
            ("gpu-memory", "20Gi", "promql/gpu-memory", (20 << 30) * 1000),
            (" sum(rate(x[1m]))\n", "50", "promql/query", 50_000),
        ] {
            let found = read(&[(QUERY, query), (QUERY_TARGET, target)]).unwrap();
            assert_eq!((&*found.signal.to_string(), found.target), (name, milli));
        }
    }

    #[test]
    fn what_is_not_accepted_is_named() {
        let long = "x".repeat(LONGEST + 1);
        for (annotations, key) in [
            (vec![], None),
            (vec![(QUERY_TARGET, "5")], None),
            (vec![(QUERY, "cpu")], Some(QUERY)),
            (vec![(QUERY, " "), (QUERY_TARGET, "5")], Some(QUERY)),
            (vec![(QUERY, &*long), (QUERY_TARGET, "5")], Some(QUERY)),
            (vec![(QUERY, "a\u{7}"), (QUERY_TARGET, "5")], Some(QUERY)),
            (
                vec![(QUERY, "cpu"), (QUERY_TARGET, "0")],
                Some(QUERY_TARGET),
            ),
            (
                vec![(QUERY, "cpu"), (QUERY_TARGET, "-5")],
                Some(QUERY_TARGET),
            ),
            (
                vec![(QUERY, "cpu"), (QUERY_TARGET, "80%")],
                Some(QUERY_TARGET),
            ),
            (
                vec![(QUERY, "gpu"), (QUERY_TARGET, "5MB/s")],
                Some(QUERY_TARGET),
            ),
            (
                vec![(QUERY, "network"), (QUERY_TARGET, "lots")],
                Some(QUERY_TARGET),
            ),
        ] {
            assert_eq!(read(&annotations), Err(key), "{annotations:?}");
        }
    }
}
