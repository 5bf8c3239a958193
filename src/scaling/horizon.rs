//! How far ahead to look: until a Pod that is asked for now would be ready.

use jiff::SignedDuration;

/// Below this a forecast is not worth its error.
pub const LEAST: SignedDuration = SignedDuration::from_secs(60);

/// The 90th percentile of the times from start to ready, by nearest rank, plus one tick; at least
/// 60 s, which is also what a target has whose Pods have told nothing yet.
#[must_use]
pub fn horizon(start_to_ready: &mut [SignedDuration], tick: SignedDuration) -> SignedDuration {
    start_to_ready.sort_unstable();
    let rank = (start_to_ready.len() * 9).div_ceil(10);
    let percentile = rank
        .checked_sub(1)
        .and_then(|index| start_to_ready.get(index));
    percentile.map_or(LEAST, |&time| time.saturating_add(tick).max(LEAST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slow_pods_decide() {
        let tick = SignedDuration::from_secs(15);
        for (seconds, expected) in [
            (vec![], 60),
            (vec![5], 60),
            (vec![90], 105),
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
