//! Topology spread while Pods go: which removals leave it as even as possible. The skew is the
//! difference between the domains with most and with fewest matching Pods. Empty domains are left
//! out, because affinity and taints decide whether they count, and without them less is allowed,
//! never more. So a removal kept here raises the skew no further than the best one, whichever empty
//! domains there are.

/// For example over zones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpreadConstraint {
    pub max_skew: u32,
    /// Matching Pods by non-empty domain, those of other workloads included.
    pub counts: Vec<u32>,
    /// The index in `counts` of each Pod's domain; `None` for a Pod that counts in none.
    pub domains: Vec<Option<usize>>,
    /// The scheduler's default constraint, in use if the workload sets none: all removals up to the
    /// wanted skew are equally good.
    pub is_default: bool,
}

pub(super) struct Skew<'a> {
    constraint: &'a SpreadConstraint,
    counts: Vec<u32>,
}

/// Every removal is judged by these.
#[derive(Clone, Copy)]
struct Extremes {
    most: u32,
    /// The maximum over all domains but one with the maximum.
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

    pub(super) fn leave(&mut self, pod: usize) {
        if let Some(domain) = self.domain(pod) {
            self.counts[domain] = self.counts[domain].saturating_sub(1);
        }
    }

    /// Keeps the Pods with the least skew above the wanted one, and of these the ones that raise
    /// the present skew not at all, or least.
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
