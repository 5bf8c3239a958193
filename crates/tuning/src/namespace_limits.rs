//! The amounts that LimitRanges and ResourceQuotas leave the containers of a namespace, by the
//! API server's rules for a resize. A quota with scopes counts for every Pod, so the result is at
//! worst too small.

use std::collections::BTreeMap;

use evenkeel_objects::json::{list, null_is_default};
use evenkeel_objects::meta::Meta;
use evenkeel_objects::resource_list::ResourceList;
use evenkeel_units::Amount;
use evenkeel_units::cpu_memory::{CpuMemory, TunedResource};
use evenkeel_units::request_and_limit::RequestAndLimit;
use serde::Deserialize;

use crate::decision::{Range, ResourceBudget};
use crate::resizable_pod::ResizablePod;
use crate::resize_record::ContainerValues;

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LimitRange {
    #[serde(deserialize_with = "null_is_default")]
    pub metadata: Meta,
    #[serde(deserialize_with = "null_is_default")]
    spec: LimitRangeSpec,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct LimitRangeSpec {
    #[serde(deserialize_with = "list")]
    limits: Vec<LimitRangeItem>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct LimitRangeItem {
    #[serde(rename = "type", deserialize_with = "null_is_default")]
    kind: String,
    #[serde(deserialize_with = "null_is_default")]
    min: ResourceList,
    #[serde(deserialize_with = "null_is_default")]
    max: ResourceList,
    #[serde(deserialize_with = "null_is_default")]
    max_limit_request_ratio: ResourceList,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ResourceQuota {
    #[serde(deserialize_with = "null_is_default")]
    pub metadata: Meta,
    #[serde(deserialize_with = "null_is_default")]
    status: QuotaStatus,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct QuotaStatus {
    #[serde(deserialize_with = "null_is_default")]
    hard: BTreeMap<String, String>,
    #[serde(deserialize_with = "null_is_default")]
    used: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamespaceLimits {
    ranges: Vec<LimitRangeItem>,
    pub quotas: ResourceBudget,
}

impl NamespaceLimits {
    pub fn of(ranges: Vec<LimitRange>, quotas: &[ResourceQuota]) -> Self {
        let left = |prefixes: &[&str]| {
            CpuMemory::from_fn(|resource| {
                let names = prefixes.iter().map(|prefix| format!("{prefix}{resource}"));
                let left = names.filter_map(|name| left_of(quotas, &name, resource));
                left.min()
            })
        };
        Self {
            ranges: ranges
                .into_iter()
                .flat_map(|range| range.spec.limits)
                .collect(),
            quotas: ResourceBudget {
                limits: left(&["limits."]),
                requests: left(&["requests.", ""]),
            },
        }
    }

    /// The amounts that LimitRanges leave one container of a Pod whose other containers are `given`
    /// theirs.
    pub fn range(
        &self,
        pod: &ResizablePod,
        given: &ContainerValues,
        container: &str,
        resource: TunedResource,
    ) -> Range {
        let mut range = Range::default();
        let own = pod.container(container).map(|one| one.values[resource]);
        for item in &self.ranges {
            match item.kind.as_str() {
                "Container" => {
                    raise(&mut range.least, item.min.tuned(resource));
                    lower(&mut range.most, item.max.tuned(resource));
                    let request = own.and_then(|own| own.request);
                    let ratio = thousandths(item.max_limit_request_ratio, resource);
                    lower(&mut range.most, request.zip(ratio).map(times));
                }
                "Pod" => {
                    let others = others(pod, given, container, resource);
                    let most = item.max.tuned(resource);
                    lower(
                        &mut range.most,
                        most.map(|most| most.saturating_sub(others)),
                    );
                    let least = item.min.tuned(resource);
                    raise(
                        &mut range.least,
                        least.map(|least| least.saturating_sub(others)),
                    );
                }
                _ => {}
            }
        }
        range
    }
}

/// The amount of a resource that all quotas together leave; `None` if no quota limits it.
fn left_of(quotas: &[ResourceQuota], name: &str, resource: TunedResource) -> Option<Amount> {
    let amount = |texts: &BTreeMap<String, String>| {
        let text = texts.get(name)?;
        resource.resource().parse_amount(text).ok()
    };
    let left = quotas.iter().filter_map(|quota| {
        let used = amount(&quota.status.used).unwrap_or_default();
        Some(amount(&quota.status.hard)?.saturating_sub(used))
    });
    left.min()
}

/// The limits of a Pod's other containers, the larger of present and given: a raise may be written
/// before a cut.
fn others(
    pod: &ResizablePod,
    given: &ContainerValues,
    container: &str,
    resource: TunedResource,
) -> Amount {
    let others = pod.containers.iter().filter(|one| *one.name != *container);
    let limit = |values: &CpuMemory<RequestAndLimit>| values[resource].limit.unwrap_or_default();
    let most = others.map(|one| {
        let given = given.get(&one.name).map_or(Amount::ZERO, limit);
        limit(&one.values).max(given)
    });
    most.sum()
}

/// A number of a list, in thousandths whatever it counts.
fn thousandths(list: ResourceList, resource: TunedResource) -> Option<u64> {
    let mut all = list.thousandths();
    all.find(|(name, _)| *name == resource.as_str())
        .map(|(_, amount)| amount)
}

fn times((amount, thousandths): (Amount, u64)) -> Amount {
    let product = u128::from(amount.get()) * u128::from(thousandths) / 1000;
    Amount::new(u64::try_from(product).unwrap_or(u64::MAX))
}

fn raise(least: &mut Option<Amount>, other: Option<Amount>) {
    *least = (*least).max(other);
}

fn lower(most: &mut Option<Amount>, other: Option<Amount>) {
    *most = [*most, other].into_iter().flatten().min();
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;
    use crate::resizable_pod::tests::{of, running};

    #[test]
    fn ranges_of_containers_and_of_pods_both_hold() {
        let mut pod = running(&json!({"requests": {"cpu": "100m"}, "limits": {"cpu": "500m"}}));
        let side = json!({"name": "side", "resources": {"limits": {"cpu": "300m"}}});
        pod["spec"]["containers"].as_array_mut().unwrap().push(side);
        let pod = of(pod);
        let range = |items: serde_json::Value, side: u64| {
            let mut given = ContainerValues::new();
            let mut values = pod.container("side").unwrap().values;
            values.cpu.limit = Some(Amount::new(side));
            given.insert("side".into(), values);
            let ranges = vec![from_value(json!({"spec": {"limits": items}})).unwrap()];
            let limits = NamespaceLimits::of(ranges, &[]);
            let range = limits.range(&pod, &given, "app", TunedResource::Cpu);
            (range.least.map(Amount::get), range.most.map(Amount::get))
        };
        let container = json!({"type": "Container", "min": {"cpu": "50m"}, "max": {"cpu": "2"}});
        let whole = json!({"type": "Pod", "max": {"cpu": "1"}});
        let ratio = json!({"type": "Container", "maxLimitRequestRatio": {"cpu": "6.5"}});
        let claim = json!([{"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}]);
        for (items, side, expected) in [
            (json!([container]), 300, (Some(50), Some(2000))),
            (json!([container, whole]), 300, (Some(50), Some(700))),
            (json!([container, whole]), 400, (Some(50), Some(600))),
            // It may be asked for later.
            (json!([container, whole]), 200, (Some(50), Some(700))),
            (json!([container, whole, ratio]), 300, (Some(50), Some(650))),
            (claim, 300, (None, None)),
        ] {
            assert_eq!(range(items.clone(), side), expected, "{items} {side}");
        }
    }

    #[test]
    fn quotas_leave_what_is_not_used() {
        let quota = |hard: serde_json::Value, used: serde_json::Value| {
            from_value(json!({"status": {"hard": hard, "used": used}})).unwrap()
        };
        let quotas = [
            quota(
                json!({"limits.cpu": "4", "requests.memory": "1Gi"}),
                json!({"limits.cpu": "3500m"}),
            ),
            quota(json!({"cpu": "1"}), json!({"cpu": "2"})),
        ];
        let ResourceBudget { limits, requests } = NamespaceLimits::of(Vec::new(), &quotas).quotas;
        assert_eq!(limits.cpu, Some(Amount::new(500)));
        assert_eq!(limits.memory, None);
        assert_eq!(requests.cpu, Some(Amount::ZERO));
        assert_eq!(requests.memory, Some(Amount::new(1 << 30)));
    }
}
