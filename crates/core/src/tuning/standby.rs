//! What the containers of a Pod that stands by ask for: half of what they did, and never less than they use and
//! what is kept above that.

use super::bounds::{Bound, Ends, Range, above_use};
use super::cpu_memory::TunedResource;
use crate::units::Amount;

/// The request of a container whose Pod stands by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StandbyRequest {
    pub resource: TunedResource,
    pub request: Amount,
    /// The requests of all containers of the Pod together.
    pub of_pod: Amount,
    /// What all of them use together.
    pub used: Amount,
    /// What the owner allows the container.
    pub allowed: Range,
}

impl StandbyRequest {
    /// What is left of it: all of it where the bounds leave no amount.
    #[must_use]
    pub fn lowered(&self) -> Amount {
        let mut ends = Ends::default();
        let (needed, bound) = above_use(self.resource, self.used);
        ends.at_least(self.part_of(needed), bound);
        if let Some(least) = self.allowed.least {
            ends.at_least(least, Bound::MinAllowed);
        }
        if let Some(most) = self.allowed.most {
            ends.at_most(most, Bound::MaxAllowed);
        }
        let half = Amount::new(self.request.get().div_ceil(2));
        let Ok((lowered, _)) = ends.clamp(half) else {
            return self.request;
        };
        let most = ends
            .highest()
            .map_or(self.request, |most| most.min(self.request));
        self.resource.rounded(lowered.min(most), Some(most))
    }

    /// The part of an amount of the Pod that is this container's by its share of the requests, rounded up.
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
            allowed: Range::default(),
        }
    }

    #[test]
    fn half_is_left_and_what_is_used_and_what_the_owner_allows() {
        let allowed = |least: Option<u64>, most: Option<u64>| StandbyRequest {
            allowed: Range {
                least: least.map(Amount::new),
                most: most.map(Amount::new),
            },
            ..cpu(1000, 1000, 600)
        };
        for (request, left) in [
            (cpu(1000, 1000, 20), 500),
            (cpu(1001, 1001, 20), 501),
            (cpu(1000, 1000, 600), 630),
            // A third of what the Pod uses is this container's.
            (cpu(1000, 3000, 2400), 840),
            (cpu(1000, 1000, 2000), 1000),
            (cpu(0, 0, 20), 0),
            (allowed(Some(700), None), 700),
            (allowed(Some(2000), None), 1000),
            (allowed(None, Some(640)), 630),
            // What is used comes before what is allowed: it stays as it is.
            (allowed(None, Some(620)), 1000),
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
