//! Topology spread while Pods go: which removals leave it as even as it can be.
//!
//! The skew of a constraint is the difference between the domains with most and with fewest matching
//! Pods. Domains without any are left out: whether they count is for affinity and taints to say, and
//! without them less is allowed, never more. So a removal that is kept here raises the skew no further
//! than the best removal would, whichever empty domains there are.

/// One constraint on the spread of Pods over domains, such as zones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpreadConstraint {
    /// The largest skew that is wanted.
    pub max_skew: u32,
    /// The matching Pods of each domain that has any, those of other workloads included.
    pub counts: Vec<u32>,
    /// The position of each Pod's domain in the counts, in the order of the Pods; `None` for a Pod that is
    /// counted in none.
    pub domains: Vec<Option<usize>>,
    /// True for the default constraint of the scheduler, if the workload sets none. Then all
    /// removals up to the wanted skew are equally good.
    pub is_default: bool,
}

/// The counts of a constraint while Pods go.
pub(super) struct Skew<'a> {
    constraint: &'a SpreadConstraint,
    counts: Vec<u32>,
}

/// The extremes of the counts, by which every removal is judged.
#[derive(Clone, Copy)]
struct Extremes {
    most: u32,
    /// The most of all domains but one that has the most.
    second: u32,
    fewest: u32,
}

impl<'a> Skew<'a> {
    pub(super) fn new(constraint: &'a SpreadConstraint) -> Self {
        Self {
            constraint,
            counts: constraint.counts.clone(),
        }
    }

    fn domain(&self, pod: usize) -> Option<usize> {
        let domain = *self.constraint.domains.get(pod)?;
        domain.filter(|&domain| domain < self.counts.len())
    }

    /// Lets a Pod go.
    pub(super) fn leave(&mut self, pod: usize) {
        if let Some(domain) = self.domain(pod) {
            self.counts[domain] = self.counts[domain].saturating_sub(1);
        }
    }

    /// Keeps the Pods that are best to remove: first those with the least skew above the wanted
    /// one. Of these, it keeps those that do not raise the present skew, or raise it least.
    pub(super) fn keep_best(&self, pods: &mut Vec<usize>) {
        let Some(extremes) = self.extremes() else {
            return;
        };
        let wanted = self.constraint.max_skew;
        let now = extremes.most - extremes.fewest;
        let least = if self.constraint.is_default {
            now.max(wanted)
        } else {
            now
        };
        let badness = |&pod: &usize| {
            let after = self.after(pod, extremes);
            (after.saturating_sub(wanted), after.max(least))
        };
        if let Some(best) = pods.iter().map(badness).min() {
            pods.retain(|pod| badness(pod) == best);
        }
    }

    fn extremes(&self) -> Option<Extremes> {
        let fewest = *self.counts.iter().min()?;
        let (mut most, mut second) = (0, 0);
        for &count in &self.counts {
            if count >= most {
                (most, second) = (count, most);
            } else {
                second = second.max(count);
            }
        }
        Some(Extremes {
            most,
            second,
            fewest,
        })
    }

    /// The skew without a Pod.
    fn after(&self, pod: usize, extremes: Extremes) -> u32 {
        let Extremes {
            most,
            second,
            fewest,
        } = extremes;
        let Some(domain) = self.domain(pod) else {
            return most - fewest;
        };
        let count = self.counts[domain];
        let left = count.saturating_sub(1);
        let most = if count == most {
            second.max(left)
        } else {
            most
        };
        most - fewest.min(left)
    }
}
