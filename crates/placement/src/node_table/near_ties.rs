//! The load that nodes may get from Pods that are counted elsewhere. A Pod in doubt also counts on
//! every node that it may have been given. Only the headroom rule adds these sums, for the
//! milliseconds until the choice is known: in a score, a Pod counted everywhere would not tell
//! nodes apart.

use std::sync::Arc;

use evenkeel_units::{Amount, Resources};

/// Some nodes of a set, by position.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NearTies {
    /// That the positions belong to.
    pub(super) roster: u64,
    pub(super) positions: Box<[usize]>,
}

impl NearTies {
    pub(super) fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }
}

/// By position; empty while there is no doubt. Wrapping arithmetic, so that an added amount is
/// subtracted exactly.
#[derive(Debug, Clone, Default)]
pub(super) struct BalanceTotals {
    sums: Option<Arc<Vec<Resources<u64>>>>,
    pods: usize,
}

impl BalanceTotals {
    pub(super) fn at(&self, position: usize) -> Option<Resources<Amount>> {
        let sums = self.sums.as_ref()?.get(position)?;
        Some(sums.map(Amount::new))
    }

    pub(super) const fn is_none(&self) -> bool {
        self.sums.is_none()
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn add(&mut self, positions: &[usize], demand: &Resources<Amount>) {
        if let Some(last) = positions.iter().max() {
            self.pods += 1;
            let sums: &mut Vec<_> = Arc::make_mut(self.sums.get_or_insert_default());
            if sums.len() <= *last {
                sums.resize(*last + 1, Resources::default());
            }
            each(sums, positions, demand, u64::wrapping_add);
        }
    }

    pub(super) fn subtract(&mut self, positions: &[usize], demand: &Resources<Amount>) {
        if positions.is_empty() {
            return;
        }
        self.pods = self.pods.saturating_sub(1);
        if self.pods == 0 {
            self.clear();
        } else if let Some(sums) = self.sums.as_mut() {
            let sums: &mut Vec<_> = Arc::make_mut(sums);
            each(sums, positions, demand, u64::wrapping_sub);
        }
    }
}

fn each(
    sums: &mut [Resources<u64>],
    positions: &[usize],
    demand: &Resources<Amount>,
    with: fn(u64, u64) -> u64,
) {
    for &position in positions {
        if let Some(sum) = sums.get_mut(position) {
            for (resource, amount) in demand.iter() {
                sum[resource] = with(sum[resource], amount.get());
            }
        }
    }
}
