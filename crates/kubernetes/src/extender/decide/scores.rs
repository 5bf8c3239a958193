//! From exact scores to the integers that kube-scheduler takes, and to the node that it will pick.

use evenkeel_core::placement::balance;

/// The scores that are answered, each rounded by itself.
pub(super) fn rounded(scores: &[Option<f64>]) -> Vec<u8> {
    scores
        .iter()
        .map(|score| score.map_or(0, balance::to_wire))
        .collect()
}

/// The distance of the other nodes below the best one in a burst: with the shipped weight of 50 it is
/// more than kube-scheduler's own plugins differ by, two of which give 0 to 100 for what is requested.
const LEAD: u8 = 4;

/// The scores that are answered in a burst, while bindings are outstanding: the best node keeps its
/// score, and the others share the range from 0 to [`LEAD`] below it in their order.
///
/// kube-scheduler adds sums of its own, which nobody else sees, and between near equals these would
/// decide. The Pod would be counted on one node and go to another, and where bindings are seen many
/// Pods later, the next ones would overfill that other node.
pub(super) fn decisive(scores: &[Option<f64>], best: Option<usize>) -> Vec<u8> {
    let mut wire = rounded(scores);
    let top = best.and_then(|best| wire.get(best).copied());
    if let Some(top) = top.filter(|&top| top > 0) {
        let most = top.saturating_sub(LEAD);
        for (position, score) in wire.iter_mut().enumerate() {
            if Some(position) != best {
                *score = *score * most / top;
            }
        }
    }
    wire
}

/// The position of the node with the highest score, where the Pod will most likely go.
pub(super) fn best(scores: &[Option<f64>]) -> Option<usize> {
    scores
        .iter()
        .enumerate()
        .filter_map(|(position, score)| score.map(|score| (position, score)))
        // The first of equals, so that the guess is the same each time.
        .max_by(|(a, x), (b, y)| x.total_cmp(y).then(b.cmp(a)))
        .map(|(position, _)| position)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_others_stand_well_below_the_best_in_their_order() {
        let cases = [
            (
                vec![Some(10.0), Some(10.0), Some(9.6)],
                Some(0),
                vec![10, 6, 6],
            ),
            (
                vec![Some(9.6), Some(10.0), Some(9.4)],
                Some(1),
                vec![6, 10, 5],
            ),
            (vec![None, Some(4.0), Some(10.0)], Some(2), vec![0, 2, 10]),
            (vec![Some(10.0)], Some(0), vec![10]),
            (vec![None, None], None, vec![0, 0]),
        ];
        for (exact, expected, answered) in cases {
            assert_eq!(best(&exact), expected, "{exact:?}");
            assert_eq!(decisive(&exact, expected), answered, "{exact:?}");
        }
    }

    proptest! {
        #[test]
        fn the_highest_score_is_given_once_and_to_the_best(
            exact in prop::collection::vec(prop::option::of(0.0..=10.0), 1..20),
            top in 0_usize..20,
        ) {
            let mut exact = exact;
            let top = top % exact.len();
            exact[top] = Some(10.0);
            let best = best(&exact);
            let answered = decisive(&exact, best);
            let highest: Vec<usize> = (0..answered.len()).filter(|&at| answered[at] == 10).collect();
            prop_assert_eq!(highest, [best.unwrap()]);
        }
    }
}
