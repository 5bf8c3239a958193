//! `evenkeel agent`: the agent of a node, in a Pod of a DaemonSet.

use std::path::PathBuf;

use evenkeel_terminal::output::CliFailure;
use evenkeel_terminal::settings::ProcessArgs;

const EXAMPLES: &str = "\
Examples:
  evenkeel install --with node-agent | kubectl apply -f -  # one on every node; add your other options
  evenkeel agent --node worker-1 --kubeconfig ~/.kube/config --config /etc/evenkeel/config.yaml

Limits the disk I/O of Pods with the annotation evenkeel.dev/disk-io-limit, in opted-in
namespaces, through io.max of the Pod's own cgroup. /metrics shows how much all Pods of the node
read, write and wait. It needs Linux with cgroup v2. It runs until it is stopped, and then removes
its limits. Limits that a killed agent left are found in its record.";

/// Limit and measure the disk I/O of the Pods of one node
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
pub(super) struct Args {
    /// The name of the Node object
    #[arg(long, value_name = "NAME", env = "EVENKEEL_NODE")]
    node: String,

    /// The kubelet's directory of cgroups: kubepods.slice with the driver systemd, kubepods with
    /// cgroupfs
    #[arg(
        long,
        value_name = "DIR",
        default_value = "/sys/fs/cgroup/kubepods.slice",
        help_heading = "The node"
    )]
    kubepods: PathBuf,

    /// The file with the mounts of the node
    #[arg(
        long,
        value_name = "FILE",
        default_value = "/proc/1/mountinfo",
        help_heading = "The node"
    )]
    mountinfo: PathBuf,

    /// The kubelet's directory, as a path on the node; the agent opens nothing in it
    #[arg(
        long,
        value_name = "DIR",
        default_value = "/var/lib/kubelet",
        help_heading = "The node"
    )]
    kubelet: PathBuf,

    /// The sysfs of the node
    #[arg(
        long,
        value_name = "DIR",
        default_value = "/sys",
        help_heading = "The node"
    )]
    sys: PathBuf,

    /// The procfs with the pressure of the node
    #[arg(
        long,
        value_name = "DIR",
        default_value = "/proc",
        help_heading = "The node"
    )]
    proc: PathBuf,

    /// File in which the agent records its limits; its directory must persist until the machine
    /// restarts
    #[arg(
        long,
        value_name = "FILE",
        default_value = "/run/evenkeel-agent/limits.json",
        help_heading = "The node"
    )]
    record: PathBuf,

    #[command(flatten)]
    process: ProcessArgs,
}

#[cfg(target_os = "linux")]
pub(super) fn run(args: Args) -> Result<(), CliFailure> {
    use evenkeel_service::agent::Paths;

    let paths = Paths {
        kubepods: args.kubepods,
        mountinfo: args.mountinfo,
        sys: args.sys,
        proc: args.proc,
        kubelet: args.kubelet,
        record: args.record,
    };
    let agent = |config| evenkeel_service::lifecycle::watch_node(config, args.node, paths);
    args.process.run(agent)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn run(_: Args) -> Result<(), CliFailure> {
    Err(CliFailure::work(
        "evenkeel agent limits and measures disk I/O by cgroup v2, which Linux alone has",
    ))
}
