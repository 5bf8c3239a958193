//! The two resources that Kubernetes resizes in place.

use std::ops::{Index, IndexMut};

use evenkeel_quantity::{Quantity, QuantityFormat};

use crate::{Amount, Resource};

/// Memory is requested in steps of this.
const MEBIBYTE: u64 = 1 << 20;

words! {
    /// Its requests and limits can change while a container runs.
    pub enum TunedResource {
        Cpu = Resource::Cpu.as_str(),
        Memory = Resource::Memory.as_str(),
    }
}

impl TunedResource {
    /// Among the five scheduling resources.
    pub const fn resource(self) -> Resource {
        match self {
            Self::Cpu => Resource::Cpu,
            Self::Memory => Resource::Memory,
        }
    }

    /// Memory in whole mebibytes, rounded up as far as `most` allows.
    pub fn rounded(self, amount: Amount, most: Option<Amount>) -> Amount {
        match self {
            Self::Cpu => amount,
            Self::Memory => {
                let whole = amount.get().div_ceil(MEBIBYTE).saturating_mul(MEBIBYTE);
                most.map_or(Amount::new(whole), |most| most.min(Amount::new(whole)))
            }
        }
    }

    /// As Kubernetes writes it.
    pub fn quantity(self, amount: Amount) -> Quantity {
        let value = i64::try_from(amount.get()).unwrap_or(i64::MAX);
        match self {
            Self::Cpu => Quantity::from_milli(value, QuantityFormat::DecimalSi),
            Self::Memory => {
                Quantity::from_milli(value.saturating_mul(1000), QuantityFormat::BinarySi)
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct CpuMemory<T> {
    pub cpu: T,
    pub memory: T,
}

impl<T> CpuMemory<T> {
    pub fn from_fn(mut of: impl FnMut(TunedResource) -> T) -> Self {
        Self {
            cpu: of(TunedResource::Cpu),
            memory: of(TunedResource::Memory),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (TunedResource, &T)> {
        TunedResource::ALL
            .into_iter()
            .zip([&self.cpu, &self.memory])
    }
}

impl<T> Index<TunedResource> for CpuMemory<T> {
    type Output = T;

    fn index(&self, resource: TunedResource) -> &T {
        match resource {
            TunedResource::Cpu => &self.cpu,
            TunedResource::Memory => &self.memory,
        }
    }
}

impl<T> IndexMut<TunedResource> for CpuMemory<T> {
    fn index_mut(&mut self, resource: TunedResource) -> &mut T {
        match resource {
            TunedResource::Cpu => &mut self.cpu,
            TunedResource::Memory => &mut self.memory,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_written_as_kubernetes_writes_them() {
        for (resource, amount, text) in [
            (TunedResource::Cpu, 600, "600m"),
            (TunedResource::Cpu, 2000, "2"),
            (TunedResource::Memory, 400 << 20, "400Mi"),
            (TunedResource::Memory, 1_500_000_000, "1500000000"),
        ] {
            let quantity = resource.quantity(Amount::new(amount));
            assert_eq!(quantity.to_string(), text);
        }
    }
}
