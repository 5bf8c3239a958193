//! Values of Pods by name, sorted in one allocation: each is looked up about once.

/// Sorted by name. Of several values of a Pod the last one given counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByPod<'a, T>(Vec<(&'a str, T)>);

/// Lookups of many Pods, fast if they come in the order of names.
#[derive(Debug)]
pub(crate) struct Lookups<'v, 'a, T> {
    values: &'v ByPod<'a, T>,
    /// After the last one found.
    next: usize,
}

impl<T> Default for ByPod<'_, T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'a, T> ByPod<'a, T> {
    pub fn get(&self, pod: &str) -> Option<&T> {
        self.lookups().get(pod)
    }

    pub(crate) const fn lookups(&self) -> Lookups<'_, 'a, T> {
        Lookups {
            values: self,
            next: 0,
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&'a str, &T)> {
        self.0.iter().map(|(pod, value)| (*pod, value))
    }

    pub const fn len(&self) -> usize {
        self.0.len()
    }

    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn without(mut self, mut pods: Vec<&str>) -> Self {
        if !pods.is_empty() {
            pods.sort_unstable();
            self.0.retain(|(pod, _)| pods.binary_search(pod).is_err());
        }
        self
    }

    pub(crate) fn map<U>(self, with: impl Fn(T) -> U) -> ByPod<'a, U> {
        let values = self.0.into_iter();
        ByPod(values.map(|(pod, value)| (pod, with(value))).collect())
    }

    /// Merges `others`, which take precedence.
    pub(crate) fn and(self, others: impl Iterator<Item = (&'a str, T)>) -> Self {
        self.0.into_iter().chain(others).collect()
    }
}

impl<'v, T> Lookups<'v, '_, T> {
    pub(crate) fn get(&mut self, pod: &str) -> Option<&'v T> {
        let values = &self.values.0;
        let is_next = values.get(self.next).is_some_and(|(name, _)| *name == pod);
        let place = if is_next {
            self.next
        } else {
            let place = values.binary_search_by(|(name, _)| (*name).cmp(pod));
            place.ok()?
        };
        self.next = place + 1;
        values.get(place).map(|(_, value)| value)
    }
}

impl<'a, T> FromIterator<(&'a str, T)> for ByPod<'a, T> {
    fn from_iter<I: IntoIterator<Item = (&'a str, T)>>(values: I) -> Self {
        let mut values: Vec<_> = values.into_iter().collect();
        // Stable, so that the last of a name stays the last.
        values.sort_by_key(|(pod, _)| *pod);
        values.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                std::mem::swap(next, kept);
            }
            is_same
        });
        Self(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[(&'static str, i64)]) -> ByPod<'static, i64> {
        values.iter().copied().collect()
    }

    #[test]
    fn each_pod_has_one_value_whatever_the_order() {
        let values = of(&[("b", 1), ("a", 2), ("c", 3), ("b", 4), ("b", 5)]);
        let all: Vec<_> = values.iter().map(|(pod, &value)| (pod, value)).collect();
        assert_eq!(all, [("a", 2), ("b", 5), ("c", 3)]);
        let mut lookups = values.lookups();
        for (pod, expected) in [
            ("b", Some(&5)),
            ("c", Some(&3)),
            ("d", None),
            ("a", Some(&2)),
        ] {
            assert_eq!((lookups.get(pod), values.get(pod)), (expected, expected));
        }
        let values = values.without(vec!["c", "a", "d"]);
        assert_eq!(values, of(&[("b", 5)]));
        let values = values.and([("a", 7), ("b", 8)].into_iter());
        assert_eq!(values.map(|value| value * 2), of(&[("a", 14), ("b", 16)]));
    }

    #[test]
    fn nothing_has_no_values() {
        let none = of(&[]).without(vec!["a"]);
        assert_eq!(
            (none.is_empty(), none.len(), none.get("a")),
            (true, 0, None)
        );
    }
}
