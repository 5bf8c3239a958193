//! The usage of the Pods of one workload over the last hour, in a few hundred bytes. A cluster has
//! tens of thousands of workloads, so the history keeps counts by quarter of an hour and by size in
//! steps of a sixteenth of an octave (an error of 6 % at most). If a quarter has too many sizes,
//! the two rarest neighbours merge at the larger one, so an estimate may be too high and never too
//! low.

use evenkeel_units::{Amount, Resource};
use jiff::Timestamp;

/// Share of the samples that are no larger than the demand made of them.
const PERCENTILE: u32 = 90;
/// Quarters of an hour looked back on, including the one that has begun.
const SLOTS: u8 = 4;
const SLOT_SECONDS: i64 = 15 * 60;
/// Sizes kept per quarter and resource.
const SIZES: usize = 8;
/// Fewer samples are not enough: a starting Pod uses another amount than a serving one.
const FEWEST: u32 = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cell {
    slot: u8,
    resource: Resource,
    size: u16,
    count: u16,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageHistory {
    /// Ordered by slot (as begun), resource, and size.
    cells: Vec<Cell>,
}

impl UsageHistory {
    pub fn add(&mut self, resource: Resource, used: Amount, now: Timestamp) {
        self.forget(now);
        let (slot, size) = (slot(now), size(used));
        let of_slot = |cell: &Cell| cell.slot == slot && cell.resource == resource;
        let known = self
            .cells
            .iter_mut()
            .find(|cell| of_slot(cell) && cell.size == size);
        if let Some(cell) = known {
            cell.count = cell.count.saturating_add(1);
            return;
        }
        if self.cells.len() == self.cells.capacity() {
            // Doubling would leave half of the memory of ten thousand workloads empty.
            self.cells.reserve_exact(SIZES);
        }
        self.cells.push(Cell {
            slot,
            resource,
            size,
            count: 1,
        });
        if self.cells.iter().filter(|cell| of_slot(cell)).count() > SIZES {
            self.merge(slot, resource);
        }
    }

    /// Forgets what is older than an hour.
    pub fn forget(&mut self, now: Timestamp) {
        let current = slot(now);
        self.cells
            .retain(|cell| current.wrapping_sub(cell.slot) < SLOTS);
    }

    /// Nothing is known of the last hour.
    pub const fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The 90th percentile; `None` if too little is known.
    pub fn usual(&self, resource: Resource) -> Option<Amount> {
        let of_resource = self.cells.iter().filter(|cell| cell.resource == resource);
        let mut sizes: Vec<(u16, u32)> = of_resource
            .map(|cell| (cell.size, u32::from(cell.count)))
            .collect();
        sizes.sort_unstable();
        let total: u32 = sizes.iter().map(|(_, count)| count).sum();
        if total < FEWEST {
            return None;
        }
        let rank = (total * PERCENTILE).div_ceil(100);
        let mut passed = 0;
        let found = sizes.iter().find(|(_, count)| {
            passed += count;
            passed >= rank
        });
        found.map(|(size, _)| largest(*size))
    }

    /// Merges the rarest two adjacent sizes of a slot.
    fn merge(&mut self, slot: u8, resource: Resource) {
        let of_slot = |cell: &Cell| cell.slot == slot && cell.resource == resource;
        let mut sizes: Vec<Cell> = self
            .cells
            .iter()
            .filter(|cell| of_slot(cell))
            .copied()
            .collect();
        sizes.sort_unstable_by_key(|cell| cell.size);
        let pairs = sizes.windows(2).filter_map(|pair| match pair {
            [smaller, larger] => Some((
                smaller.count.saturating_add(larger.count),
                *smaller,
                *larger,
            )),
            _ => None,
        });
        let Some((count, smaller, larger)) =
            pairs.min_by_key(|(count, smaller, _)| (*count, smaller.size))
        else {
            return;
        };
        self.cells.retain(|cell| *cell != smaller);
        if let Some(cell) = self.cells.iter_mut().find(|cell| **cell == larger) {
            cell.count = count;
        }
    }
}

/// The quarter of an hour; numbers recur only after days.
fn slot(now: Timestamp) -> u8 {
    let quarter = now.as_second().div_euclid(SLOT_SECONDS).rem_euclid(256);
    u8::try_from(quarter).unwrap_or_default()
}

/// The range of an amount: each octave in sixteen parts, and 0 for 0.
fn size(amount: Amount) -> u16 {
    let value = u128::from(amount.get());
    let Some(octave) = value.checked_ilog2() else {
        return 0;
    };
    let part = ((value << 4) >> octave) - 16;
    let size = u128::from(octave) * 16 + part + 1;
    u16::try_from(size).unwrap_or(u16::MAX)
}

fn largest(size: u16) -> Amount {
    let Some(above) = size.checked_sub(1) else {
        return Amount::ZERO;
    };
    let (octave, part) = (above / 16, u128::from(above % 16));
    let value = (((17 + part) << octave) - 1) >> 4;
    Amount::new(u64::try_from(value).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_100 + minute * 60).unwrap()
    }

    fn of(values: &[u64]) -> UsageHistory {
        let mut history = UsageHistory::default();
        for value in values {
            history.add(Resource::Cpu, Amount::new(*value), at(0));
        }
        history
    }

    #[test]
    fn nine_tenths_of_the_samples_are_no_larger() {
        let usual = |values: &[u64]| of(values).usual(Resource::Cpu).map(Amount::get);
        assert_eq!(usual(&[4; 11]), None, "too few");
        assert_eq!(usual(&[4; 12]), Some(4));
        assert_eq!(usual(&[0; 20]), Some(0));
        assert_eq!(
            usual(&[[1; 9].as_slice(), &[8; 1], &[1; 10]].concat()),
            Some(1)
        );
        assert_eq!(
            usual(&[[1; 9].as_slice(), &[8; 3], &[1; 10]].concat()),
            Some(8)
        );
        assert_eq!(of(&[4; 20]).usual(Resource::Memory), None);
    }

    #[test]
    fn a_workload_takes_less_than_a_kilobyte_whatever_its_pods_do() {
        let mut history = UsageHistory::default();
        for minute in 0..240 {
            for value in 0..100_u64 {
                let resource = Resource::ALL[usize::try_from(value % 5).unwrap()];
                history.add(resource, Amount::new(value.pow(5)), at(minute));
            }
        }
        let bytes = history.cells.capacity() * size_of::<Cell>();
        assert!(bytes <= 1024, "{bytes}");
    }

    #[test]
    fn what_is_older_than_an_hour_is_forgotten() {
        let mut history = of(&[1000; 100]);
        for minute in 0..60 {
            history.add(Resource::Cpu, Amount::new(8), at(minute));
        }
        assert!(history.usual(Resource::Cpu) > Some(Amount::new(900)));
        for minute in 60..75 {
            history.add(Resource::Cpu, Amount::new(8), at(minute));
        }
        assert_eq!(history.usual(Resource::Cpu), Some(Amount::new(8)));
        history.forget(at(75 + 60));
        assert!(history.is_empty());
    }

    proptest! {
        #[test]
        fn the_estimate_is_no_lower_than_the_percentile_and_memory_is_bounded(
            values in prop::collection::vec((any::<u64>(), 0_u32..64), 12..300)
        ) {
            let values: Vec<u64> = values.iter().map(|(value, shift)| value >> shift).collect();
            let history = of(&values);
            let mut sorted = values;
            sorted.sort_unstable();
            let rank = (sorted.len() * 9).div_ceil(10);
            let exact = sorted[rank - 1];
            let found = history.usual(Resource::Cpu).unwrap().get();
            prop_assert!(found >= exact, "{found} {exact}");
            prop_assert!(history.cells.len() <= SIZES);
        }

        #[test]
        fn a_size_holds_its_amount_and_is_a_sixteenth_wide(value in any::<u64>(), shift in 0_u32..64) {
            let amount = Amount::new(value >> shift);
            let top = largest(size(amount));
            prop_assert!(top >= amount);
            prop_assert!(u128::from(top.get()) * 16 <= u128::from(amount.get()) * 17);
            prop_assert_eq!(size(top), size(amount));
        }
    }
}
