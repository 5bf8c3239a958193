//! The turns of nodes: each node has its own moment in the interval, so that a cluster resizes one
//! node after another.

use evenkeel_units::fnv::fnv1a;
use jiff::{SignedDuration, Timestamp};

/// The node's moment lies after `before` and not after `now`.
pub fn is_turn_of(node: &str, before: Timestamp, now: Timestamp, interval: SignedDuration) -> bool {
    let length = i64::try_from(interval.as_millis())
        .unwrap_or(i64::MAX)
        .max(1);
    let offset = fnv1a(node.as_bytes()) % length.unsigned_abs();
    let offset = i64::try_from(offset).unwrap_or(0);
    let turn = |at: Timestamp| (at.as_millisecond() - offset).div_euclid(length);
    turn(now) > turn(before)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_node_has_one_turn_in_each_interval_and_nodes_have_different_ones() {
        let interval = SignedDuration::from_mins(10);
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut moments = BTreeSet::new();
        for number in 0..50 {
            let node = format!("node-{number}");
            let looks = (0..80).map(|look| (at(look * 15), at((look + 1) * 15)));
            let due: Vec<_> = looks
                .filter(|(before, now)| is_turn_of(&node, *before, *now, interval))
                .map(|(_, now)| now)
                .collect();
            assert_eq!(due.len(), 2, "{node}");
            assert_eq!(due[1].duration_since(due[0]), interval);
            moments.insert(due[0]);
        }
        assert!(moments.len() > 15, "{moments:?}");
    }
}
