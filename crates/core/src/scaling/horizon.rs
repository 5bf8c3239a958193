//! The horizon of a forecast: the time until a Pod that is asked for now would be ready.

use jiff::SignedDuration;

/// The shortest horizon: below it a forecast is not worth its error.
pub const LEAST: SignedDuration = SignedDuration::from_secs(60);

/// The longest horizon: a Pod that waited for hours for a node says nothing of how long starts take,
/// and models that remember half an hour say nothing of hours. Each further step also costs memory
/// and time for every target.
pub const MOST: SignedDuration = SignedDuration::from_mins(15);

/// The horizon of a target whose Pods took the times `start_to_ready`: their 90th percentile by
/// nearest rank, plus one tick; at least 60 s, also without any times, and at most 15 minutes.
#[must_use]
pub fn horizon(start_to_ready: &mut [SignedDuration], tick: SignedDuration) -> SignedDuration {
    start_to_ready.sort_unstable();
    let rank = (start_to_ready.len() * 9).div_ceil(10);
    let percentile = rank
        .checked_sub(1)
        .and_then(|index| start_to_ready.get(index));
    percentile.map_or(LEAST, |&time| time.saturating_add(tick).clamp(LEAST, MOST))
}

/// The number of steps that a forecast needs to reach the horizon from a measurement that may be as
/// old as `max_age`.
#[must_use]
pub fn steps(horizon: SignedDuration, max_age: SignedDuration, step: SignedDuration) -> usize {
    let reach = horizon.saturating_add(max_age).as_secs().max(1);
    let steps = (reach - 1) / step.as_secs().max(1) + 1;
    usize::try_from(steps).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forecast_reaches_the_horizon_from_an_old_measurement() {
        let seconds = SignedDuration::from_secs;
        for (horizon, max_age, expected) in [(60, 0, 4), (61, 0, 5), (75, 180, 17), (0, 0, 1)] {
            let found = steps(seconds(horizon), seconds(max_age), seconds(15));
            assert_eq!(found, expected, "{horizon} + {max_age}");
        }
    }

    #[test]
    fn the_slow_pods_decide() {
        let tick = SignedDuration::from_secs(15);
        for (seconds, expected) in [
            (vec![], 60),
            (vec![5], 60),
            (vec![90], 105),
            (vec![885], 900),
            (vec![2 * 24 * 3600], 900),
            (vec![i64::MAX], 900),
            ((1..=10).map(|i| i * 10).collect(), 105),
            ((1..=11).rev().map(|i| i * 10).collect(), 115),
        ] {
            let mut times: Vec<_> = seconds
                .iter()
                .map(|&s| SignedDuration::from_secs(s))
                .collect();
            assert_eq!(horizon(&mut times, tick).as_secs(), expected, "{seconds:?}");
        }
    }
}
