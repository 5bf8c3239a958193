//! The built-in queries on generated texts of node_exporter with a known load: huge pages, SR-IOV, bonds,
//! names of all kinds, repeating interfaces, missing series. A real Prometheus evaluates them.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_clock as clock;
use evenkeel_http_client::HeaderMap;
use evenkeel_objects::node_facts::NodeFacts;
use evenkeel_placement::node_table::NodeTable;
use evenkeel_placement::overload::{Overload, TaintCandidate};
use evenkeel_placement::{node_table, overload};
use evenkeel_service::metrics::prometheus::{
    ExporterMatchers, NodeLabel, PrometheusConnection, PrometheusSource, Queries, Settings,
};
use evenkeel_service::metrics::{
    EndpointAccess, MetricsRound, MetricsSource, QueryRounds, QueryTimeLimits,
};
use evenkeel_units::random::RandomSource;
use evenkeel_units::{Amount, Bytes, Resource};
use jiff::SignedDuration;

use crate::support::metrics_server::Prometheus;

/// Series in the text format, each with a value.
type Series = Vec<(String, f64)>;

const NODES: u64 = 120;
const GIB: f64 = 1_073_741_824.0;
/// Ten gigabits a second.
const SPEED: f64 = 1.25e9;
/// The distance of scrapes, and the time of the first and the last one from the start, in seconds.
const SCRAPES: (usize, i64, i64) = (15, -180, 300);

/// Names that hardware gets: systemd's for PCI slots, domains, USB, devicetree, s390, Xen and VIO, biosdevname's,
/// the kernel's own, and those of other links.
const NAMES: [&str; 18] = [
    "end0",
    "enp3s0",
    "enP4p65s0f0np0",
    "enP2p1s0",
    "enc600",
    "encf500",
    "ens5",
    "eno1",
    "eth0",
    "eth1",
    "enx001b2144aabb",
    "enX0",
    "env2",
    "ibp65s0",
    "ib0",
    "em1",
    "p1p1",
    "wlp2s0",
];

/// Draws numbers of a stream one after another.
struct Draw(RandomSource, u64);

impl Draw {
    fn below(&mut self, count: usize) -> usize {
        self.1 += 1;
        self.0.below(self.1, count)
    }

    fn chance(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    /// Bytes a second that a link carries, up to nine tenths of `speed`.
    fn rate(&mut self, speed: f64) -> f64 {
        self.1 += 1;
        (0.9 * speed * self.0.unit(self.1)).round()
    }
}

/// The kernel's data on interfaces that a node's exporter exports beside speeds and bytes.
#[derive(Clone, Copy, PartialEq)]
struct Told {
    flags: bool,
    info: bool,
}

/// One interface of a node.
struct Interface {
    name: String,
    received: f64,
    sent: f64,
    /// `None` where there is no such series.
    speed: Option<f64>,
    address: String,
    flags: u32,
    address_assigned: u32,
    /// Its own number and that of the interface that it stands on.
    stands_on: (u32, u32),
    protocol: u32,
}

const UP: u32 = 0x1043;
const MASTER: u32 = 0x400;
const SLAVE: u32 = 0x800;

/// A node with what is true of it.
struct Node {
    name: String,
    told: Told,
    interfaces: Vec<Interface>,
    bonds: Vec<(String, usize)>,
    /// Bytes a second in and out, of all links and of those with a known speed.
    all: (f64, f64),
    rated: (f64, f64),
    capacity: f64,
    memory: Memory,
    busy_cores: f64,
}

/// In bytes.
struct Memory {
    total: f64,
    pool: f64,
    used: f64,
    /// The series by which the pool is told, if at all.
    series: Pool,
}

#[derive(Clone, Copy)]
enum Pool {
    Sum,
    Default,
    Absent,
}

impl Node {
    fn add(&mut self, name: &str, rates: (f64, f64), speed: Option<f64>) -> &mut Interface {
        let number = u32::try_from(self.interfaces.len()).unwrap() + 2;
        self.interfaces.push(Interface {
            name: name.to_owned(),
            received: rates.0,
            sent: rates.1,
            speed,
            address: format!("02:00:00:00:00:{number:02x}"),
            flags: UP,
            address_assigned: 0,
            stands_on: (number, number),
            protocol: 1,
        });
        self.interfaces.last_mut().unwrap()
    }

    /// An interface that repeats what another one carries.
    fn add_repeating(&mut self, name: &str, on: usize, address_assigned: u32) {
        let (rates, address, below) = {
            let below = &self.interfaces[on];
            let rates = (below.received, below.sent);
            (rates, below.address.clone(), below.stands_on.0)
        };
        let upper = self.add(name, rates, Some(SPEED));
        upper.address = address;
        upper.address_assigned = address_assigned;
        upper.stands_on.1 = below;
    }

    fn count(&mut self, rates: (f64, f64), speed: Option<f64>) {
        let add = |sum: &mut (f64, f64)| *sum = (sum.0 + rates.0, sum.1 + rates.1);
        add(&mut self.all);
        if let Some(speed) = speed.filter(|speed| *speed > 0.0) {
            add(&mut self.rated);
            self.capacity += speed;
        }
    }

    fn port(&mut self, draw: &mut Draw, name: &str) {
        let rates = (draw.rate(SPEED), draw.rate(SPEED));
        // -1 Mbit/s is what the kernel says of an interface that does not know.
        let speed = [
            Some(SPEED),
            Some(SPEED),
            Some(SPEED),
            Some(-125_000.0),
            None,
        ][draw.below(5)];
        self.add(name, rates, speed);
        self.count(rates, speed);
    }

    /// A port with virtual functions, each with bytes of its own and the port's speed.
    fn port_with_functions(&mut self, draw: &mut Draw) {
        let (port, base) = [
            ("enp65s0f0", "enp65s0f0"),
            ("enp65s0f1np1", "enp65s0f1"),
            ("ens1f0", "ens1f0"),
        ][draw.below(3)];
        let functions = 1 + draw.below(8);
        let share = SPEED / f64::from(u32::try_from(functions).unwrap() + 1);
        let mut sum = (0.0, 0.0);
        for number in 0..=functions {
            let rates = (draw.rate(share), draw.rate(share));
            sum = (sum.0 + rates.0, sum.1 + rates.1);
            let name = match number {
                0 => port.to_owned(),
                number => format!("{base}v{}", number - 1),
            };
            self.add(&name, rates, Some(SPEED));
            if draw.chance(3) && number > 0 {
                // Its stand-in on the switch of the port.
                let name = format!("{base}npf0vf{}", number - 1);
                self.add(&name, rates, Some(SPEED));
            }
        }
        self.count(sum, Some(SPEED));
    }

    fn bond(&mut self, draw: &mut Draw, alone: bool) {
        let all_carry = draw.chance(2);
        let members = 2 + draw.below(2);
        let name = ["bond0", "bond-data", "po1"][draw.below(3)];
        // An interface without a bond's name is known by the series of bonds alone.
        let address = "02:00:00:00:00:b0";
        // Addresses that say nothing of the bond, where flags do not either.
        let strange = alone && !self.told.flags && draw.chance(2);
        let mut sum = (0.0, 0.0);
        for number in 0..members {
            let carries = all_carry || number == 0;
            let rates = if carries {
                (draw.rate(SPEED), draw.rate(SPEED))
            } else {
                (0.0, 0.0)
            };
            sum = (sum.0 + rates.0, sum.1 + rates.1);
            let member = self.add(&format!("eno{}", number + 1), rates, Some(SPEED));
            member.flags |= SLAVE;
            if !strange {
                address.clone_into(&mut member.address);
            }
            member.address_assigned = 3;
        }
        let carrying = if all_carry { members } else { 1 };
        let speed = SPEED * f64::from(u32::try_from(carrying).unwrap());
        let bond = self.add(name, sum, Some(speed));
        bond.flags |= MASTER;
        address.clone_into(&mut bond.address);
        bond.address_assigned = 2;
        let bond = self.interfaces.len() - 1;
        self.add_repeating(&format!("{name}.100"), bond, 2);
        self.bonds.push((name.to_owned(), members));
        self.count(sum, Some(speed));
    }

    /// Azure's accelerated networking: the synthetic interface counts what its function carries.
    fn azure(&mut self, draw: &mut Draw) {
        let rates = (draw.rate(SPEED), draw.rate(SPEED));
        let synthetic = self.add("eth0", rates, Some(SPEED));
        "02:00:00:00:00:a0".clone_into(&mut synthetic.address);
        let function = self.add("enP53091s1np0", rates, Some(SPEED));
        "02:00:00:00:00:a0".clone_into(&mut function.address);
        function.flags |= SLAVE;
        self.count(rates, Some(SPEED));
    }

    /// Interfaces that carry nothing of the node's own.
    fn noise(&mut self, draw: &mut Draw) {
        let first = 0;
        let vlan = format!("{}.42", self.interfaces[first].name);
        self.add_repeating(&vlan, first, 2);
        self.add_repeating("macvlan0", first, 3);
        for (name, address_assigned, protocol) in [
            ("lo", 0, 772),
            ("docker0", 3, 1),
            ("br-ex", 1, 1),
            ("cni0", 1, 1),
            ("ovs-system", 1, 1),
            ("kube-ipvs0", 1, 1),
            ("flannel.1", 1, 1),
            ("tunl0", 0, 768),
            ("wg0", 0, 65534),
            ("dummy0", 1, 1),
        ] {
            let rates = (draw.rate(SPEED), draw.rate(SPEED));
            let other = self.add(name, rates, Some(SPEED));
            other.address_assigned = address_assigned;
            other.protocol = protocol;
        }
        for number in 0..draw.below(4) {
            let prefix = ["veth", "cali", "lxc", "eni", "antrea-pod--"][draw.below(5)];
            let rates = (draw.rate(SPEED), draw.rate(SPEED));
            let pair = self.add(&format!("{prefix}0a1b{number}"), rates, Some(SPEED));
            pair.address_assigned = 1;
            pair.stands_on.1 = 3;
            "ee:ee:ee:ee:ee:ee".clone_into(&mut pair.address);
        }
    }

    fn generate(number: u64) -> Self {
        let mut draw = Draw(RandomSource::new(27).stream(&number.to_string()), 0);
        let told = Told {
            flags: !draw.chance(3),
            info: !draw.chance(3),
        };
        let total = GIB * [16.0, 64.0, 256.0][draw.below(3)];
        let pool = (total * [0.0, 0.25, 0.75][draw.below(3)]).floor();
        let series = match (pool > 0.0, draw.below(3)) {
            (false, 0) => Pool::Absent,
            (_, 1) => Pool::Default,
            _ => Pool::Sum,
        };
        let used = draw.rate(total - pool);
        let mut node = Self {
            name: format!("n{number}"),
            told,
            interfaces: Vec::new(),
            bonds: Vec::new(),
            all: (0.0, 0.0),
            rated: (0.0, 0.0),
            capacity: 0.0,
            memory: Memory {
                total,
                pool,
                used,
                series,
            },
            busy_cores: draw.rate(4.0e6) / 1.0e6,
        };
        let is_known = told.flags || told.info;
        match draw.below(6) {
            0 => node.bond(&mut draw, true),
            1 if is_known => {
                node.bond(&mut draw, false);
                node.port(&mut draw, "enp9s0");
            }
            2 => node.port_with_functions(&mut draw),
            3 => node.azure(&mut draw),
            4 => {
                node.port(&mut draw, "lan0");
                node.port(&mut draw, "uplink");
            }
            _ => {
                let first = draw.below(NAMES.len());
                node.port(&mut draw, NAMES[first]);
                // A second one of another kind, but for what would look like Azure's pair.
                let second = NAMES[(first + 1 + draw.below(NAMES.len() - 1)) % NAMES.len()];
                let is_pair = [NAMES[first], second];
                let has = |prefix: &str| is_pair.iter().any(|name| name.starts_with(prefix));
                if draw.chance(2) && (told.info || !(has("enP") && has("eth"))) {
                    node.port(&mut draw, second);
                }
            }
        }
        node.noise(&mut draw);
        node
    }

    /// The series that do not change, then those that grow by so much a second.
    #[allow(clippy::too_many_lines)] // one line for each metric of an exporter
    fn series(&self, ip: &str) -> (Series, Series) {
        let base = format!("job=\"node-exporter\",instance=\"{ip}:9100\"");
        let one = |metric: &str, labels: &str| {
            let comma = if labels.is_empty() { "" } else { "," };
            format!("{metric}{{{base}{comma}{labels}}}")
        };
        let (mut still, mut growing) = (Vec::new(), Vec::new());
        let nodename = format!("nodename=\"{}\"", self.name);
        still.push((one("node_uname_info", &nodename), 1.0));
        let Memory {
            total,
            pool,
            used,
            series,
        } = &self.memory;
        still.push((one("node_memory_MemTotal_bytes", ""), *total));
        let available = total - pool - used;
        still.push((one("node_memory_MemAvailable_bytes", ""), available));
        let page = 2.0 * 1024.0 * 1024.0;
        match series {
            Pool::Sum => {
                still.push((one("node_memory_Hugetlb_bytes", ""), *pool));
                // The pool is of larger pages than the default ones.
                still.push((one("node_memory_HugePages_Total", ""), 0.0));
                still.push((one("node_memory_Hugepagesize_bytes", ""), page));
            }
            Pool::Default => {
                still.push((one("node_memory_HugePages_Total", ""), pool / page));
                still.push((one("node_memory_Hugepagesize_bytes", ""), page));
            }
            Pool::Absent => {}
        }
        let busy = self.busy_cores / 4.0;
        for cpu in 0..4 {
            for (mode, rate) in [("idle", 1.0 - busy), ("user", busy)] {
                let labels = format!("cpu=\"{cpu}\",mode=\"{mode}\"");
                growing.push((one("node_cpu_seconds_total", &labels), rate));
            }
        }
        for (bond, members) in &self.bonds {
            let labels = format!("master=\"{bond}\"");
            let members = f64::from(u32::try_from(*members).unwrap());
            still.push((one("node_bonding_slaves", &labels), members));
        }
        for interface in &self.interfaces {
            let device = format!("device=\"{}\"", interface.name);
            let mut tell = |metric: &str, value: f64| still.push((one(metric, &device), value));
            if let Some(speed) = interface.speed {
                tell("node_network_speed_bytes", speed);
            }
            let (own, below) = interface.stands_on;
            for (metric, value) in [
                (
                    "node_network_address_assign_type",
                    interface.address_assigned,
                ),
                ("node_network_iface_id", own),
                ("node_network_iface_link", below),
                ("node_network_protocol_type", interface.protocol),
            ] {
                tell(metric, f64::from(value));
            }
            if self.told.flags {
                tell("node_network_flags", f64::from(interface.flags));
            }
            if self.told.info {
                let labels = format!(
                    "{device},address=\"{}\",operstate=\"up\"",
                    interface.address
                );
                still.push((one("node_network_info", &labels), 1.0));
            }
            for (direction, rate) in [
                ("receive", interface.received),
                ("transmit", interface.sent),
            ] {
                let metric = format!("node_network_{direction}_bytes_total");
                growing.push((one(&metric, &device), rate));
            }
        }
        (still, growing)
    }
}

/// All samples of all nodes, for `promtool`.
fn text(nodes: &[Node]) -> String {
    let now = clock::now().as_second();
    let (step, first, last) = SCRAPES;
    let times: Vec<i64> = (first..=last).step_by(step).collect();
    let mut text = String::new();
    let mut all = Vec::new();
    for (number, node) in nodes.iter().enumerate() {
        let (still, growing) = node.series(&format!("10.0.{}.{}", number / 200, number % 200));
        all.extend(
            still
                .into_iter()
                .map(|(series, value)| (series, value, 0.0)),
        );
        all.extend(
            growing
                .into_iter()
                .map(|(series, rate)| (series, 0.0, rate)),
        );
    }
    // Samples of one metric stand together.
    all.sort_by(|a, b| a.0.cmp(&b.0));
    for (series, value, rate) in all {
        for second in &times {
            let passed = u32::try_from(second - first).unwrap();
            let value = value + rate * f64::from(passed);
            writeln!(text, "{series} {value} {}", now + second).unwrap();
        }
    }
    text + "# EOF\n"
}

fn source(prometheus: &Prometheus) -> PrometheusSource {
    let _ = rustls::crypto::ring::default_provider().install_default();
    PrometheusSource::new(Settings {
        connection: PrometheusConnection {
            url: prometheus.url.clone(),
            headers: HeaderMap::new(),
            access: EndpointAccess::default(),
            timeout: Duration::from_mins(2),
            body_limit: Bytes(16 << 20),
        },
        window: SignedDuration::from_mins(2),
        node_label: NodeLabel::Automatic,
        matchers: ExporterMatchers::default(),
        queries: Queries::default(),
    })
}

/// The first round in which the nodes are there: Prometheus takes a moment to start.
async fn round(prometheus: &Prometheus) -> MetricsRound {
    let patience = Duration::from_mins(3);
    let limits = QueryTimeLimits {
        deadline: patience,
        patience,
    };
    let source = Arc::new(source(prometheus)) as Arc<dyn MetricsSource>;
    let mut asking = QueryRounds::new(source, limits);
    let begun = clock::instant();
    loop {
        match asking.round(clock::now()).await {
            Ok(round) if !round.usage.node_names().is_empty() => {
                let failures: Vec<String> = round
                    .failures()
                    .map(|(query, error)| format!("{}: {error}", query.as_str()))
                    .collect();
                assert_eq!(failures, Vec::<String>::new());
                return round;
            }
            _ => assert!(begun.elapsed() < patience, "{}", prometheus.log()),
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

async fn what_is_measured_is_the_true_load_whatever_the_interfaces_and_pools() {
    let nodes: Vec<Node> = (0..NODES).map(Node::generate).collect();
    let prometheus = Prometheus::with_past(&text(&nodes));
    let round = round(&prometheus).await;
    let mut wrong = Vec::new();
    for node in &nodes {
        let measured = round.usage.node(&node.name);
        let value = |resource: Resource| measured[resource].map(|one| one.value);
        let busier = |(received, sent): (f64, f64)| received.max(sent);
        let rated = round.usage.rated_network.get(&*node.name);
        let capacity = round.usage.network_capacity.get(&*node.name).copied();
        let has_capacity = node.capacity > 0.0;
        for (what, found, truth) in [
            ("cpu", value(Resource::Cpu), Some(1000.0 * node.busy_cores)),
            ("memory", value(Resource::Memory), Some(node.memory.used)),
            (
                "network",
                value(Resource::NetworkIo),
                Some(busier(node.all)),
            ),
            ("capacity", capacity, has_capacity.then_some(node.capacity)),
            (
                "use of the capacity",
                rated.map(|one| one.value),
                has_capacity.then(|| busier(node.rated)),
            ),
        ] {
            if !is_near(found, truth) {
                let names: Vec<&str> = node.interfaces.iter().map(|one| &*one.name).collect();
                let Told { flags, info } = node.told;
                wrong.push(format!(
                    "{what} of {} is {found:?}, not {truth:?}: {names:?}, flags {flags}, info {info}",
                    node.name
                ));
            }
        }
    }
    wrong.extend(wrongly_tainted(&nodes, &round));
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// The nodes that are taken for overloaded on account of their network and are not, or the other way round.
fn wrongly_tainted(nodes: &[Node], round: &MetricsRound) -> Vec<String> {
    let now = clock::now();
    let mut table = NodeTable::new(node_table::Settings::default());
    let facts = NodeFacts {
        network_is_default: true,
        schedulable: true,
        ..NodeFacts::default()
    };
    let mut overload = Overload::new(
        overload::Settings {
            disk: false,
            max_age: SignedDuration::from_hours(1),
        },
        now,
    );
    // As many idle nodes as may not be tainted beside all that are busy.
    let idle: Vec<String> = (0..3 * NODES)
        .map(|number| format!("idle-{number}"))
        .collect();
    let names = nodes.iter().map(|node| &node.name).chain(&idle);
    for name in names.clone() {
        table.apply_node(name, facts, now);
    }
    for second in 0..3 {
        let mut usage = (*round.usage).clone();
        for column in [
            &mut usage.nodes[Resource::NetworkIo],
            &mut usage.rated_network,
        ] {
            for measured in Arc::make_mut(column).values_mut() {
                measured.at = now + SignedDuration::from_secs(second);
            }
        }
        table.apply_sample(Arc::new(usage), now);
        overload.observe(table.nodes(), now);
    }
    let candidates: Vec<TaintCandidate<'_>> = names
        .map(|name| TaintCandidate {
            name,
            schedulable: true,
            control_plane: false,
            tainted: false,
        })
        .collect();
    let decided = overload.decide(&candidates, now);
    let wrong = nodes.iter().filter_map(|node| {
        let share = node.rated.0.max(node.rated.1) / node.capacity;
        let is_tainted = decided.iter().any(|(name, _)| *name == node.name);
        // At the line itself a thousandth of the measurement decides.
        let is_clear = (share - 0.8).abs() > 0.01;
        let is_wrong = is_tainted != (node.capacity > 0.0 && share >= 0.8);
        (is_clear && is_wrong).then(|| format!("taint of {}: {is_tainted} at {share}", node.name))
    });
    wrong.collect()
}

/// Within half a percent, or a unit.
fn is_near(found: Option<Amount>, truth: Option<f64>) -> bool {
    match (found, truth) {
        (Some(found), Some(truth)) => {
            (found.as_f64() - truth).abs() <= (0.005 * truth.abs()).max(1.0)
        }
        (found, truth) => found.is_none() && truth.is_none(),
    }
}

crate::support::trial::suite!(
    async [
        crate::support::trial::Requirement::Program("prometheus"),
        crate::support::trial::Requirement::Program("promtool"),
    ] => [what_is_measured_is_the_true_load_whatever_the_interfaces_and_pools]
);
