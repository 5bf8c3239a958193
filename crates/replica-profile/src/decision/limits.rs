//! How many Pods may be out of traffic: by the workload's own `maxUnavailable`, by PodDisruptionBudgets, and
//! one at a time where the workload waits for each Pod to be ready.

use evenkeel_api::replica_profile::refusal::ProfileRefusal;

use super::count_difference::excess;

/// Limits on the Pods that are out of traffic.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DisruptionLimits {
    /// The most Pods that may be unavailable; `None` where the workload sets no limit.
    pub max_unavailable: Option<i32>,
    /// True where the workload makes and deletes no Pod while another one is not ready.
    pub is_ordered: bool,
    /// The budgets that cover any of its Pods.
    pub budgets: Vec<Budget>,
}

/// A PodDisruptionBudget.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Budget {
    pub name: String,
    /// The Pods of its own that may still become unavailable.
    pub allowed: i32,
    /// True where that is none by its spec, whatever becomes of its Pods.
    pub is_absolute: bool,
    /// The positions of the Pods that it covers.
    pub covers: Vec<usize>,
}

impl DisruptionLimits {
    /// The most Pods out of traffic, and what limits them.
    fn most_off(&self) -> Option<i32> {
        let ordered = self.is_ordered.then_some(1);
        match (self.max_unavailable, ordered) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    /// Of `wanted` Pods out of traffic those that the workload's own limit lets be.
    pub(super) fn within(&self, wanted: i32) -> i32 {
        self.most_off().map_or(wanted, |most| wanted.min(most))
    }

    /// The same while `others` Pods are unavailable without being out of traffic.
    pub(super) fn beside(&self, wanted: i32, others: i32) -> i32 {
        let left = self.max_unavailable.map(|most| excess(most, others));
        let wanted = left.map_or(wanted, |left| wanted.min(left));
        self.within(wanted)
    }

    /// Why so many Pods are not out of traffic, where that is the workload's own limit.
    pub(super) fn refusal(&self, wanted: i32) -> Option<ProfileRefusal> {
        let allowed = self.within(wanted);
        if allowed >= wanted {
            return None;
        }
        Some(if self.is_ordered && allowed == 1 {
            ProfileRefusal::Ordered { wanted }
        } else {
            ProfileRefusal::MaxUnavailable { wanted, allowed }
        })
    }
}

/// The Pods that budgets still let go, while Pods are chosen one after another.
pub(super) struct Allowance<'a> {
    budgets: &'a [Budget],
    left: Vec<i32>,
    /// The first budget that refused a Pod.
    refused: Option<usize>,
    /// True where a Pod was refused by none but budgets that may let it go at another time.
    waits: bool,
}

impl<'a> Allowance<'a> {
    pub(super) fn of(limits: &'a DisruptionLimits) -> Self {
        let budgets = limits.budgets.as_slice();
        Self {
            budgets,
            left: budgets.iter().map(|budget| budget.allowed).collect(),
            refused: None,
            waits: false,
        }
    }

    /// True where every budget lets this Pod go, which then counts.
    pub(super) fn take(&mut self, pod: usize) -> bool {
        let covering = |at: &usize| self.budgets[*at].covers.contains(&pod);
        let covering: Vec<usize> = (0..self.budgets.len()).filter(covering).collect();
        if let Some(&full) = covering.iter().find(|&&at| self.left[at] == 0) {
            self.refused.get_or_insert(full);
            let mut refusing = covering.iter().filter(|&&at| self.left[at] == 0);
            self.waits |= refusing.all(|&at| !self.budgets[at].is_absolute);
            return false;
        }
        for at in covering {
            self.left[at] -= 1;
        }
        true
    }

    /// True where a Pod that was refused may go at another time.
    pub(super) const fn waits(&self) -> bool {
        self.waits
    }

    /// The budget that refused a Pod.
    pub(super) fn refusal(&self) -> Option<ProfileRefusal> {
        let budget = &self.budgets[self.refused?];
        Some(ProfileRefusal::DisruptionBudget {
            name: budget.name.clone(),
        })
    }
}
