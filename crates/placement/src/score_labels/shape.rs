//! The shape of a Pod: its profile, and the size class of its demand of each resource. Classes are
//! powers of 4, so a shape asks for at most four times what a Pod of it demands, and never for less.

use std::fmt;

use evenkeel_objects::annotations::SCORE_LABEL_PREFIX;
use evenkeel_units::{Amount, Resource, Resources};

/// The letters of the resources in a shape's name, in the order of the name.
const LETTERS: [(Resource, char); 5] = [
    (Resource::NetworkIo, 'n'),
    (Resource::DiskIo, 'd'),
    (Resource::Cpu, 'c'),
    (Resource::Memory, 'm'),
    (Resource::Disk, 'e'),
];

/// Characters of the longest profile name that leaves room for five classes of two digits in a
/// label's name of 63 characters.
const LONGEST_PROFILE: usize = 43;

/// The upper bound of class 1; each further class has four times the bound of the one before.
const fn smallest(resource: Resource) -> u64 {
    match resource {
        // Millicores.
        Resource::Cpu => 16,
        // 16 MiB.
        Resource::Memory | Resource::Disk => 16 << 20,
        // 64 KiB a second.
        Resource::NetworkIo | Resource::DiskIo => 64 << 10,
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shape {
    profile: Box<str>,
    /// 0 without a demand, else the power of 4.
    classes: Resources<u8>,
}

impl Shape {
    /// The smallest shape of this profile that is not smaller than `demand`.
    pub fn of(profile: &str, demand: &Resources<Amount>) -> Self {
        Self {
            profile: profile.into(),
            classes: Resources::from_fn(|resource| class_of(resource, demand[resource])),
        }
    }

    /// The shape with this name.
    pub fn named(name: &str) -> Option<Self> {
        let shape = Self::split(name);
        (!shape.profile.is_empty() && shape.to_string() == name).then_some(shape)
    }

    /// The shape with scores in the node label `key`.
    pub fn of_label(key: &str) -> Option<Self> {
        Self::named(key.strip_prefix(SCORE_LABEL_PREFIX)?)
    }

    /// True if shapes of this profile have valid names of their own: the profile's name is a label's
    /// name that leaves room for the classes, and does not end like one of them.
    pub fn is_profile_name(name: &str) -> bool {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        name.len() <= LONGEST_PROFILE
            && name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.ends_with(|c: char| c.is_ascii_alphanumeric())
            && name.chars().all(is_plain)
            && *Self::split(name).profile == *name
    }

    pub fn profile(&self) -> &str {
        &self.profile
    }

    /// The largest demand of this shape.
    pub fn demand(&self) -> Resources<Amount> {
        Resources::from_fn(|resource| bound(resource, self.classes[resource]))
    }

    /// `demand` within the bounds of this shape's classes. A resource with an unknown demand has the
    /// largest one.
    pub fn demand_within(
        &self,
        demand: &Resources<Amount>,
        known: &Resources<bool>,
    ) -> Resources<Amount> {
        Resources::from_fn(|resource| {
            let class = self.classes[resource];
            let most = bound(resource, class);
            if known[resource] {
                let least = bound(resource, class.saturating_sub(1));
                demand[resource].clamp(least, most)
            } else {
                most
            }
        })
    }

    /// The key of the node label with this shape's scores.
    pub fn label(&self) -> String {
        format!("{SCORE_LABEL_PREFIX}{self}")
    }

    /// True if no Pod of `other` demands more than this shape.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let mut pairs = self.classes.iter().zip(other.classes.values());
        pairs.all(|((_, own), other)| own >= other)
    }

    /// The sum of the differences between the classes of two shapes.
    pub(super) fn distance(&self, other: &Self) -> u32 {
        let pairs = self.classes.values().iter().zip(other.classes.values());
        pairs
            .map(|(own, other)| u32::from(own.abs_diff(*other)))
            .sum()
    }

    /// The largest difference between the classes of one of the resources in `of`.
    pub(super) fn largest_difference(&self, other: &Self, of: Resources<bool>) -> u8 {
        let counted = self.classes.iter().filter(|(resource, _)| of[*resource]);
        let differences = counted.map(|(resource, own)| own.abs_diff(other.classes[resource]));
        differences.max().unwrap_or_default()
    }

    /// Takes the classes off the end of a name.
    fn split(name: &str) -> Self {
        let mut rest = name;
        let mut classes = Resources::default();
        for (resource, letter) in LETTERS.into_iter().rev() {
            let part = rest.rsplit_once('-');
            let class = part.and_then(|(_, part)| part.strip_prefix(letter)?.parse().ok());
            if let Some(((before, _), class)) = part.zip(class) {
                classes[resource] = class;
                rest = before;
            }
        }
        Self {
            profile: rest.into(),
            classes,
        }
    }
}

/// Such as `network-n3-d2-c1-m1`, without the resources that are not demanded.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.profile)?;
        for (resource, letter) in LETTERS {
            match self.classes[resource] {
                0 => {}
                class => write!(f, "-{letter}{class}")?,
            }
        }
        Ok(())
    }
}

fn class_of(resource: Resource, demand: Amount) -> u8 {
    let holds = |class: &u8| bound(resource, *class) >= demand;
    (0..=u8::MAX).find(holds).unwrap_or(u8::MAX)
}

/// The largest demand in a class, at most `u64::MAX`.
fn bound(resource: Resource, class: u8) -> Amount {
    let times = u32::from(class)
        .checked_sub(1)
        .map(|power| 4_u64.saturating_pow(power));
    Amount::new(smallest(resource)).saturating_mul(times.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn amounts(values: [u64; 5]) -> Resources<Amount> {
        Resources::new(values).map(Amount::new)
    }

    #[test]
    fn a_name_says_profile_and_classes() {
        let mib = 1 << 20;
        for (profile, demand, name) in [
            ("normal", [0; 5], "normal"),
            ("normal", [1, 0, 0, 0, 0], "normal-c1"),
            ("compute", [16, 16 * mib, 0, 0, 0], "compute-c1-m1"),
            ("compute", [17, 16 * mib + 1, 0, 0, 0], "compute-c2-m2"),
            ("normal", [1000, 512 * mib, 0, 0, 0], "normal-c4-m4"),
            (
                "network",
                [250, 1 << 30, 1_000_000, 65_537, 1 << 30],
                "network-n3-d2-c3-m4-e4",
            ),
            ("my-own", [0, 0, 125_000_000, 0, 0], "my-own-n7"),
            ("normal", [u64::MAX, 0, 0, 0, 0], "normal-c31"),
        ] {
            let shape = Shape::of(profile, &amounts(demand));
            assert_eq!(shape.to_string(), name);
            assert_eq!(shape.label(), format!("score.evenkeel.dev/{name}"));
            assert_eq!(Shape::of_label(&shape.label()), Some(shape));
        }
    }

    #[test]
    fn a_text_that_no_shape_has_is_none() {
        for name in ["", "-c1", "normal-c0", "normal-c01", "normal-c256"] {
            let found = Shape::named(name);
            let shape = found.filter(|shape| shape.classes != Resources::default());
            assert_eq!(shape, None, "{name:?}");
        }
        assert_eq!(Shape::of_label("evenkeel.dev/normal-c1"), None);
        assert_eq!(Shape::of_label("score.evenkeel.dev/"), None);
    }

    #[test]
    fn names_of_profiles_must_not_look_like_classes_and_must_fit_a_label() {
        let long = "x".repeat(44);
        for (name, expected) in [
            ("normal", true),
            ("my-own.profile_2", true),
            ("n3", true),
            ("a-n3", false),
            ("a-m1-e2", false),
            ("a-x1", true),
            ("", false),
            ("-a", false),
            ("a b", false),
            ("ä", false),
            (&long, false),
        ] {
            assert_eq!(Shape::is_profile_name(name), expected, "{name:?}");
        }
        let largest = Shape::of(&long[1..], &amounts([u64::MAX; 5]));
        assert_eq!(largest.to_string().len(), 63);
    }

    fn some_demand() -> impl Strategy<Value = Resources<Amount>> {
        let amount = (0_u32..64, 0_u64..=u64::MAX).prop_map(|(shift, value)| value >> shift);
        prop::array::uniform5(amount).prop_map(amounts)
    }

    proptest! {
        #[test]
        fn a_shape_is_never_smaller_and_at_most_four_times_as_large(demand in some_demand()) {
            let shape = Shape::of("normal", &demand);
            for (resource, &bound) in shape.demand().iter() {
                let demand = demand[resource];
                prop_assert!(bound >= demand);
                let least = smallest(resource).max(demand.get().saturating_mul(4));
                let is_exact = bound.get() == smallest(resource) || demand == bound;
                prop_assert!(bound.get() < least || is_exact || bound.get() == u64::MAX);
                prop_assert_eq!(bound == Amount::ZERO, demand == Amount::ZERO);
            }
            prop_assert_eq!(Shape::of("normal", &shape.demand()), shape);
        }

        #[test]
        fn names_are_read_back(demand in some_demand(), profile in "[a-z0-9]([a-z0-9.-]{0,8}[a-z0-9])?") {
            prop_assume!(Shape::is_profile_name(&profile));
            let shape = Shape::of(&profile, &demand);
            prop_assert_eq!(Shape::named(&shape.to_string()), Some(shape));
        }

        #[test]
        fn a_larger_demand_is_covered(demand in some_demand(), more in some_demand()) {
            let sum = Resources::from_fn(|resource| demand[resource].saturating_add(more[resource]));
            let (small, large) = (Shape::of("a", &demand), Shape::of("b", &sum));
            prop_assert!(large.covers(&small));
            prop_assert_eq!(small.covers(&large), small.distance(&large) == 0);
        }
    }
}
