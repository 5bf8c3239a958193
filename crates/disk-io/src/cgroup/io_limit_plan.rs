//! Computes the changes from the present limits to the wanted ones, for the node agent. A limit is
//! our own if it equals one that we wrote before. The plan keeps every foreign limit, and removes
//! an own limit that is no longer wanted, even if a foreign writer set the other direction of the
//! same device.

use std::collections::{BTreeMap, BTreeSet};

use crate::cgroup::device::Device;
use crate::cgroup::limits::{IoMax, Limit, Sides};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoLimitChange {
    pub device: Device,
    pub limit: Limit,
    pub sides: Sides,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IoLimitPlan {
    pub changes: Vec<IoLimitChange>,
    /// Devices with a limit by another writer.
    pub foreign: Vec<Device>,
    /// Devices without an own limit left to remember.
    pub forgotten: Vec<Device>,
}

/// From the wanted limits, the present ones, and all that may have been written before.
pub fn plan(
    wanted: &BTreeMap<Device, Limit>,
    present: &IoMax,
    own: &BTreeMap<Device, BTreeSet<Limit>>,
) -> IoLimitPlan {
    let mut plan = IoLimitPlan::default();
    let devices: BTreeSet<Device> = wanted.keys().chain(own.keys()).copied().collect();
    for device in devices {
        let stands = present.of(device);
        let written = own.get(&device);
        let is_own = written.is_some_and(|written| written.contains(&stands));
        let wants = wanted.get(&device).copied().unwrap_or(Limit::NONE);
        if stands != Limit::NONE && !is_own {
            if wants != Limit::NONE {
                plan.foreign.push(device);
            }
            match (left(stands, written).sides(), wants) {
                (Some(sides), Limit::NONE) => plan.changes.push(IoLimitChange {
                    device,
                    limit: Limit::NONE,
                    sides,
                }),
                (None, _) if written.is_some() => plan.forgotten.push(device),
                _ => {}
            }
        } else if stands != wants {
            plan.changes.push(IoLimitChange {
                device,
                limit: wants,
                sides: Sides::Both,
            });
        } else if wants == Limit::NONE && written.is_some() {
            plan.forgotten.push(device);
        }
    }
    plan
}

/// The directions of `stands` that are our own if another writer set the other direction.
fn left(stands: Limit, written: Option<&BTreeSet<Limit>>) -> Limit {
    let own = |of: fn(&Limit) -> Option<u64>| {
        let mut written = written.into_iter().flatten();
        of(&stands).filter(|rate| written.any(|one| of(one) == Some(*rate)))
    };
    Limit {
        read: own(|limit| limit.read),
        write: own(|limit| limit.write),
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_map, btree_set};
    use proptest::prelude::*;

    use super::*;

    const SDA: Device = Device { major: 8, minor: 0 };

    fn limit(rate: u64) -> Limit {
        Limit {
            read: Some(rate),
            write: Some(rate),
        }
    }

    fn of(wanted: Option<u64>, present: Option<u64>, own: Option<&[u64]>) -> IoLimitPlan {
        let wanted = wanted.map(|rate| (SDA, limit(rate))).into_iter().collect();
        let present = present.map(|rate| (SDA, limit(rate))).into_iter();
        let own = own.map(|rates| (SDA, rates.iter().copied().map(limit).collect()));
        plan(
            &wanted,
            &IoMax(present.collect()),
            &own.into_iter().collect(),
        )
    }

    #[test]
    fn each_case() {
        let set = |rate| IoLimitPlan {
            changes: vec![IoLimitChange {
                device: SDA,
                limit: limit(rate),
                sides: Sides::Both,
            }],
            ..IoLimitPlan::default()
        };
        let taken_away = IoLimitPlan {
            changes: vec![IoLimitChange {
                device: SDA,
                limit: Limit::NONE,
                sides: Sides::Both,
            }],
            ..IoLimitPlan::default()
        };
        let foreign = IoLimitPlan {
            foreign: vec![SDA],
            ..IoLimitPlan::default()
        };
        let forgotten = IoLimitPlan {
            forgotten: vec![SDA],
            ..IoLimitPlan::default()
        };
        let lost = IoLimitPlan {
            foreign: vec![SDA],
            forgotten: vec![SDA],
            ..IoLimitPlan::default()
        };
        for (wanted, present, own, expected) in [
            (None, None, None, IoLimitPlan::default()),
            (Some(5), None, None, set(5)),
            (Some(5), Some(5), Some(&[5][..]), IoLimitPlan::default()),
            (Some(7), Some(5), Some(&[5]), set(7)),
            // Interrupted between the record and the write, before and after it.
            (Some(7), Some(5), Some(&[5, 7]), set(7)),
            (Some(5), Some(7), Some(&[5, 7]), set(5)),
            (Some(5), None, Some(&[5]), set(5)),
            // The annotation is gone.
            (None, Some(5), Some(&[5]), taken_away.clone()),
            (None, Some(7), Some(&[5, 7]), taken_away),
            (None, None, Some(&[5]), forgotten.clone()),
            // A foreign limit, from the start or in place of an own one.
            (Some(5), Some(9), None, foreign.clone()),
            (Some(5), Some(5), None, foreign),
            (None, Some(9), None, IoLimitPlan::default()),
            (Some(5), Some(9), Some(&[5]), lost),
            (None, Some(9), Some(&[5]), forgotten),
        ] {
            let made = of(wanted, present, own);
            assert_eq!(made, expected, "{wanted:?} {present:?} {own:?}");
        }
    }

    #[test]
    fn one_direction_that_somebody_else_set_hides_nothing_of_the_other() {
        let written = BTreeMap::from([(SDA, BTreeSet::from([limit(5)]))]);
        let stands = Limit {
            read: Some(9),
            write: Some(5),
        };
        let present = IoMax(BTreeMap::from([(SDA, stands)]));
        let wanted = BTreeMap::from([(SDA, limit(5))]);
        let foreign = IoLimitPlan {
            foreign: vec![SDA],
            ..IoLimitPlan::default()
        };
        assert_eq!(plan(&wanted, &present, &written), foreign);
        let undone = plan(&BTreeMap::new(), &present, &written);
        let lines = undone.changes.iter();
        let lines: Vec<String> = lines
            .map(|one| one.limit.line(one.device, one.sides))
            .collect();
        assert_eq!(lines, ["8:0 wbps=max"]);
    }

    fn limits() -> impl Strategy<Value = BTreeMap<Device, Limit>> {
        btree_map(devices(), rates(), 0..4)
    }

    fn devices() -> impl Strategy<Value = Device> {
        (0..4_u32).prop_map(|minor| Device { major: 8, minor })
    }

    fn rates() -> impl Strategy<Value = Limit> {
        (1..4_u64).prop_map(limit)
    }

    proptest! {
        #[test]
        fn what_is_anothers_stays_and_what_is_planned_is_done_once(
            wanted in limits(),
            present in limits(),
            own in btree_map(devices(), btree_set(rates(), 1..3), 0..4),
        ) {
            let present = IoMax(present);
            let made = plan(&wanted, &present, &own);
            let (mut after, mut own_after) = (present.0.clone(), own.clone());
            for IoLimitChange { device, limit, sides: _ } in &made.changes {
                let stood = present.of(*device);
                let known = own.get(device).is_some_and(|written| written.contains(&stood));
                prop_assert!(stood == Limit::NONE || known, "another's is touched");
                after.remove(device);
                if *limit == Limit::NONE {
                    own_after.remove(device);
                } else {
                    after.insert(*device, *limit);
                    own_after.insert(*device, BTreeSet::from([*limit]));
                }
            }
            for device in &made.forgotten {
                own_after.remove(device);
            }
            let again = plan(&wanted, &IoMax(after.clone()), &own_after);
            prop_assert_eq!(again.changes, []);
            prop_assert_eq!(again.forgotten, []);
            // If nothing is wanted, no own limit is left.
            let undone = plan(&BTreeMap::new(), &IoMax(after.clone()), &own_after);
            for device in after.keys() {
                let left = undone.changes.iter().all(|change| change.device != *device);
                prop_assert_eq!(left, !own_after.contains_key(device));
            }
        }
    }
}
