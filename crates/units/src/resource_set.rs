//! Some of the five resources, in one byte.

use std::fmt;

use super::resource::Resource;

/// A set of resources.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ResourceSet(u8);

impl ResourceSet {
    /// No resource.
    pub const NONE: Self = Self(0);

    /// The same set, with `resource` in it too where `is_in` says so.
    pub const fn with(self, resource: Resource, is_in: bool) -> Self {
        // No branch: the rules of the scheduler do this for each resource of each node.
        Self(self.0 | (is_in as u8) << resource.index())
    }

    /// True where no resource is in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// True where `resource` is in it.
    pub const fn contains(self, resource: Resource) -> bool {
        self.0 >> resource.index() & 1 == 1
    }

    /// The resources in it, in the order of [`Resource::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Resource> {
        let all = Resource::ALL.into_iter();
        all.filter(move |resource| self.contains(*resource))
    }
}

impl FromIterator<Resource> for ResourceSet {
    fn from_iter<I: IntoIterator<Item = Resource>>(resources: I) -> Self {
        let all = resources.into_iter();
        all.fold(Self::NONE, |set, resource| set.with(resource, true))
    }
}

impl fmt::Debug for ResourceSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_tells_the_resources_that_it_was_made_of() {
        for bits in 0..1_u8 << Resource::ALL.len() {
            let all = Resource::ALL.into_iter().enumerate();
            let chosen = all.filter(|(bit, _)| bits >> bit & 1 == 1);
            let chosen: Vec<Resource> = chosen.map(|(_, resource)| resource).collect();
            let set: ResourceSet = chosen.iter().copied().collect();
            assert_eq!(set.iter().collect::<Vec<_>>(), chosen);
            assert_eq!(set.is_empty(), chosen.is_empty());
            for resource in Resource::ALL {
                assert_eq!(set.contains(resource), chosen.contains(&resource));
                assert_eq!(set.with(resource, false), set);
                assert!(set.with(resource, true).contains(resource));
            }
        }
    }

    #[test]
    fn a_set_takes_a_byte_and_is_shown_by_names() {
        assert_eq!(size_of::<ResourceSet>(), 1);
        let set: ResourceSet = [Resource::DiskIo, Resource::Cpu].into_iter().collect();
        assert_eq!(format!("{set:?}"), "{Cpu, DiskIo}");
    }
}
