//! The bound Pods of a shape. The levels are computed for what these Pods demand on average: the
//! bound of a class may be four times as much, and small nodes would then seem to have no room. Each
//! Pod counts within the bounds of its classes, so the Pods of one tenant can change the mean only
//! between these.

use std::collections::BTreeMap;

use evenkeel_units::{Amount, Resources};

use super::shape::Shape;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ShapeTotals {
    pub count: usize,
    /// The sum over the Pods.
    demand: Resources<Amount>,
}

impl ShapeTotals {
    /// Counts a Pod with this demand.
    pub fn add(&mut self, demand: &Resources<Amount>) {
        self.merge(&Self {
            count: 1,
            demand: *demand,
        });
    }

    /// Takes back what [`Self::add`] counted.
    pub fn remove(&mut self, demand: &Resources<Amount>) {
        self.count = self.count.saturating_sub(1);
        self.demand =
            Resources::from_fn(|resource| self.demand[resource].saturating_sub(demand[resource]));
    }

    /// Counts these Pods too.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.demand = Resources::from_fn(|resource| {
            self.demand[resource].saturating_add(other.demand[resource])
        });
    }

    /// The mean demand of a Pod; `None` without Pods.
    pub fn mean_demand(&self) -> Option<Resources<Amount>> {
        let count = u64::try_from(self.count).ok().filter(|count| *count > 0)?;
        Some(
            self.demand
                .map(|sum| Amount::new(sum.get().div_ceil(count))),
        )
    }
}

/// The Pods of each shape, over all these namespaces.
pub fn merge_namespaces<'a>(
    namespaces: impl IntoIterator<Item = &'a BTreeMap<Shape, ShapeTotals>>,
) -> BTreeMap<Shape, ShapeTotals> {
    let mut all: BTreeMap<Shape, ShapeTotals> = BTreeMap::new();
    for (shape, pods) in namespaces.into_iter().flatten() {
        all.entry(shape.clone()).or_default().merge(pods);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_that_of_the_pods_of_all_namespaces() {
        let demand = |cpu| Resources::new([Amount::new(cpu); 5]);
        let shape = Shape::named("normal-c2").unwrap();
        let namespace = |demands: &[u64]| {
            let mut pods = ShapeTotals::default();
            for cpu in demands {
                pods.add(&demand(*cpu));
            }
            BTreeMap::from([(shape.clone(), pods)])
        };
        let [one, other, none] = [namespace(&[10, 20]), namespace(&[61]), namespace(&[])];
        let mut all = merge_namespaces([&one, &other, &none]);
        let pods = all.get_mut(&shape).unwrap();
        assert_eq!(pods.count, 3);
        assert_eq!(pods.mean_demand(), Some(demand(31)), "91 / 3, rounded up");
        pods.remove(&demand(61));
        assert_eq!(pods.mean_demand(), Some(demand(15)));
        assert_eq!(none[&shape].mean_demand(), None);
    }
}
