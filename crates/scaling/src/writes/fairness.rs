//! The order of the writes of one tick, where the queue has no room for all of them.

/// Begins with another of `items` at each `tick`, so that no target's writes are always among those
/// that find no room.
pub(crate) fn take_turns<T>(items: &mut [T], tick: u64) {
    // Multiples of the golden ratio lie evenly between 0 and 1, here between 0 and 2^64.
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    let share = u128::from(tick.wrapping_mul(GOLDEN));
    let length = u128::try_from(items.len()).unwrap_or_default();
    items.rotate_left(usize::try_from((share * length) >> 64).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_write_is_always_among_those_that_find_no_room() {
        let all: Vec<u32> = (0..1000).collect();
        let mut found_room = HashSet::new();
        for tick in 0..20 {
            let mut writes = all.clone();
            take_turns(&mut writes, tick);
            found_room.extend(writes.into_iter().take(100));
        }
        assert_eq!(found_room.len(), all.len());
        take_turns::<u32>(&mut [], 7);
    }
}
