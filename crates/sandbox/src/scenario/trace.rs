//! A recorded load, which a workload's traffic follows. It repeats in both directions, so that a
//! run or a past may be longer.

use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use jiff::SignedDuration;

/// Five working days of a public web server; see `examples/traces/README.md`.
const WEB: &str = include_str!("../../../../examples/traces/nasa_web.csv");

/// Why a text is no trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// Not `timestamp,value`.
    #[error("line {0} is not accepted; accepted: unix seconds, a comma and a number of at least 0")]
    Line(usize),
    /// Timestamps have no constant distance.
    #[error("line {0} does not have the same interval as the first two lines")]
    Step(usize),
    #[error("at least two values are needed")]
    TooShort,
}

/// Values at a regular distance, repeated for ever.
#[derive(Debug, Clone, PartialEq)]
pub struct TrafficTrace {
    step: f64,
    values: Vec<f64>,
    peak: f64,
}

impl TrafficTrace {
    /// The compiled-in daily rhythm of a public web server.
    pub fn web() -> Arc<Self> {
        static PARSED: OnceLock<Arc<TrafficTrace>> = OnceLock::new();
        let parsed = PARSED.get_or_init(|| {
            let trace: Self = WEB.parse().expect("the shipped trace is well-formed");
            Arc::new(trace)
        });
        Arc::clone(parsed)
    }

    /// Share of the largest value at a time since the beginning, interpolated.
    pub fn share(&self, at: SignedDuration) -> f64 {
        let position = (at.as_secs_f64() / self.step).rem_euclid(self.length());
        let first = index(position);
        let value = |at: usize| self.values[at % self.values.len()];
        let (left, right) = (value(first), value(first + 1));
        (left + (right - left) * position.fract()) / self.peak
    }

    fn length(&self) -> f64 {
        f64::from(u32::try_from(self.values.len()).unwrap_or(u32::MAX))
    }
}

/// Integer part of a position in a list.
fn index(position: f64) -> usize {
    usize::try_from(evenkeel_units::Amount::from_f64(position.floor()).get()).unwrap_or(usize::MAX)
}

impl FromStr for TrafficTrace {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Self, TraceError> {
        let mut points: Vec<(i64, f64)> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let comment = line.starts_with('#') || line.trim().is_empty();
            if comment || (points.is_empty() && line.starts_with("timestamp")) {
                continue;
            }
            let point = line
                .split_once(',')
                .and_then(|(time, value)| Some((time.parse().ok()?, value.trim().parse().ok()?)))
                .filter(|(_, value): &(i64, f64)| value.is_finite() && *value >= 0.0)
                .ok_or(TraceError::Line(number))?;
            points.push(point);
            if !regular(&points) {
                return Err(TraceError::Step(number));
            }
        }
        let [first, second, ..] = points.as_slice() else {
            return Err(TraceError::TooShort);
        };
        let step = SignedDuration::from_secs(second.0 - first.0).as_secs_f64();
        let values: Vec<f64> = points.iter().map(|(_, value)| *value).collect();
        // A trace of zeros has no peak; its shares are zero.
        let peak = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        Ok(Self { step, values, peak })
    }
}

/// The newest point has the distance of the first two.
fn regular(points: &[(i64, f64)]) -> bool {
    let distance = |pair: &[(i64, f64)]| pair[1].0 - pair[0].0;
    let (Some(first), Some(last)) = (points.windows(2).next(), points.windows(2).last()) else {
        return true;
    };
    distance(last) > 0 && distance(last) == distance(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: i64) -> SignedDuration {
        SignedDuration::from_secs(second)
    }

    #[test]
    fn between_values_it_follows_the_line_and_at_the_end_it_repeats() {
        let trace: TrafficTrace = "timestamp,value\n100,0\n110,4\n120,2\n".parse().unwrap();
        for (at, share) in [
            (0, 0.0),
            (5, 0.5),
            (10, 1.0),
            (15, 0.75),
            (20, 0.5),
            (25, 0.25),
            (30, 0.0),
            (35, 0.5),
        ] {
            assert!((trace.share(second(at)) - share).abs() < 1e-12, "{at}");
        }
    }

    #[test]
    fn what_is_no_regular_series_is_refused() {
        for (text, error) in [
            ("", TraceError::TooShort),
            ("1,2", TraceError::TooShort),
            ("1,2\n2", TraceError::Line(2)),
            ("1,2\n2,-1", TraceError::Line(2)),
            ("1,2\n2,NaN", TraceError::Line(2)),
            ("1,2\n1,3", TraceError::Step(2)),
            ("1,2\n2,3\n4,1", TraceError::Step(3)),
        ] {
            assert_eq!(text.parse::<TrafficTrace>(), Err(error), "{text:?}");
        }
    }

    #[test]
    fn the_shipped_trace_has_nights_and_days() {
        let trace = TrafficTrace::web();
        let mean = |from: i64, to: i64| {
            let hours = (from..to).map(|hour| trace.share(second(hour * 3600)));
            hours.sum::<f64>() / f64::from(i32::try_from(to - from).unwrap())
        };
        for day in 0..5 {
            let night = mean(day * 24 + 6, day * 24 + 10);
            let noon = mean(day * 24 + 14, day * 24 + 20);
            assert!(noon > 2.0 * night, "day {day}: {night} {noon}");
        }
    }
}
