//! The choice of the Pods to tune next: the ten highest of each node.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use evenkeel_tuning::decision::HighestPods;
use evenkeel_units::Amount;
use evenkeel_units::cpu_memory::CpuMemory;

const NODES: usize = 5_000;
const PODS: u64 = 150_000;

fn highest(criterion: &mut Criterion) {
    let capacity = CpuMemory {
        cpu: Amount::new(16_000),
        memory: Amount::new(64 << 30),
    };
    // In no order of nodes or of use.
    let pods: Vec<(usize, u64, CpuMemory<Amount>)> = (0..PODS)
        .map(|pod| {
            let mixed = pod.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let node = usize::try_from(mixed >> 33).unwrap_or(0) % NODES;
            let used = CpuMemory {
                cpu: Amount::new(mixed % 900),
                memory: Amount::new(mixed % (3 << 30)),
            };
            (node, pod, used)
        })
        .collect();
    let mut group = criterion.benchmark_group("tuning");
    group.throughput(Throughput::Elements(PODS));
    group.bench_function("ten highest of 5,000 nodes, 150,000 Pods", |bencher| {
        bencher.iter(|| {
            let mut highest = HighestPods::new(vec![capacity; NODES]);
            for &(node, pod, used) in &pods {
                highest.see(node, pod, used);
            }
            black_box(highest.into_nodes())
        });
    });
    group.finish();
}

criterion_group!(benches, highest);
criterion_main!(benches);
