//! The limiter and what is measured, on the files of a node in a folder.

#[allow(dead_code)] // the tests of the process use the rest
#[path = "../../../../tests/support/node_tree.rs"]
mod node_tree;

use std::path::PathBuf;

use evenkeel_disk_io::node_pod::NodePod;
use evenkeel_objects::kinds::Kind;
use evenkeel_tuning::decision::Elasticity;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use self::node_tree::{NodeTree, write};
use super::*;
use crate::cluster::watch::{WatchSink as _, WatchedObject as _};
use crate::telemetry;
use crate::watched_types::{WatchedNamespace, WatchedNodePod};

const SLICE: &str = "kubepods-burstable.slice/kubepods-burstable-podu_1.slice";
const LIMITED: &str = "8:0 rbps=10485760 wbps=10485760";
const FREE: &str = "8:0 rbps=max wbps=max";

fn host(tree: &NodeTree) -> Host {
    let paths = Paths {
        kubepods: tree.kubepods(),
        mountinfo: tree.mountinfo(),
        sys: tree.path().join("sys"),
        proc: tree.path().join("proc"),
        kubelet: "/var/lib/kubelet".into(),
        record: tree.record(),
    };
    Host::new(paths).unwrap()
}

fn limiter(tree: &NodeTree) -> Limiter {
    Limiter::new(host(tree), DiskLimitRecord::open(tree.record()).unwrap())
}

fn pod(more: &Value) -> NodePod {
    let mut pod = json!({
        "metadata": {"name": "web-0", "namespace": "shop", "uid": "u-1"},
        "status": {"phase": "Running", "qosClass": "Burstable"},
    });
    json_patch::merge(&mut pod, more);
    serde_json::from_value(pod).unwrap()
}

fn asked(limit: &str) -> Vec<PodDiskLimit> {
    vec![PodDiskLimit {
        pod: Arc::new(pod(&json!({}))),
        limit: limit.parse().unwrap(),
    }]
}

fn reasons(done: &limiter::LimiterPassOutcome) -> Vec<&'static str> {
    let notices = done.notices.iter();
    notices.map(|(_, notice)| notice.reason()).collect()
}

#[test]
fn a_limit_is_set_under_either_driver_and_taken_away() {
    for (kubepods, cgroup) in [
        ("kubepods.slice", SLICE),
        (
            "kubelet-kubepods.slice",
            "kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-podu_1.slice",
        ),
        ("kubepods", "burstable/podu-1"),
    ] {
        let tree = NodeTree::new(kubepods);
        tree.pod(cgroup);
        let mut limiter = limiter(&tree);
        let done = limiter.pass(&asked("10MiB/s"));
        assert_eq!((done.limited, done.failures), (1, 0), "{kubepods}");
        // On the whole disk of the partition that is mounted.
        assert_eq!(tree.io_max(cgroup), LIMITED, "{kubepods}");
        let done = limiter.pass(&asked("read=20MiB/s"));
        assert_eq!(done.failures, 0);
        assert_eq!(tree.io_max(cgroup), "8:0 rbps=20971520 wbps=max");
        let done = limiter.pass(&[]);
        assert_eq!((done.limited, done.failures), (0, 0));
        assert_eq!(tree.io_max(cgroup), FREE, "{kubepods}");
        assert_eq!(std::fs::read_to_string(tree.record()).unwrap(), "{}");
    }
}

/// `[CLBP] (4.18)` and `(4.19)` for disk I/O.
#[test]
fn a_tuned_limit_follows_the_use_of_its_pod_and_ends_with_the_word() {
    const MI: u64 = 1 << 20;
    let tree = NodeTree::new("kubepods.slice");
    tree.pod(SLICE);
    let settings = DiskTuning {
        interval: SignedDuration::from_mins(10),
        elasticity: Elasticity::default(),
        least: BytesPerSecond(MI),
    };
    let mut tuner = DiskTuner::new(host(&tree), settings);
    let (mut read, mut minute) = (0, 0);
    // The read limit in MiB/s after a minute of reading at so many.
    let mut pass = |rate: u64, text: &str| {
        read += 60 * rate * MI;
        minute += 1;
        let stat = format!("8:0 rbytes={read} wbytes=0 rios=1 wios=2 dbytes=0 dios=0\n");
        write(&tree.kubepods().join(SLICE).join("io.stat"), &stat);
        let mut asked = asked(text);
        let now = Timestamp::from_second(1_800_000_000 + 60 * minute).unwrap();
        tuner.tune(&mut asked, now);
        asked[0].limit.read.unwrap().0 / MI
    };
    let owners = "read=100MiB/s,tuned";
    let mut limits: Vec<u64> = [60, 60, 60, 60, 60, 60, 50, 40, 30, 20]
        .map(|rate| pass(rate, owners))
        .into();
    limits.dedup();
    assert_eq!(limits, [100], "it is not its turn yet");
    // (4.19) asks for 25 and the highest rate for 52.5.
    assert_eq!(pass(10, owners), 53);
    limits = [20; 9].map(|rate| pass(rate, owners)).into();
    limits.dedup();
    assert_eq!(limits, [53]);
    // (4.18).
    assert_eq!(pass(30, owners), 32);
    // Held by its limit for five minutes: the need is not seen.
    for rate in [31; 9] {
        assert_eq!(pass(rate, owners), 32);
    }
    assert_eq!(pass(31, owners), 100);
    assert_eq!(pass(31, "read=40MiB/s,tuned"), 40, "its owner changed it");
    assert_eq!(pass(31, "read=100MiB/s"), 100);
}

#[test]
fn what_a_killed_agent_left_is_found_and_nobody_elses() {
    let tree = NodeTree::new("kubepods.slice");
    let other = "kubepods-podu_2.slice";
    tree.pod(SLICE);
    tree.pod(other);
    tree.set_io_max(other, "8:0 rbps=5 wbps=5");
    limiter(&tree).pass(&asked("10MiB/s"));
    assert_eq!(tree.io_max(SLICE), LIMITED);
    // The next agent, of which the Pod asks for nothing any more.
    limiter(&tree).pass(&[]);
    assert_eq!(tree.io_max(SLICE), FREE);
    assert_eq!(tree.io_max(other), "8:0 rbps=5 wbps=5");
}

#[test]
fn a_limit_of_somebody_elses_stays_and_is_told() {
    let tree = NodeTree::new("kubepods.slice");
    tree.pod(SLICE);
    tree.set_io_max(SLICE, "8:0 rbps=5 wbps=max");
    let mut limiter = limiter(&tree);
    let done = limiter.pass(&asked("10MiB/s"));
    assert_eq!(
        (reasons(&done), done.limited),
        (vec!["DiskIoLimitForeign"], 0)
    );
    assert_eq!(tree.io_max(SLICE), "8:0 rbps=5 wbps=max");
    // In the place of one's own it is not taken away either.
    tree.set_io_max(SLICE, "");
    limiter.pass(&asked("10MiB/s"));
    tree.set_io_max(SLICE, "8:0 rbps=7 wbps=7");
    let done = limiter.pass(&asked("10MiB/s"));
    assert_eq!(reasons(&done), ["DiskIoLimitForeign"]);
    limiter.pass(&[]);
    assert_eq!(tree.io_max(SLICE), "8:0 rbps=7 wbps=7");
}

#[test]
fn a_cgroup_is_waited_for_and_forgotten_when_it_goes() {
    let tree = NodeTree::new("kubepods.slice");
    let mut limiter = limiter(&tree);
    let done = limiter.pass(&asked("10MiB/s"));
    assert_eq!(
        (done.limited, done.failures, reasons(&done).len()),
        (0, 0, 0)
    );
    tree.pod(SLICE);
    assert_eq!(limiter.pass(&asked("10MiB/s")).limited, 1);
    tree.remove_pod(SLICE);
    assert_eq!(limiter.pass(&asked("10MiB/s")).failures, 0);
    assert_eq!(std::fs::read_to_string(tree.record()).unwrap(), "{}");
}

#[test]
fn what_keeps_a_limit_from_standing_is_told() {
    let tree = NodeTree::new("kubepods.slice");
    tree.pod(SLICE);
    let mut limiter = limiter(&tree);
    // Without a block device below anything.
    write(
        &tree.mountinfo(),
        "27 1 0:30 / / rw,relatime - overlay overlay rw\n",
    );
    assert_eq!(
        reasons(&limiter.pass(&asked("10MiB/s"))),
        ["DiskIoNoDevice"]
    );
    tree.mounts("");
    // With an io.max that cannot be parsed.
    tree.set_io_max(SLICE, "8:0 rbps=fast");
    let done = limiter.pass(&asked("10MiB/s"));
    assert_eq!(
        (reasons(&done), done.failures),
        (vec!["DiskIoLimitFailed"], 1)
    );
    std::fs::remove_file(tree.kubepods().join(SLICE).join("io.max")).unwrap();
    let done = limiter.pass(&asked("10MiB/s"));
    assert_eq!(reasons(&done), ["DiskIoNoController"]);
    std::fs::remove_file(tree.mountinfo()).unwrap();
    assert_eq!(limiter.pass(&asked("10MiB/s")).failures, 1);
}

#[test]
fn nothing_is_written_that_cannot_be_recorded() {
    let tree = NodeTree::new("kubepods.slice");
    tree.pod(SLICE);
    let mut limiter = limiter(&tree);
    std::fs::remove_dir_all(tree.record().parent().unwrap()).unwrap();
    let done = limiter.pass(&asked("10MiB/s"));
    assert_eq!(reasons(&done), ["DiskIoLimitFailed"]);
    assert_eq!(tree.io_max(SLICE), "");
}

#[test]
fn the_devices_are_those_by_which_a_pods_io_enters() {
    let tree = NodeTree::new("kubepods.slice");
    for (name, device) in [("sdc", "8:32"), ("sdd", "8:48"), ("sde", "8:64")] {
        tree.disk(name, device);
    }
    tree.disk("dm-0", "253:0");
    write(
        &tree.path().join("sys/class/block/dm-0/dm/name"),
        "vg-data\n",
    );
    let volumes = "/var/lib/kubelet/pods/u-1/volumes/kubernetes.io~csi";
    tree.mounts(&format!(
        "30 27 8:32 / /var/lib/containerd rw - xfs /dev/sdc rw\n\
         31 30 0:50 / /run/x rw - overlay overlay rw,lowerdir=/a,upperdir=/var/lib/containerd/1/fs\n\
         32 27 8:48 / {volumes}/pv-1/mount rw - ext4 /dev/sdd rw\n\
         33 27 0:51 / {volumes}/token rw - tmpfs tmpfs rw\n\
         34 27 0:52 / /data rw - btrfs /dev/mapper/vg-data rw\n\
         35 27 0:6 /sde /var/lib/kubelet/plugins/volumeDevices/publish/pv/u-1 rw - devtmpfs devtmpfs rw\n\
         36 27 8:80 / {volumes}/gone rw - ext4 /dev/sdf rw\n"
    ));
    let host = host(&tree);
    let devices = |pod: &NodePod| -> Vec<String> {
        let disks = host.disks().unwrap();
        let devices = host.devices(pod, &disks).into_iter();
        devices.map(|device| host.name(device)).collect()
    };
    // The root disk, the runtime's and its own; not one that the kernel does not know.
    assert_eq!(devices(&pod(&json!({}))), ["sda", "sdc", "sdd", "sde"]);
    let other = pod(&json!({
        "metadata": {"uid": "u-2"},
        "spec": {"volumes": [{"name": "d", "hostPath": {"path": "/data/x"}}]},
    }));
    assert_eq!(devices(&other), ["sda", "sdc", "dm-0"]);
}

#[test]
fn a_folder_that_is_not_kubelets_is_refused() {
    let tree = NodeTree::new("kubepods.slice");
    let at = |kubepods: PathBuf| {
        let paths = Paths {
            kubepods,
            mountinfo: tree.mountinfo(),
            sys: tree.path().join("sys"),
            proc: tree.path().join("proc"),
            kubelet: "/var/lib/kubelet".into(),
            record: tree.record(),
        };
        Host::new(paths).unwrap_err().to_string()
    };
    let refused = at(tree.path().join("cgroup/system.slice"));
    assert!(refused.contains("kubepods with cgroupfs"), "{refused}");
    let refused = at(tree.path().join("nowhere/kubepods.slice"));
    assert!(refused.contains("version 2"), "{refused}");
}

fn namespace(name: &str, enabled: &str) -> WatchedNamespace {
    let metadata = json!({"name": name, "annotations": {"evenkeel.dev/enabled": enabled}});
    serde_json::from_value(json!({"metadata": metadata})).unwrap()
}

fn watched(namespace: &str, limit: &str) -> WatchedNodePod {
    serde_json::from_value(json!({
        "metadata": {"name": "web-0", "namespace": namespace, "uid": format!("u-{namespace}"),
            "annotations": {"evenkeel.dev/disk-io-limit": limit}},
        "status": {"phase": "Running", "qosClass": "Burstable"},
    }))
    .unwrap()
}

#[test]
fn only_pods_of_namespaces_that_have_opted_in_ask() {
    let pods = NodePods::default();
    let least = BytesPerSecond(1 << 20);
    watched("shop", "10MiB/s").apply(&pods);
    watched("other", "10MiB/s").apply(&pods);
    assert!(pods.asking(least).is_empty());
    namespace("shop", "true").apply(&pods);
    namespace("other", "yes").apply(&pods);
    let asking = pods.asking(least);
    assert_eq!(asking.len(), 1);
    assert_eq!(asking[0].pod.metadata.uid.as_deref(), Some("u-shop"));
    watched("shop", "1KiB/s").apply(&pods);
    let refusal = pods.asking(least).remove(0).limit.unwrap_err();
    assert_eq!(refusal.reason(), "DiskIoLimitTooLow");
    namespace("shop", "false").apply(&pods);
    assert!(pods.asking(least).is_empty());
    assert!(!pods.is_synced());
    pods.set_synced(Kind::Pod);
    pods.set_synced(Kind::Namespace);
    assert!(pods.is_synced());
}

#[test]
fn each_disk_and_each_pod_is_one_series() {
    let tree = NodeTree::new("kubepods.slice");
    tree.pod("kubepods-burstable.slice/kubepods-burstable-podu_shop.slice");
    tree.disk("loop0", "7:0");
    // A volume above the disks, which repeats what they count.
    tree.disk("dm-0", "253:0");
    write(&tree.path().join("sys/block/dm-0/slaves/sda"), "");
    let pods = NodePods::default();
    watched("shop", "10MiB/s").apply(&pods);
    watched("nowhere", "10MiB/s").apply(&pods);
    let mut registry = telemetry::registry();
    let figures = Figures::new(host(&tree), pods, "worker-1".to_owned());
    registry.register_collector(Box::new(figures));
    let page = telemetry::encode(&registry).unwrap();
    let mut series: Vec<&str> = page.lines().filter(|line| !line.starts_with('#')).collect();
    series.retain(|line| !line.contains("build_info"));
    let of = r#"namespace="shop",pod="web-0","#;
    let expected = [
        format!(r#"pod_disk_read_bytes_total{{{of}device="sda",node="worker-1"}} 4096"#),
        format!(r#"pod_disk_written_bytes_total{{{of}device="sda",node="worker-1"}} 8192"#),
        format!(r#"pod_io_waiting_seconds_total{{{of}node="worker-1"}} 0.5"#),
        format!(r#"pod_io_stalled_seconds_total{{{of}node="worker-1"}} 0.25"#),
        r#"node_disk_read_bytes_total{device="sda",node="worker-1"} 1048576"#.to_owned(),
        r#"node_disk_read_bytes_total{device="sdb",node="worker-1"} 1048576"#.to_owned(),
        r#"node_disk_written_bytes_total{device="sda",node="worker-1"} 2097152"#.to_owned(),
        r#"node_disk_written_bytes_total{device="sdb",node="worker-1"} 2097152"#.to_owned(),
        r#"node_io_waiting_seconds_total{node="worker-1"} 2.5"#.to_owned(),
        r#"node_io_stalled_seconds_total{node="worker-1"} 1.5"#.to_owned(),
    ]
    .map(|line| format!("evenkeel_{line}"));
    assert_eq!(series, expected);
}
