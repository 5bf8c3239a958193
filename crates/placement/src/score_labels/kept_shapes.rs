//! The shapes with labels on nodes. Each is a label on every node, so there are at most
//! [`MOST_SHAPES`], by the number of their Pods. A Pod of another shape uses the nearest one that is
//! not smaller. A change of the set costs a patch of every node, so a shape is only displaced by one
//! that clearly has had more Pods for some minutes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::shape::Shape;
use super::shape_totals::ShapeTotals;

pub const MOST_SHAPES: usize = 32;

/// The shapes of one namespace that count by their Pods. Further ones only get labels that are left.
const SHARE: usize = 8;

/// The time for which a shape without Pods keeps its labels, if there is room for it: the next run
/// of a Job finds them.
const UNUSED: SignedDuration = SignedDuration::from_hours(1);

/// The time for which a shape must have more Pods than another before it displaces that one.
const HOLD: SignedDuration = SignedDuration::from_mins(5);

/// The Pods of each shape, given those of each namespace. Of a namespace only the [`SHARE`] shapes
/// with most Pods count, so that one tenant cannot displace the shapes of all others.
pub fn shared_counts<'a>(
    namespaces: impl IntoIterator<Item = &'a BTreeMap<Shape, ShapeTotals>>,
) -> BTreeMap<Shape, usize> {
    let mut counts: BTreeMap<Shape, usize> = BTreeMap::new();
    for pods in namespaces {
        let mut shapes: Vec<(&Shape, usize)> = pods
            .iter()
            .map(|(shape, pods)| (shape, pods.count))
            .collect();
        shapes.sort_by_key(|(shape, pods)| (Reverse(*pods), *shape));
        for (at, (shape, pods)) in shapes.into_iter().enumerate() {
            let counted = if at < SHARE { pods } else { 0 };
            *counts.entry(shape.clone()).or_default() += counted;
        }
    }
    counts
}

/// The leader's memory of the shapes with labels.
#[derive(Debug, Clone, Default)]
pub struct KeptShapes {
    last_used: BTreeMap<Shape, Timestamp>,
    kept: BTreeSet<Shape>,
    /// The shapes that have more Pods than a kept one, and since when.
    waiting: BTreeMap<Shape, Timestamp>,
}

impl KeptShapes {
    /// The shapes to keep, by the number of Pods of each. `labelled` has those with labels now.
    pub fn choose(
        &mut self,
        pods: &BTreeMap<Shape, usize>,
        labelled: &BTreeSet<Shape>,
        now: Timestamp,
    ) -> BTreeSet<Shape> {
        let ranked = self.ranked(pods, labelled, now);
        self.kept.retain(|shape| ranked.contains(shape));
        // A new leader goes on with the shapes of the one before.
        let is_labelled = |shape: &&Shape| labelled.contains(*shape);
        let fresh = ranked.iter().filter(|shape| !is_labelled(shape));
        for shape in ranked.iter().filter(is_labelled).chain(fresh) {
            if self.kept.len() < MOST_SHAPES {
                self.kept.insert(shape.clone());
            }
        }
        self.displace(&ranked, now);
        self.kept.clone()
    }

    /// The shapes that may be kept, the one with most Pods first.
    fn ranked(
        &mut self,
        pods: &BTreeMap<Shape, usize>,
        labelled: &BTreeSet<Shape>,
        now: Timestamp,
    ) -> Vec<Shape> {
        let is_held = |shape: &Shape| self.kept.contains(shape) || labelled.contains(shape);
        // Another leader may have used a shape until now.
        for shape in labelled {
            self.last_used.entry(shape.clone()).or_insert(now);
        }
        for shape in pods.keys() {
            self.last_used.insert(shape.clone(), now);
        }
        self.last_used
            .retain(|shape, _| pods.contains_key(shape) || is_held(shape));
        let in_use = self
            .last_used
            .iter()
            .filter(|(_, last)| now.duration_since(**last) < UNUSED);
        let mut ranked: Vec<(usize, bool, &Shape)> = in_use
            .map(|(shape, _)| {
                let used = pods.get(shape).copied().unwrap_or_default();
                let bonus = if is_held(shape) { used / 4 } else { 0 };
                (used.saturating_add(bonus), is_held(shape), shape)
            })
            .collect();
        ranked.sort_by_key(|(used, is_held, shape)| (Reverse((*used, *is_held)), *shape));
        ranked
            .into_iter()
            .map(|(.., shape)| shape.clone())
            .collect()
    }

    /// Lets each shape that has been among the first for long enough take the place of the last one.
    fn displace(&mut self, ranked: &[Shape], now: Timestamp) {
        let first = ranked.iter().take(MOST_SHAPES);
        let candidates: Vec<&Shape> = first.filter(|shape| !self.kept.contains(*shape)).collect();
        self.waiting.retain(|shape, _| candidates.contains(&shape));
        for shape in candidates {
            let since = *self.waiting.entry(shape.clone()).or_insert(now);
            if now.duration_since(since) < HOLD {
                continue;
            }
            let last = ranked.iter().rfind(|shape| self.kept.contains(*shape));
            if let Some(last) = last {
                self.kept.remove(last);
            }
            self.kept.insert(shape.clone());
            self.waiting.remove(shape);
        }
    }
}

/// The shape whose labels a Pod of shape `wanted` reads; `None` if all of them are smaller.
///
/// While there is room, the Pod reads its own shape's labels, which then follow.
pub fn assigned(wanted: &Shape, labelled: &BTreeSet<Shape>) -> Option<Shape> {
    if labelled.len() < MOST_SHAPES || labelled.contains(wanted) {
        return Some(wanted.clone());
    }
    let larger = labelled.iter().filter(|shape| shape.covers(wanted));
    let nearest = larger.min_by_key(|shape| {
        let is_other = shape.profile() != wanted.profile();
        (is_other, shape.distance(wanted), *shape)
    });
    nearest.cloned()
}

#[cfg(test)]
mod tests {
    use evenkeel_units::{Amount, Resources};
    use proptest::prelude::*;

    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn shape(name: &str) -> Shape {
        Shape::named(name).unwrap()
    }

    fn names(shapes: &BTreeSet<Shape>) -> Vec<String> {
        shapes.iter().map(ToString::to_string).collect()
    }

    /// Shapes `c1`, `c2` and so on, with these numbers of Pods.
    fn pods(numbers: &[usize]) -> BTreeMap<Shape, usize> {
        let numbered = (1_u32..).zip(numbers);
        numbered
            .map(|(class, pods)| (shape(&format!("normal-m{class}")), *pods))
            .collect()
    }

    fn at(minutes: i64) -> Timestamp {
        NOW + SignedDuration::from_mins(minutes)
    }

    #[test]
    fn the_shapes_with_most_pods_are_kept() {
        let mut used = pods(&[5; MOST_SHAPES]);
        used.insert(shape("io-d1"), 4);
        let mut kept = KeptShapes::default();
        let first = kept.choose(&used, &BTreeSet::new(), at(0));
        assert_eq!(first.len(), MOST_SHAPES);
        assert!(!first.contains(&shape("io-d1")));
        // A few Pods more do not move labels; a quarter more does, after some minutes.
        for (number, minutes, is_kept) in [
            (6, 1, false),
            (6, 10, false),
            (7, 11, false),
            (6, 12, false),
            (7, 13, false),
            (7, 17, false),
            (7, 18, true),
            (7, 19, true),
        ] {
            used.insert(shape("io-d1"), number);
            let next = kept.choose(&used, &first, at(minutes));
            assert_eq!(next.contains(&shape("io-d1")), is_kept, "{minutes}");
            assert_eq!(next.len(), MOST_SHAPES);
        }
    }

    #[test]
    fn a_new_leader_goes_on_with_the_labels_that_are_there() {
        let labelled: BTreeSet<Shape> = pods(&[1; MOST_SHAPES]).into_keys().collect();
        let mut used = pods(&[1; MOST_SHAPES]);
        used.extend((1..=9).map(|class| (shape(&format!("io-d{class}")), 100)));
        let mut kept = KeptShapes::default();
        assert_eq!(kept.choose(&used, &labelled, at(0)), labelled);
        let later = kept.choose(&used, &labelled, at(5));
        assert_eq!(later.difference(&labelled).count(), 9);
        assert_eq!(later.len(), MOST_SHAPES);
    }

    #[test]
    fn a_namespace_with_many_shapes_leaves_room_for_others() {
        let many: BTreeMap<Shape, usize> = (1..=40)
            .map(|class| (shape(&format!("io-d{class}")), 1000))
            .collect();
        let counted = |counts: &BTreeMap<Shape, usize>| -> BTreeMap<Shape, ShapeTotals> {
            let mut all: BTreeMap<Shape, ShapeTotals> = BTreeMap::new();
            for (shape, count) in counts {
                let pods = all.entry(shape.clone()).or_default();
                (0..*count).for_each(|_| pods.add(&Resources::default()));
            }
            all
        };
        let namespaces = [&many, &pods(&[2; 20]), &pods(&[3, 1])].map(counted);
        let counts = shared_counts(&namespaces);
        assert_eq!(counts.len(), 60);
        assert_eq!(counts[&shape("normal-m1")], 5);
        let found = KeptShapes::default().choose(&counts, &BTreeSet::new(), at(0));
        let of_many = found.iter().filter(|shape| many.contains_key(*shape));
        assert_eq!(of_many.count(), MOST_SHAPES - SHARE);
        assert!(pods(&[2; SHARE]).keys().all(|shape| found.contains(shape)));
    }

    #[test]
    fn a_shape_without_pods_keeps_its_labels_for_an_hour_while_there_is_room() {
        let mut kept = KeptShapes::default();
        let labelled: BTreeSet<Shape> = [shape("io-d1")].into();
        let used = pods(&[1]);
        let found = kept.choose(&used, &labelled, at(0));
        assert_eq!(names(&found), ["io-d1", "normal-m1"]);
        assert_eq!(kept.choose(&used, &labelled, at(53)).len(), 2);
        let mut full = kept.clone();
        for (minutes, is_kept) in [(54, true), (59, false)] {
            let found = full.choose(&pods(&[1; MOST_SHAPES]), &labelled, at(minutes));
            assert_eq!(
                found.contains(&shape("io-d1")),
                is_kept,
                "others need the room"
            );
        }
        for later in [60, 61] {
            let found = kept.choose(&used, &labelled, at(later));
            assert_eq!(
                names(&found),
                ["normal-m1"],
                "also while its labels still go"
            );
        }
    }

    #[test]
    fn a_pod_reads_the_nearest_shape_that_is_not_smaller() {
        let few: BTreeSet<Shape> = [shape("normal-m9")].into();
        let wanted = shape("network-n2-m2");
        assert_eq!(
            assigned(&wanted, &few),
            Some(wanted.clone()),
            "there is room"
        );
        let mut full: BTreeSet<Shape> = pods(&[1; MOST_SHAPES]).into_keys().collect();
        assert_eq!(
            assigned(&wanted, &full),
            None,
            "none has a demand of network"
        );
        full.pop_first();
        full.insert(shape("io-n2-d1-m3"));
        assert_eq!(assigned(&wanted, &full), Some(shape("io-n2-d1-m3")));
        full.pop_last();
        full.insert(shape("network-n5-m5"));
        let found = assigned(&wanted, &full);
        assert_eq!(
            found,
            Some(shape("network-n5-m5")),
            "its own profile comes first"
        );
        full.pop_last();
        full.insert(wanted.clone());
        assert_eq!(assigned(&wanted, &full), Some(wanted));
    }

    proptest! {
        #[test]
        fn an_assigned_shape_is_never_smaller(
            wanted in prop::array::uniform5(0_u64..1 << 40),
            others in prop::collection::btree_set(prop::array::uniform5(0_u64..1 << 40), 0..64),
        ) {
            let shape = |demand: [u64; 5]| Shape::of("normal", &Resources::new(demand).map(Amount::new));
            let labelled: BTreeSet<Shape> = others.into_iter().map(shape).collect();
            let wanted = shape(wanted);
            let found = assigned(&wanted, &labelled);
            prop_assert!(found.is_none_or(|found| found.covers(&wanted)));
        }
    }
}
