//! A resource list cut down to the three that rules read. Amounts are thousandths, rounded up, in
//! 64 bits: the API server rounds stored quantities so, and sums equal those of Kubernetes.

use std::fmt;

use evenkeel_quantity::Quantity;
use evenkeel_units::cpu_memory::TunedResource;
use evenkeel_units::{Amount, Bytes, MilliCpu};
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResourceList {
    cpu: Option<u64>,
    memory: Option<u64>,
    ephemeral_storage: Option<u64>,
}

impl ResourceList {
    /// The amount of a resource that can be resized, in its base unit.
    pub fn tuned(&self, resource: TunedResource) -> Option<Amount> {
        match resource {
            TunedResource::Cpu => self.cpu().map(Amount::from),
            TunedResource::Memory => self.memory().map(Amount::from),
        }
    }

    pub fn cpu(&self) -> Option<MilliCpu> {
        self.cpu.map(MilliCpu)
    }

    pub fn memory(&self) -> Option<Bytes> {
        self.memory.map(whole)
    }

    pub fn ephemeral_storage(&self) -> Option<Bytes> {
        self.ephemeral_storage.map(whole)
    }

    /// The amounts that are set, in thousandths.
    pub fn thousandths(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let all = [
            ("cpu", self.cpu),
            ("memory", self.memory),
            ("ephemeral-storage", self.ephemeral_storage),
        ];
        all.into_iter()
            .filter_map(|(name, amount)| Some((name, amount?)))
    }

    /// The same list with what is not set taken from `other`.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            cpu: self.cpu.or(other.cpu),
            memory: self.memory.or(other.memory),
            ephemeral_storage: self.ephemeral_storage.or(other.ephemeral_storage),
        }
    }

    /// The sum; what one of them does not set is as the other has it.
    pub(crate) fn plus(self, other: Self) -> Self {
        self.merge(other, u64::saturating_add)
    }

    /// The larger of both; what one of them does not set is as the other has it.
    pub(crate) fn max(self, other: Self) -> Self {
        self.merge(other, u64::max)
    }

    /// Only cpu and memory, which are what a Pod as a whole can ask for.
    pub const fn pod_level(self) -> Self {
        Self {
            ephemeral_storage: None,
            ..self
        }
    }

    /// The same list without what `other` does not set.
    pub(crate) fn of_names_in(self, other: Self) -> Self {
        Self {
            cpu: self.cpu.filter(|_| other.cpu.is_some()),
            memory: self.memory.filter(|_| other.memory.is_some()),
            ephemeral_storage: self
                .ephemeral_storage
                .filter(|_| other.ephemeral_storage.is_some()),
        }
    }

    fn merge(self, other: Self, with: fn(u64, u64) -> u64) -> Self {
        let merge = |one: Option<u64>, another: Option<u64>| match (one, another) {
            (Some(one), Some(another)) => Some(with(one, another)),
            (one, another) => one.or(another),
        };
        Self {
            cpu: merge(self.cpu, other.cpu),
            memory: merge(self.memory, other.memory),
            ephemeral_storage: merge(self.ephemeral_storage, other.ephemeral_storage),
        }
    }
}

const fn whole(thousandths: u64) -> Bytes {
    Bytes(thousandths.div_ceil(1000))
}

/// The names that rules read; others are skipped without a look at their values.
#[derive(serde::Deserialize)]
#[serde(field_identifier)]
enum ResourceListKey {
    #[serde(rename = "cpu")]
    Cpu,
    #[serde(rename = "memory")]
    Memory,
    #[serde(rename = "ephemeral-storage")]
    EphemeralStorage,
    #[serde(other)]
    Other,
}

impl<'de> Deserialize<'de> for ResourceList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ListVisitor)
    }
}

struct ListVisitor;

impl<'de> Visitor<'de> for ListVisitor {
    type Value = ResourceList;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("resource names with their quantities")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut list = ResourceList::default();
        while let Some(name) = map.next_key()? {
            let place = match name {
                ResourceListKey::Cpu => &mut list.cpu,
                ResourceListKey::Memory => &mut list.memory,
                ResourceListKey::EphemeralStorage => &mut list.ephemeral_storage,
                ResourceListKey::Other => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            *place = map
                .next_value::<Option<MilliQuantity>>()?
                .map(|written| written.0);
        }
        Ok(list)
    }
}

/// A quantity as it is written, a text or a number, in thousandths.
struct MilliQuantity(u64);

impl<'de> Deserialize<'de> for MilliQuantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(QuantityVisitor)
    }
}

struct QuantityVisitor;

impl Visitor<'_> for QuantityVisitor {
    type Value = MilliQuantity;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a Kubernetes quantity such as 500m, 1.5, 2Gi or 1e3")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        let quantity: Quantity = text.parse().map_err(E::custom)?;
        if quantity.is_negative() {
            return Err(negative(text));
        }
        Ok(MilliQuantity(quantity.milli_ceil()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(MilliQuantity(number.saturating_mul(1000)))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        let number = u64::try_from(number).map_err(|_| negative(number))?;
        self.visit_u64(number)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        self.visit_str(&number.to_string())
    }
}

/// The error for an amount below 0. The API server refuses it too, so only a manifest can hold it.
fn negative<E: Error>(given: impl fmt::Display) -> E {
    E::custom(format_args!("{given} is below 0; accepted: 0 or more"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> ResourceList {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn quantities_are_texts_or_numbers() {
        for (written, milli) in [
            ("\"1500m\"", 1500),
            ("\"1.5\"", 1500),
            ("1.5", 1500),
            ("2", 2000),
            ("1e2", 100_000),
            ("\"0.1Ki\"", 102_400),
            ("0.0001", 1),
            ("0", 0),
        ] {
            let found = list(&format!(r#"{{"cpu":{written}}}"#));
            assert_eq!(found.cpu(), Some(MilliCpu(milli)), "{written}");
        }
        assert_eq!(list(r#"{"cpu":null}"#).cpu(), None);
        for negative in ["-2", "-0.5", "\"-500m\"", "\"-1Gi\""] {
            let text = format!(r#"{{"memory":{negative}}}"#);
            let error = serde_json::from_str::<ResourceList>(&text).unwrap_err();
            assert!(error.to_string().contains("0 or more"), "{error}");
        }
    }

    #[test]
    fn bytes_are_rounded_up_once() {
        let part = list(r#"{"memory":"100m","ephemeral-storage":"1Gi"}"#);
        assert_eq!(part.memory(), Some(Bytes(1)));
        assert_eq!(part.plus(part).memory(), Some(Bytes(1)));
        assert_eq!(part.plus(part).ephemeral_storage(), Some(Bytes(2 << 30)));
    }

    #[test]
    fn other_resources_may_hold_anything() {
        let found = list(r#"{"nvidia.com/gpu":[1,{}],"cpu":"1","hugepages-2Mi":"x"}"#);
        assert_eq!(found, list(r#"{"cpu":1}"#));
        assert!(serde_json::from_str::<ResourceList>(r#"{"memory":"1 GB"}"#).is_err());
    }
}
