//! The spread of one resource over the nodes, and how placing the Pod on each would move it. Arrays
//! are reused for each resource, and loops are free of branches, so that the compiler vectorises
//! them.

use evenkeel_units::{Amount, Resource};

use crate::node_load::NodeLoad;

/// Independent partial results of a reduction: the compiler does not reorder floats, so with one
/// accumulator every addition would wait for the one before.
const LANES: usize = 8;

pub(crate) const BEST: f64 = 10.0;

/// Deviations no further apart than this are equal.
pub(super) const EQUAL: f64 = 1e-12;

/// A variance that shrinks below this share is computed anew, because the remainder of the
/// subtraction is rounding. At most two nodes can be such outliers.
const CANCELLED: f64 = 1e-6;

/// Positions are distances from the mean usage.
#[derive(Default)]
pub(super) struct Spread {
    /// P - mean P (`[CLBP]` (4.4)), undefined where the capacity is unknown.
    position: Vec<f64>,
    /// R / T: what the Pod adds to P; 0 where the capacity is unknown.
    step: Vec<f64>,
    /// 1 / T, or 0 where the capacity is unknown.
    inverse: Vec<f64>,
    /// Change of the variance when the Pod goes to this node.
    change: Vec<f64>,
    /// Known capacities.
    count: f64,
}

impl Spread {
    /// Also fills in [`Self::changes`].
    pub(super) fn measure(&mut self, nodes: &[NodeLoad], resource: Resource, demand: Amount) {
        let demand = demand.as_f64();
        for values in [&mut self.inverse, &mut self.position, &mut self.step] {
            values.resize(nodes.len(), 0.0);
        }
        let places = self.inverse.iter_mut().zip(&mut self.position);
        for (node, (capacity, load)) in nodes.iter().zip(places) {
            // A share of infinity is 0; infinity stands for an unknown capacity.
            let known = node.capacity[resource].filter(|&known| known > Amount::ZERO);
            *capacity = known.map_or(f64::INFINITY, Amount::as_f64);
            *load = node.load[resource].as_f64();
        }
        let places = self.position.iter_mut().zip(&mut self.step);
        for (inverse, (position, step)) in self.inverse.iter_mut().zip(places) {
            *inverse = 1.0 / *inverse;
            *position *= *inverse;
            *step = demand * *inverse;
        }
        self.count = self.sum_known(|_| 1.0);
        self.centre();
        self.fill_changes();
    }

    /// Shifts positions by the mean, twice: the second round removes the rounding of the first.
    fn centre(&mut self) {
        for _ in 0..2 {
            let total = self.sum_known(|position| position);
            let mean = total / self.count.max(1.0);
            for position in &mut self.position {
                *position -= mean;
            }
        }
    }

    fn fill_changes(&mut self) {
        let share = 1.0 / self.count.max(1.0);
        self.change.clear();
        let places = self.position.iter().zip(&self.step);
        self.change
            .extend(places.map(|(&position, &step)| change(position, step, share)));
    }

    /// Change of the variance when an amount leaves a node; 0 where its capacity is unknown.
    pub(super) fn change_without(&self, node: usize, amount: Amount) -> f64 {
        let step = -amount.as_f64() * self.inverse[node];
        change(self.position[node], step, 1.0 / self.count.max(1.0))
    }

    /// Takes an amount away from a node, which moves the mean as well.
    pub(super) fn take(&mut self, node: usize, amount: Amount) {
        let step = -amount.as_f64() * self.inverse[node];
        self.position[node] += step;
        let shift = step / self.count.max(1.0);
        for position in &mut self.position {
            *position -= shift;
        }
    }

    fn sum_known(&self, of: impl Fn(f64) -> f64) -> f64 {
        let mut lanes = [0.0; LANES];
        let (positions, last_positions) = self.position.as_chunks::<LANES>();
        let (inverses, last_inverses) = self.inverse.as_chunks::<LANES>();
        for (positions, inverses) in positions.iter().zip(inverses) {
            for lane in 0..LANES {
                lanes[lane] += if inverses[lane] > 0.0 {
                    of(positions[lane])
                } else {
                    0.0
                };
            }
        }
        let last = last_positions.iter().zip(last_inverses);
        let last = last.filter(|&(_, &inverse)| inverse > 0.0);
        lanes.iter().sum::<f64>() + last.map(|(&position, _)| of(position)).sum::<f64>()
    }

    /// Change of the variance by placing the Pod on each node; 0 where capacity is unknown.
    pub(super) fn changes(&self) -> &[f64] {
        &self.change
    }

    /// Change of the variance per unit of a node's usage above the mean, at the mean step of the
    /// nodes of known capacity: 2 d / n.
    pub(super) fn slope(&self) -> f64 {
        let count = self.count.max(1.0);
        2.0 * self.step.iter().sum::<f64>() / (count * count)
    }

    pub(super) fn known(&self) -> impl Iterator<Item = bool> {
        self.inverse.iter().map(|&inverse| inverse > 0.0)
    }

    /// D (`[CLBP]` (4.9)) of the known nodes with the Pod on each node.
    pub(super) fn deviations(&self) -> Vec<f64> {
        let variance = self.sum_known(|position| position * position) / self.count.max(1.0);
        let after = |(node, change): (usize, &f64)| {
            let after = variance + change;
            if after < CANCELLED * variance {
                self.variance_with(node).sqrt()
            } else {
                after.sqrt()
            }
        };
        self.change.iter().enumerate().map(after).collect()
    }

    /// Directly, without the closed form.
    fn variance_with(&self, node: usize) -> f64 {
        let mean = self.step[node] / self.count;
        let moved = self.position[node] + self.step[node] - mean;
        let others = self.position.iter().zip(self.known()).enumerate();
        let others = others.filter(|&(other, (_, known))| known && other != node);
        let squares = others.map(|(_, (position, _))| (position - mean).powi(2));
        (squares.sum::<f64>() + moved.powi(2)) / self.count
    }

    /// S (`[CLBP]` (4.10)) from [`Self::deviations`]: 10 for the least of the known nodes, 0 for
    /// the largest.
    ///
    /// Differences of deviations come from the exactly known ones of variances: `a - b = (a² - b²)
    /// / (a + b)`.
    pub(super) fn scores(&self, deviations: &[f64]) -> Vec<f64> {
        let known = || self.known().zip(&self.change).zip(deviations);
        let of_known = known().filter_map(|((known, &change), &d)| known.then_some((change, d)));
        let lowest = (f64::INFINITY, 0.0);
        let highest = (f64::NEG_INFINITY, 0.0);
        let (least, most) = of_known.fold((lowest, highest), |(least, most), (change, d)| {
            (
                if change < least.0 { (change, d) } else { least },
                if change > most.0 { (change, d) } else { most },
            )
        });
        let above_least = |change: f64, deviation: f64| {
            (change - least.0) / (deviation + least.1).max(f64::MIN_POSITIVE)
        };
        let range = above_least(most.0, most.1);
        let score = |(&change, &deviation)| {
            if range > EQUAL {
                normalised(above_least(change, deviation) / range)
            } else {
                BEST
            }
        };
        self.change.iter().zip(deviations).map(score).collect()
    }
}

/// Change of the variance when one of `1 / share` nodes, at this distance from the mean, moves by a
/// step.
fn change(position: f64, step: f64, share: f64) -> f64 {
    step * (2.0 * position + step * (1.0 - share)) * share
}

/// `share` runs from 0 at the best to 1 at the worst.
pub(super) fn normalised(share: f64) -> f64 {
    (BEST - BEST * share).clamp(0.0, BEST)
}

/// The minimum or maximum, as `with` picks, in [`LANES`] independent chains.
pub(super) fn extreme(values: &[f64], start: f64, with: impl Fn(f64, f64) -> f64) -> f64 {
    let mut lanes = [start; LANES];
    let (chunks, last) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for lane in 0..LANES {
            lanes[lane] = with(lanes[lane], chunk[lane]);
        }
    }
    for (lane, &value) in lanes.iter_mut().zip(last) {
        *lane = with(*lane, value);
    }
    lanes.into_iter().fold(start, with)
}
