//! The kernel's texts of cgroups, disks and mounts: none stops the reader, and a plan is done once.

#![no_main]

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_disk_io::cgroup::{IoMax, Limit, Mounts, Sides, disk_stat, io_stat, plan, pressure};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = (io_stat(text), disk_stat(text), pressure(text));
    let mounts = Mounts::parse(text);
    for folder in ["/", "/var/lib/kubelet"] {
        if let Some(mount) = mounts.holding(folder) {
            let _ = mount.backing();
        }
        for mount in mounts.below(folder) {
            let _ = mount.backing();
        }
    }
    let Ok(present) = text.parse::<IoMax>() else {
        return;
    };
    // Each line that is made of it is read as it was.
    for (device, limit) in &present.0 {
        let line = limit.line(*device, Sides::Both);
        assert_eq!(
            line.parse::<IoMax>().map(|read| read.of(*device)),
            Ok(*limit)
        );
    }
    // All of it one's own and none of it wanted: each limit is taken away, once.
    let own = present.0.iter();
    let own: BTreeMap<_, _> = own
        .map(|(device, limit)| (*device, BTreeSet::from([*limit])))
        .collect();
    let undone = plan(&BTreeMap::new(), &present, &own);
    assert_eq!(undone.changes.len(), present.0.len());
    assert!(
        undone
            .changes
            .iter()
            .all(|change| change.limit == Limit::NONE)
    );
});
