//! An exporter on loopback that plays node_exporter, kubelet's cAdvisor, kube-state-metrics and Evenkeel's agents
//! for some made-up nodes, with counters that rise steadily.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::get;
use evenkeel_clock as clock;
use jiff::Timestamp;
use tokio::net::TcpListener;

/// Busy cores of node `number`, of its four.
pub(crate) fn busy_cores(number: u32) -> f64 {
    0.5 * f64::from(number)
}

/// Bytes in use of node `number`'s memory.
pub(crate) fn memory(number: u32) -> f64 {
    1e9 * f64::from(number)
}

/// Bytes per second that node `number` receives; it sends half as much.
pub(crate) fn received(number: u32) -> f64 {
    1e6 * f64::from(number)
}

/// Bytes per second that node `number` writes to each of its two disks; it reads a third of it.
pub(crate) fn written(number: u32) -> f64 {
    3e5 * f64::from(number)
}

/// The speed of each node's interface in bytes per second.
pub(crate) const SPEED: f64 = 1.25e9;

/// The simulated exporter.
pub(crate) struct Exporter {
    started: Instant,
    /// Nodes that were restarted later, with their counters.
    pub restarted: Mutex<std::collections::HashMap<u32, Instant>>,
    /// Nodes that no longer answer.
    pub gone: Mutex<Vec<u32>>,
    /// The last time that a node's own exporter was read, by number.
    pub read_at: Mutex<std::collections::HashMap<u32, Timestamp>>,
}

/// Starts the exporter.
pub(crate) async fn start() -> (SocketAddr, Arc<Exporter>) {
    let exporter = Arc::new(Exporter {
        started: clock::instant(),
        restarted: Mutex::default(),
        gone: Mutex::default(),
        read_at: Mutex::default(),
    });
    let router = Router::new()
        .route("/node/{number}", get(node))
        .route("/cadvisor/{number}", get(cadvisor))
        .route("/state", get(state))
        .route("/agent/{number}", get(agent))
        .with_state(exporter.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (address, exporter)
}

type Scrape = Result<String, StatusCode>;

impl Exporter {
    /// The seconds that the counters have risen for, unless the node is gone.
    fn seconds(&self, number: u32) -> Result<f64, StatusCode> {
        if self.gone.lock().unwrap().contains(&number) {
            return Err(StatusCode::INTERNAL_SERVER_ERROR);
        }
        let restarted = self.restarted.lock().unwrap().get(&number).copied();
        Ok(restarted.unwrap_or(self.started).elapsed().as_secs_f64())
    }
}

async fn node(State(exporter): State<Arc<Exporter>>, Path(number): Path<u32>) -> Scrape {
    let seconds = exporter.seconds(number)?;
    exporter
        .read_at
        .lock()
        .unwrap()
        .insert(number, clock::now());
    let mut text = String::new();
    let mut line = |series: &str, value: f64| writeln!(text, "{series} {value}").unwrap();
    cpu_and_memory(number, seconds, &mut line);
    network(number, seconds, &mut line);
    disks(number, seconds, &mut line);
    let identity = format!("node_uname_info{{nodename=\"Node-{number}\",sysname=\"Linux\"}}");
    line(&identity, 1.0);
    Ok(text)
}

fn cpu_and_memory(number: u32, seconds: f64, line: &mut impl FnMut(&str, f64)) {
    let busy = busy_cores(number) / 4.0;
    for cpu in 0..4 {
        for (mode, share) in [
            ("idle", (1.0 - busy) * 0.8),
            ("iowait", (1.0 - busy) * 0.1),
            ("steal", (1.0 - busy) * 0.1),
            ("user", busy * 0.7),
            ("system", busy * 0.3),
        ] {
            let series = format!("node_cpu_seconds_total{{cpu=\"{cpu}\",mode=\"{mode}\"}}");
            line(&series, share * seconds);
        }
    }
    line("node_memory_MemTotal_bytes", 16e9);
    line("node_memory_MemAvailable_bytes", 16e9 - memory(number));
}

/// All devices but the first repeat what the first carries.
fn network(number: u32, seconds: f64, line: &mut impl FnMut(&str, f64)) {
    for device in [
        "eth0",
        "eth0.7",
        "bond0",
        "lo",
        "veth12ab",
        "cali34cd",
        "eni56ef",
        "cilium_host",
    ] {
        for (direction, rate) in [
            ("receive", received(number)),
            ("transmit", received(number) / 2.0),
        ] {
            let series = format!("node_network_{direction}_bytes_total{{device=\"{device}\"}}");
            line(&series, rate * seconds);
        }
        let speed = format!("node_network_speed_bytes{{device=\"{device}\"}}");
        line(&speed, SPEED);
    }
    // The kernel's value for an interface without a cable.
    line("node_network_speed_bytes{device=\"eth1\"}", -125_000.0);
}

/// All devices but the first two repeat what those count.
fn disks(number: u32, seconds: f64, line: &mut impl FnMut(&str, f64)) {
    for device in [
        "sda",
        "nvme0n1",
        "sda1",
        "nvme0n1p1",
        "dm-0",
        "md0",
        "nvme0c0n1",
    ] {
        for (direction, rate) in [
            ("read", written(number) / 3.0),
            ("written", written(number)),
        ] {
            let series = format!("node_disk_{direction}_bytes_total{{device=\"{device}\"}}");
            line(&series, rate * seconds);
        }
    }
}

/// The Pod of the Deployment `api` on node `number`.
pub(crate) fn api_pod(number: u32) -> String {
    format!("api-7c5ddb8f4-bcdf{}", 4 + number)
}

/// Two Pods on each node, one of two containers and one on the host network, and one of a
/// Deployment that uses cpu only.
async fn cadvisor(State(exporter): State<Arc<Exporter>>, Path(number): Path<u32>) -> Scrape {
    let seconds = exporter.seconds(number)?;
    let mut text = String::new();
    let mut line = |series: &str, value: f64| writeln!(text, "{series} {value}").unwrap();
    line("machine_memory_bytes", 16e9);
    for pod in [format!("web-{number}"), format!("host-{number}")] {
        // The first two are the Pod's own cgroup, which holds all, and its pause container.
        for (container, share) in [("", 1.0), ("POD", 0.5), ("app", 0.75), ("sidecar", 0.25)] {
            let labels = format!("namespace=\"shop\",pod=\"{pod}\",container=\"{container}\"");
            let cpu = 0.4 * share * seconds;
            line(
                &format!("container_cpu_usage_seconds_total{{{labels}}}"),
                cpu,
            );
            line(
                &format!("container_memory_working_set_bytes{{{labels}}}"),
                2e8 * share,
            );
            line(
                &format!("container_fs_usage_bytes{{{labels}}}"),
                4e7 * share,
            );
            for device in ["/dev/sda", "/dev/dm-0"] {
                let labels = format!("{labels},device=\"{device}\"");
                let bytes = 1e5 * share * seconds;
                line(
                    &format!("container_fs_reads_bytes_total{{{labels}}}"),
                    bytes,
                );
                line(
                    &format!("container_fs_writes_bytes_total{{{labels}}}"),
                    2.0 * bytes,
                );
            }
        }
        for interface in ["eth0", "lo"] {
            let labels = format!("namespace=\"shop\",pod=\"{pod}\",interface=\"{interface}\"");
            for direction in ["receive", "transmit"] {
                let series = format!("container_network_{direction}_bytes_total{{{labels}}}");
                line(&series, 5e4 * seconds);
            }
        }
    }
    let api = api_pod(number);
    let labels = format!("namespace=\"shop\",pod=\"{api}\",container=\"app\"");
    line(
        &format!("container_cpu_usage_seconds_total{{{labels}}}"),
        0.5 * seconds,
    );
    line(
        "container_fs_usage_bytes{id=\"/\",container=\"\",pod=\"\"}",
        9e10,
    );
    Ok(text)
}

async fn state() -> String {
    let elsewhere =
        "kube_pod_status_ready{namespace=\"bank\",pod=\"web-1\",condition=\"true\"} 1\n";
    (1..=3).fold(elsewhere.to_owned(), |mut text, number| {
        // The last of a workload is not ready.
        let ready = u32::from(number < 3);
        let labels = format!("namespace=\"shop\",pod=\"web-{number}\",condition=\"true\"");
        writeln!(text, "kube_pod_status_ready{{{labels}}} {ready}").unwrap();
        for (pod, host_network) in [("web", false), ("host", true)] {
            let labels = format!(
                "namespace=\"shop\",pod=\"{pod}-{number}\",host_network=\"{host_network}\""
            );
            writeln!(text, "kube_pod_info{{{labels}}} 1").unwrap();
        }
        text
    })
}

/// Bytes per second that the Pod `web` of node `number` reads by its agent, another figure than cAdvisor's; it
/// writes twice as much.
pub(crate) fn read_by_agent(number: u32) -> f64 {
    7e5 * f64::from(number)
}

/// Plays the agent of a node, which tells other figures of the disks than node_exporter.
async fn agent(State(exporter): State<Arc<Exporter>>, Path(number): Path<u32>) -> Scrape {
    let seconds = exporter.seconds(number)?;
    let mut text = String::new();
    let mut line = |series: &str, value: f64| writeln!(text, "{series} {value}").unwrap();
    let node = format!("device=\"sda\",node=\"node-{number}\"");
    let pod = format!("namespace=\"shop\",pod=\"web-{number}\",{node}");
    let bytes = read_by_agent(number) * seconds;
    for (direction, share) in [("read", 1.0), ("written", 2.0)] {
        let of_pod = format!("evenkeel_pod_disk_{direction}_bytes_total{{{pod}}}");
        line(&of_pod, share * bytes);
        let of_node = format!("evenkeel_node_disk_{direction}_bytes_total{{{node}}}");
        line(&of_node, 2.0 * share * bytes);
    }
    let waiting = format!("evenkeel_node_io_waiting_seconds_total{{node=\"node-{number}\"}}");
    line(&waiting, 0.25 * seconds);
    Ok(text)
}
