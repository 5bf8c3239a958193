//! Times in the past that are asked for: from when to when, and how far apart.

use jiff::{SignedDuration, Timestamp};

/// The shortest step: scrapes are never more frequent.
const SHORTEST_STEP: SignedDuration = SignedDuration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeriesRange {
    pub first: Timestamp,
    pub step: SignedDuration,
    /// At least one.
    pub points: u32,
}

/// The most that one question may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeLimits {
    /// From the first of the times to the last.
    pub longest: SignedDuration,
    /// The times of one series.
    pub points: u32,
}

/// Times that cannot be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RangeFault {
    #[error("the end of the range is before its start")]
    Backwards,
    #[error("step: {0:#} is not accepted; accepted: at least 1s")]
    Step(SignedDuration),
    #[error("the range is {given:#} long; accepted: at most {most:#}")]
    TooLong {
        given: SignedDuration,
        most: SignedDuration,
    },
    #[error(
        "the range has {given} points at this step; accepted: at most {most}; use a longer \
        step"
    )]
    TooManyPoints { given: i128, most: u32 },
}

impl SeriesRange {
    /// The times from `start` on that are not after `end`.
    ///
    /// # Errors
    /// The times are no range, or more than `limits` allows.
    pub fn check(
        (start, end): (Timestamp, Timestamp),
        step: SignedDuration,
        limits: RangeLimits,
    ) -> Result<Self, RangeFault> {
        let length = end.duration_since(start);
        if length.is_negative() {
            return Err(RangeFault::Backwards);
        }
        if step < SHORTEST_STEP {
            return Err(RangeFault::Step(step));
        }
        if length > limits.longest {
            return Err(RangeFault::TooLong {
                given: length,
                most: limits.longest,
            });
        }
        let given = length.as_nanos() / step.as_nanos() + 1;
        let points = u32::try_from(given).ok();
        let points = points.filter(|points| *points <= limits.points);
        Ok(Self {
            first: start,
            step,
            points: points.ok_or(RangeFault::TooManyPoints {
                given,
                most: limits.points,
            })?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_counted_and_bounded() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let limits = RangeLimits {
            longest: SignedDuration::from_hours(1),
            points: 100,
        };
        let check = |start, end, step| {
            let step = SignedDuration::from_secs(step);
            SeriesRange::check((at(start), at(end)), step, limits).map(|range| range.points)
        };
        let minute = SignedDuration::from_mins(1);
        for (start, end, step, expected) in [
            (0, 0, 60, Ok(1)),
            (0, 59, 60, Ok(1)),
            (0, 60, 60, Ok(2)),
            (0, 3600, 60, Ok(61)),
            (60, 0, 60, Err(RangeFault::Backwards)),
            (0, 60, 0, Err(RangeFault::Step(SignedDuration::ZERO))),
            (0, 60, -60, Err(RangeFault::Step(-minute))),
            (
                0,
                3601,
                60,
                Err(RangeFault::TooLong {
                    given: SignedDuration::from_secs(3601),
                    most: limits.longest,
                }),
            ),
            (
                0,
                3600,
                1,
                Err(RangeFault::TooManyPoints {
                    given: 3601,
                    most: 100,
                }),
            ),
        ] {
            assert_eq!(check(start, end, step), expected, "{start} {end} {step}");
        }
    }
}
