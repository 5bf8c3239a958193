//! Writes a cluster of mixed nodes for `evenkeel score`, the same one for the same seed.
//!
//! `cargo run --example generate_cluster -- 2026 30 > examples/clusters/thirty-nodes.yaml` made the
//! file that is shipped.

use std::fmt::Write as _;

/// Kinds of nodes: name, cores, memory in GiB, network in Gbps, disk I/O in MB/s, disk in GiB.
const KINDS: [(&str, u64, u64, u64, u64, u64); 4] = [
    ("general", 16, 64, 10, 400, 200),
    ("compute", 32, 64, 10, 200, 100),
    ("memory", 16, 128, 10, 400, 200),
    ("storage", 8, 64, 25, 2000, 800),
];

/// SplitMix64: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A part of `whole`, from 10 to 75 hundredths, and every twelfth time up to 95.
    fn part(&mut self, whole: u64) -> u64 {
        let most = if self.next().is_multiple_of(12) {
            95
        } else {
            75
        };
        whole * (10 + self.next() % (most - 9)) / 100
    }
}

/// A ClusterSnapshot of `nodes` nodes.
#[must_use]
pub(crate) fn cluster(seed: u64, nodes: u64) -> String {
    let mut random = Random(seed);
    let mut text = format!(
        "# {nodes} nodes; `cargo run --example generate_cluster -- {seed} {nodes}` writes this file.\n\
         apiVersion: config.evenkeel.dev/v1alpha1\n\
         kind: ClusterSnapshot\n\
         \n\
         namespaces:\n  shop: {{evenkeel.dev/enabled: \"true\"}}\n\
         \n\
         nodes:\n"
    );
    for number in 1..=nodes {
        let (kind, cores, memory, network, disk_io, disk) =
            KINDS[usize::try_from(random.next() % 4).unwrap_or_default()];
        // Writing to a text cannot fail.
        let _ = write!(
            text,
            "  - name: {kind}-{number:02}\n    \
             capacity: {{cpu: \"{cores}\", memory: {memory}Gi, networkIo: {network}Gbps, \
             diskIo: {disk_io}MB/s, disk: {disk}Gi}}\n    \
             usage: {{cpu: {}m, memory: {}Mi, networkIo: {}MB/s, diskIo: {}MB/s, disk: {}Mi}}\n",
            random.part(cores * 1000),
            random.part(memory * 1024),
            random.part(network * 125),
            random.part(disk_io),
            random.part(disk * 1024),
        );
    }
    text
}

#[allow(dead_code, clippy::print_stdout)] // a test takes the file in for `cluster`; printing is its work
fn main() {
    let mut numbers = std::env::args().skip(1).map_while(|text| text.parse().ok());
    if let (Some(seed), Some(nodes)) = (numbers.next(), numbers.next()) {
        print!("{}", cluster(seed, nodes));
    }
}
