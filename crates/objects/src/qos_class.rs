//! The class of service of a Pod, which no resize may change.

use evenkeel_units::cpu_memory::CpuMemory;
use evenkeel_units::request_and_limit::RequestAndLimit;
use evenkeel_units::{Amount, words};
use serde::Deserialize;

words! {
    /// The class of service that requests and limits give a Pod; kubelet groups cgroups by it.
    #[derive(Deserialize)]
    pub enum QosClass {
        Guaranteed = "Guaranteed",
        Burstable = "Burstable",
        BestEffort = "BestEffort",
    }
}

impl QosClass {
    /// The class of a Pod with these containers, as kubelet sums them up.
    pub fn of<'a>(containers: impl IntoIterator<Item = &'a CpuMemory<RequestAndLimit>>) -> Self {
        let mut requests = CpuMemory::<Option<u64>>::default();
        let mut limits = CpuMemory::<Option<u64>>::default();
        let mut all_limited = true;
        for values in containers {
            for (resource, RequestAndLimit { request, limit }) in values.iter() {
                add(&mut requests[resource], *request);
                add(&mut limits[resource], *limit);
                all_limited &= limit.is_some_and(|limit| limit > Amount::ZERO);
            }
        }
        if requests == CpuMemory::default() && limits == CpuMemory::default() {
            Self::BestEffort
        } else if all_limited && requests == limits {
            Self::Guaranteed
        } else {
            Self::Burstable
        }
    }
}

/// Adds what is set and above zero.
fn add(sum: &mut Option<u64>, amount: Option<Amount>) {
    if let Some(amount) = amount.filter(|amount| *amount > Amount::ZERO) {
        *sum = Some(sum.unwrap_or(0).saturating_add(amount.get()));
    }
}
