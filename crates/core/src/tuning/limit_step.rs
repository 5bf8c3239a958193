//! How far one decision moves a limit: half as much again, or half as much. A goal that is farther away is come
//! nearer to, turn by turn.

use crate::units::Amount;

/// The limits that one decision may set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LimitStepRange {
    pub(super) least: Amount,
    pub(super) most: Amount,
}

impl LimitStepRange {
    /// A step from this limit.
    pub(super) const fn around(current: Amount) -> Self {
        let half = current.get() / 2;
        Self {
            least: Amount::new(current.get() - half),
            most: Amount::new(current.get().saturating_add(half)),
        }
    }

    /// Lets the step reach up to an amount.
    pub(super) fn reach(&mut self, amount: Amount) {
        self.most = self.most.max(amount);
    }

    /// The amount nearest to `goal`.
    pub(super) fn towards(self, goal: Amount) -> Amount {
        goal.max(self.least).min(self.most)
    }
}
