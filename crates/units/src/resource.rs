//! The five resources and one value for each of them.
//!
//! `Resources<T>` is an array with names: every rule of the scheduler runs over all five, and an
//! array lets it do so without a branch for each.

use std::ops::{Index, IndexMut};
use std::str::FromStr;

use evenkeel_quantity::{Quantity, QuantityError};

use super::amount::{Amount, BytesPerSecond};
use super::rate::RateError;

words! {
    /// One of the resources that Evenkeel schedules by.
    pub enum Resource {
        /// Processor time, in millicores.
        Cpu = "cpu",
        /// Working memory, in bytes.
        Memory = "memory",
        /// Network traffic in the busier direction, in bytes per second: a link has its whole speed
        /// in each.
        NetworkIo = "networkIo",
        /// Disk reads and writes added, in bytes per second.
        DiskIo = "diskIo",
        /// Ephemeral storage that Pods use, in bytes.
        Disk = "disk",
    }
}

impl Resource {
    /// The word in a sentence for people.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::NetworkIo => "network",
            Self::DiskIo => "disk I/O",
            Self::Disk => "disk",
        }
    }

    /// An amount of this resource as Kubernetes and the annotations write it: a quantity, or a rate
    /// for I/O. What is finer than the unit is rounded up.
    ///
    /// # Errors
    /// The text is no quantity, or no rate, or below 0.
    pub fn parse_amount(self, text: &str) -> Result<Amount, AmountError> {
        let quantity = || {
            let quantity: Quantity = text.parse()?;
            if quantity.is_negative() {
                return Err(AmountError::Negative(text.to_owned()));
            }
            Ok(quantity)
        };
        Ok(match self {
            Self::Cpu => Amount::new(quantity()?.milli_ceil()),
            Self::Memory | Self::Disk => Amount::new(quantity()?.ceil()),
            Self::NetworkIo | Self::DiskIo => text.parse::<BytesPerSecond>()?.into(),
        })
    }

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

/// A text that is no amount of a resource.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    #[error(transparent)]
    Quantity(#[from] QuantityError),
    #[error(transparent)]
    Rate(#[from] RateError),
    /// No resource has less than nothing of it, and the API server refuses it.
    #[error("{0:?} is not accepted; accepted: an amount of 0 or more")]
    Negative(String),
}

impl AmountError {
    /// The accepted forms, for messages.
    pub const fn accepted(&self) -> &'static str {
        match self {
            Self::Quantity(_) => "a Kubernetes quantity such as 500m or 2Gi",
            Self::Rate(_) => RateError::ACCEPTED,
            Self::Negative(_) => "an amount of 0 or more",
        }
    }
}

/// A resource name that is none of the five.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown resource {0:?}; accepted: cpu, memory, networkIo, diskIo and disk")]
pub struct UnknownResource(pub String);

impl FromStr for Resource {
    type Err = UnknownResource;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::named(text).ok_or_else(|| UnknownResource(text.to_owned()))
    }
}

/// One value for each of the five resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Resources<T>([T; 5]);

impl<T> Resources<T> {
    /// Values in the order of [`Resource::ALL`].
    pub const fn new(values: [T; 5]) -> Self {
        Self(values)
    }

    /// The value that `of` gives for each resource.
    pub fn from_fn(mut of: impl FnMut(Resource) -> T) -> Self {
        // One by one, so that what `of` does with each is known where it is compiled.
        let [cpu, memory, network_io, disk_io, disk] = Resource::ALL;
        Self([of(cpu), of(memory), of(network_io), of(disk_io), of(disk)])
    }

    /// Values in the order of [`Resource::ALL`].
    pub const fn values(&self) -> &[T; 5] {
        &self.0
    }

    /// The resources with their values, in the order of [`Resource::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Resource, &T)> {
        Resource::ALL.into_iter().zip(&self.0)
    }

    /// The same resources with other values.
    pub fn map<U>(self, with: impl FnMut(T) -> U) -> Resources<U> {
        Resources(self.0.map(with))
    }
}

impl<T> Index<Resource> for Resources<T> {
    type Output = T;

    fn index(&self, resource: Resource) -> &T {
        &self.0[resource.index()]
    }
}

impl<T> IndexMut<Resource> for Resources<T> {
    fn index_mut(&mut self, resource: Resource) -> &mut T {
        &mut self.0[resource.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back_and_others_are_refused() {
        for resource in Resource::ALL {
            assert_eq!(resource.as_str().parse(), Ok(resource));
        }
        assert_eq!(
            "network-io".parse::<Resource>(),
            Err(UnknownResource("network-io".to_owned()))
        );
    }

    #[test]
    fn amounts_below_nothing_are_refused() {
        for resource in [Resource::Cpu, Resource::Memory, Resource::Disk] {
            for text in ["-1", "-500m", "-1Gi", "-1e3", "-0.0001"] {
                let error = resource.parse_amount(text).unwrap_err();
                assert!(error.to_string().contains("0 or more"), "{error}");
            }
            assert_eq!(resource.parse_amount("-0"), Ok(Amount::ZERO));
        }
        assert!(Resource::NetworkIo.parse_amount("-5Mbps").is_err());
    }

    #[test]
    fn values_stand_in_the_order_of_all() {
        let names = Resources::from_fn(Resource::as_str);
        for (position, resource) in Resource::ALL.into_iter().enumerate() {
            assert_eq!(names[resource], resource.as_str());
            assert_eq!(names.values()[position], resource.as_str());
        }
    }
}
