//! How far one decision moves a limit: 50 % up or down. A farther goal takes several turns.

use evenkeel_units::Amount;

/// Limits that one decision may set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LimitStepRange {
    pub(super) least: Amount,
    pub(super) most: Amount,
}

impl LimitStepRange {
    pub(super) const fn around(current: Amount) -> Self {
        let half = current.get() / 2;
        Self {
            least: Amount::new(current.get() - half),
            most: Amount::new(current.get().saturating_add(half)),
        }
    }

    /// Extends the step up to an amount.
    pub(super) fn reach(&mut self, amount: Amount) {
        self.most = self.most.max(amount);
    }

    pub(super) fn towards(self, goal: Amount) -> Amount {
        goal.max(self.least).min(self.most)
    }
}
