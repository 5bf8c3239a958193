//! The check that a preemption would make room for a Pod: the headroom rule (`[CLBP]` (4.1))
//! without the victims.

use evenkeel_units::{Amount, Ratio, Resources};

use crate::headroom;
use crate::node_load::NodeLoad;

/// The node has headroom for the demand once `relief` has left.
pub(crate) fn makes_room(
    demand: &Resources<Amount>,
    node: &NodeLoad,
    relief: &Resources<Amount>,
    headroom: Ratio,
) -> bool {
    let left = NodeLoad {
        load: Resources::from_fn(|resource| node.load[resource].saturating_sub(relief[resource])),
        ..*node
    };
    headroom::fits(demand, &left, headroom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_what_is_left_when_the_victims_have_gone() {
        let all = |value| Resources::new([Amount::new(value); 5]);
        let node = NodeLoad {
            capacity: all(1000).map(Some),
            load: all(900),
            ..NodeLoad::default()
        };
        let headroom = Ratio::share(0.8).unwrap();
        for (relief, room) in [
            (0, false),
            (299, false),
            (300, false),
            (301, true),
            (2000, true),
        ] {
            let found = makes_room(&all(200), &node, &all(relief), headroom);
            assert_eq!(found, room, "{relief}");
        }
    }
}
