//! The disk I/O and the waiting of the node's Pods and of the node, measured at each scrape. The
//! names are Evenkeel's own: with names of cAdvisor or node_exporter, a Prometheus that scrapes
//! both would count twice. One series for each Pod and each disk that it has used.

use std::collections::BTreeMap;
use std::fmt;

use evenkeel_disk_io::cgroup::{Device, IoByteCounts, Pressure};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;

use super::host::Host;
use super::pods::NodePods;

#[derive(Debug)]
pub(super) struct Figures {
    host: Host,
    pods: NodePods,
    node: String,
}

#[derive(Debug)]
struct PodFigures {
    disks: BTreeMap<Device, IoByteCounts>,
    pressure: Option<Pressure>,
}

type NamespacedPodName = (String, String);

impl Figures {
    pub(super) const fn new(host: Host, pods: NodePods, node: String) -> Self {
        Self { host, pods, node }
    }

    /// By name, so that a Pod and its successor, both known for a moment, are one series.
    fn of_pods(&self) -> BTreeMap<NamespacedPodName, PodFigures> {
        let mut all = BTreeMap::new();
        for pod in self.pods.running() {
            let Some(cgroup) = self.host.cgroup(&pod).filter(|path| self.host.has(path)) else {
                continue;
            };
            let figures = PodFigures {
                disks: self.host.transferred(&cgroup).unwrap_or_default(),
                pressure: self.host.pod_pressure(&cgroup),
            };
            let metadata = &pod.metadata;
            let name = |name: &Option<String>| name.clone().unwrap_or_default();
            all.insert((name(&metadata.namespace), name(&metadata.name)), figures);
        }
        all
    }
}

impl Collector for Figures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let disks = self.host.physical();
        let pods = self.of_pods();
        let mut page = IoMetricsEncoder {
            node: &self.node,
            pods: &pods,
            disks: &disks,
            encoder: &mut encoder,
        };
        page.pod_disks(
            "pod_disk_read_bytes",
            "Bytes that the Pod has read from a disk",
            |of| of.read,
        )?;
        page.pod_disks(
            "pod_disk_written_bytes",
            "Bytes that the Pod has written to a disk",
            |of| of.written,
        )?;
        page.pod_pressure(
            "pod_io_waiting_seconds",
            "Time in which some task of the Pod waited for I/O",
            |of| Some(of.some),
        )?;
        page.pod_pressure(
            "pod_io_stalled_seconds",
            "Time in which all tasks of the Pod that had work waited for I/O",
            |of| of.full,
        )?;
        let read: Vec<_> = disks
            .values()
            .filter_map(|name| Some((&**name, self.host.disk(name)?)))
            .collect();
        page.node_disks(
            "node_disk_read_bytes",
            "Bytes that the node has read from a disk",
            &read,
            |of| of.read,
        )?;
        page.node_disks(
            "node_disk_written_bytes",
            "Bytes that the node has written to a disk",
            &read,
            |of| of.written,
        )?;
        let pressure = self.host.node_pressure();
        page.node_pressure(
            "node_io_waiting_seconds",
            "Time in which some task of the node waited for I/O",
            pressure.map(|of| of.some),
        )?;
        page.node_pressure(
            "node_io_stalled_seconds",
            "Time in which all tasks of the node that had work waited for I/O",
            pressure.and_then(|of| of.full),
        )
    }
}

struct IoMetricsEncoder<'a, 'e> {
    node: &'a str,
    pods: &'a BTreeMap<NamespacedPodName, PodFigures>,
    disks: &'a BTreeMap<Device, String>,
    encoder: &'a mut DescriptorEncoder<'e>,
}

impl IoMetricsEncoder<'_, '_> {
    fn pod_disks(
        &mut self,
        name: &str,
        help: &str,
        value: impl Fn(IoByteCounts) -> u64,
    ) -> fmt::Result {
        let mut encoder = self
            .encoder
            .encode_descriptor(name, help, None, MetricType::Counter)?;
        for ((namespace, pod), figures) in self.pods {
            for (device, of) in &figures.disks {
                // A device above a disk repeats what the disk counts.
                let Some(disk) = self.disks.get(device) else {
                    continue;
                };
                let labels = [
                    ("namespace", &**namespace),
                    ("pod", &**pod),
                    ("device", &**disk),
                    ("node", self.node),
                ];
                ConstCounter::new(value(*of)).encode(encoder.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }

    fn pod_pressure(
        &mut self,
        name: &str,
        help: &str,
        micros: impl Fn(Pressure) -> Option<u64>,
    ) -> fmt::Result {
        let mut encoder = self
            .encoder
            .encode_descriptor(name, help, None, MetricType::Counter)?;
        for ((namespace, pod), figures) in self.pods {
            let Some(micros) = figures.pressure.and_then(&micros) else {
                continue;
            };
            let labels = [
                ("namespace", &**namespace),
                ("pod", &**pod),
                ("node", self.node),
            ];
            ConstCounter::new(seconds(micros)).encode(encoder.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn node_disks(
        &mut self,
        name: &str,
        help: &str,
        disks: &[(&str, IoByteCounts)],
        value: impl Fn(IoByteCounts) -> u64,
    ) -> fmt::Result {
        let mut encoder = self
            .encoder
            .encode_descriptor(name, help, None, MetricType::Counter)?;
        for (disk, of) in disks {
            let labels = [("device", *disk), ("node", self.node)];
            ConstCounter::new(value(*of)).encode(encoder.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn node_pressure(&mut self, name: &str, help: &str, micros: Option<u64>) -> fmt::Result {
        let mut encoder = self
            .encoder
            .encode_descriptor(name, help, None, MetricType::Counter)?;
        if let Some(micros) = micros {
            let labels = [("node", self.node)];
            ConstCounter::new(seconds(micros)).encode(encoder.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

/// The kernel's microseconds in seconds.
fn seconds(micros: u64) -> f64 {
    std::time::Duration::from_micros(micros).as_secs_f64()
}
