//! Requests of containers in a standby Pod: half of the former request, at least the use with its
//! margin and the owner's minimum.

use evenkeel_units::Amount;
use evenkeel_units::cpu_memory::TunedResource;

use super::bounds::above_use;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StandbyRequest {
    pub resource: TunedResource,
    pub request: Amount,
    /// Request of all containers of the Pod.
    pub of_pod: Amount,
    /// Use of all containers of the Pod.
    pub used: Amount,
    /// The owner's minimum for the container.
    pub min_allowed: Option<Amount>,
}

impl StandbyRequest {
    pub fn lowered(&self) -> Amount {
        let half = Amount::new(self.request.get().div_ceil(2));
        let (needed, _) = above_use(self.resource, self.used);
        let least = self
            .part_of(needed)
            .max(self.min_allowed.unwrap_or(Amount::ZERO));
        let lowered = half.max(least).min(self.request);
        self.resource.rounded(lowered, Some(self.request))
    }

    /// The container's part of a Pod's amount by its share of the requests, rounded up.
    fn part_of(&self, amount: Amount) -> Amount {
        let product = u128::from(amount.get()) * u128::from(self.request.get());
        let part = product.div_ceil(u128::from(self.of_pod.get().max(1)));
        Amount::new(u64::try_from(part).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(request: u64, of_pod: u64, used: u64) -> StandbyRequest {
        StandbyRequest {
            resource: TunedResource::Cpu,
            request: Amount::new(request),
            of_pod: Amount::new(of_pod),
            used: Amount::new(used),
            min_allowed: None,
        }
    }

    #[test]
    fn half_is_left_and_what_is_used_and_what_the_owner_allows() {
        let allowed = |least: u64| StandbyRequest {
            min_allowed: Some(Amount::new(least)),
            ..cpu(1000, 1000, 600)
        };
        for (request, left) in [
            (cpu(1000, 1000, 20), 500),
            (cpu(1001, 1001, 20), 501),
            (cpu(1000, 1000, 600), 630),
            // A third of the Pod's use is this container's.
            (cpu(1000, 3000, 2400), 840),
            (cpu(1000, 1000, 2000), 1000),
            (cpu(0, 0, 20), 0),
            (allowed(700), 700),
            (allowed(2000), 1000),
        ] {
            assert_eq!(request.lowered(), Amount::new(left), "{request:?}");
        }
    }

    #[test]
    fn memory_is_asked_for_in_whole_mebibytes_up_to_what_it_was() {
        let memory = |request: u64, used: u64| StandbyRequest {
            resource: TunedResource::Memory,
            ..cpu(request, request, used)
        };
        let mebibyte = 1 << 20;
        for (request, used, left) in [
            (511 * mebibyte, 0, 256 * mebibyte),
            (512 * mebibyte, 400 * mebibyte, 440 * mebibyte),
            (100_000_000, 0, 48 * mebibyte),
            (100_000_000, 90_900_000, 100_000_000),
        ] {
            let found = memory(request, used).lowered();
            assert_eq!(found, Amount::new(left), "{request} {used}");
        }
    }
}
