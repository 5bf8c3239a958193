//! The traffic that an annotation names, one query a line, from which a model derives replicas. A
//! line is the preset `network`, or PromQL as in `evenkeel.dev/query`, with the same placeholders
//! and rules of access. Each line is one kind of traffic, for all replicas together.

use evenkeel_metrics::signal::{PromQl, PromQlMetric, Signal};

use super::load_query::{LONGEST, Preset, promql};

/// The most kinds of traffic: each is asked for at every tick.
const MOST: usize = 4;

pub(crate) const ACCEPTED: &str =
    "1 to 4 different lines, each a PromQL query of at most 2048 bytes, or network";

/// The kinds of traffic that an annotation names, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrafficQueries(Vec<Signal>);

impl TrafficQueries {
    /// The signals of the kinds: at least one, and none twice.
    pub fn signals(&self) -> &[Signal] {
        &self.0
    }
}

/// The traffic in a text; `None` where it is not accepted.
pub(crate) fn parse(text: &str) -> Option<TrafficQueries> {
    // With the white space that may stand around each query.
    if text.len() > MOST * (LONGEST + LONGEST / 2) {
        return None;
    }
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<&str> = lines.collect();
    let is_twice = |(place, line): (usize, &&str)| lines[..place].contains(line);
    if lines.is_empty() || lines.len() > MOST || lines.iter().enumerate().any(is_twice) {
        return None;
    }
    let signals = lines
        .iter()
        .zip(1..)
        .map(|(line, number)| signal(line, number));
    signals.collect::<Option<_>>().map(TrafficQueries)
}

fn signal(line: &str, number: u8) -> Option<Signal> {
    let preset = Preset::ALL.into_iter().find(|one| one.as_str() == line);
    match preset {
        Some(Preset::Network) => Some(Preset::Network.signal()),
        // The use of resources by Pods is no traffic: it would explain itself.
        Some(Preset::Cpu | Preset::Memory | Preset::Gpu | Preset::GpuMemory) => None,
        None => Some(Signal::PromQl(PromQl {
            metric: PromQlMetric::Traffic(number),
            query: promql(line)?.into(),
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Option<Vec<(String, Option<String>)>> {
        let queries = parse(text)?;
        let told = queries.signals().iter().map(|signal| {
            let query = match signal {
                Signal::PromQl(query) => Some(query.query.to_string()),
                _ => None,
            };
            (signal.label(), query)
        });
        Some(told.collect())
    }

    #[test]
    fn each_line_is_a_kind_of_traffic() {
        let kind = |number: u8, query: &str| {
            let label = format!("promql/traffic-{number}");
            (label, Some(query.to_owned()))
        };
        for (text, kinds) in [
            ("sum(rate(http[1m]))", vec![kind(1, "sum(rate(http[1m]))")]),
            (
                "\n  a{x=\";\"}\r\n\n b\n",
                vec![kind(1, "a{x=\";\"}"), kind(2, "b")],
            ),
            (
                "network\nsum(up)",
                vec![("networkIo".to_owned(), None), kind(2, "sum(up)")],
            ),
            (
                "a\nb\nc\nd",
                vec![kind(1, "a"), kind(2, "b"), kind(3, "c"), kind(4, "d")],
            ),
        ] {
            assert_eq!(told(text), Some(kinds), "{text:?}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        let long = "x".repeat(LONGEST + 1);
        let spaces = format!("a{}", " ".repeat(MOST * 2 * LONGEST));
        for text in [
            "",
            " \n ",
            "a\nb\nc\nd\ne",
            "a\na",
            "a\n a ",
            "cpu",
            "a\nmemory",
            "gpu",
            "gpu-memory",
            "network\nnetwork",
            "a\u{7}",
            &long,
            &spaces,
        ] {
            assert_eq!(told(text), None, "{text:?}");
        }
    }
}
