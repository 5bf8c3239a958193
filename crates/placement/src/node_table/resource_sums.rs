//! Sums from which terms can be subtracted exactly: 128 bits wide, so that no sum of 64-bit amounts
//! overflows.

use evenkeel_units::{Amount, Resource, Resources};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ResourceSums(Resources<u128>);

impl ResourceSums {
    pub(super) fn add(&mut self, amounts: &Resources<Amount>) {
        for (resource, amount) in amounts.iter() {
            self.0[resource] += u128::from(amount.get());
        }
    }

    pub(super) fn subtract(&mut self, amounts: &Resources<Amount>) {
        for (resource, amount) in amounts.iter() {
            let sum = &mut self.0[resource];
            *sum = sum.saturating_sub(u128::from(amount.get()));
        }
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        Self(Resources::from_fn(|resource| {
            self.of(resource) + other.of(resource)
        }))
    }

    pub(super) fn of(&self, resource: Resource) -> u128 {
        self.0[resource]
    }

    /// At most `u64::MAX`.
    pub(super) fn get(&self) -> Resources<Amount> {
        self.0.map(clamp)
    }
}

/// At most `u64::MAX`.
pub(super) fn clamp(sum: u128) -> Amount {
    Amount::new(u64::try_from(sum).unwrap_or(u64::MAX))
}
