//! The queries for the network of nodes and Pods. One query gives the exporters' data of each
//! interface that is hardware or a bond: by a hardware name, by the kernel's data (an address of
//! its own, Ethernet, on no other interface), or by members.
//! [`NetworkUse`](evenkeel_placement::interfaces::NetworkUse) decides what counts: in PromQL
//! the query would be longer than servers accept.

use evenkeel_units::words;

/// Names of hardware interfaces, also those of hypervisors, and usual names of bonds and teams.
/// `eni...` is what the CNI plugin of AWS calls its veth pairs.
macro_rules! named {
    () => {
        "eth[0-9]+|en[a-hj-zA-Z0-9][0-9a-zA-Z]*|em[0-9]+|p[0-9]+p[0-9]+|ib[0-9a-z][0-9a-zA-Z]*|w[lw][0-9a-z][0-9a-zA-Z]*\
         |(bond|team)[^.:@]*"
    };
}

/// Names that hardware never has (there may be a hundred on a node), of virtual functions on the
/// switch of their port, and of a failover's spare interfaces.
macro_rules! never {
    () => {
        "lo|veth.*|cali.*|lxc.*|eni.*|azv.*|gke.*|tap.*|vif.*|vnet.*|[0-9a-f]{15}.*|.+vf[0-9]+|.+nsby"
    };
}

/// Interfaces that count by their names.
const NAMED: &str = concat!(
    "$exporter,device=~\"",
    named!(),
    "\",device!~\"",
    never!(),
    "\""
);

/// All interfaces that may count.
const ANY: &str = concat!("$exporter,device!~\"", never!(), "\"");

/// The label that says what a series tells of its interface.
pub(super) const PART: &str = "part";

words! {
    /// The information that a series gives about an interface.
    pub(super) enum InterfaceSeriesKind {
        /// Bytes a second.
        Received = "received",
        Sent = "sent",
        /// Bytes a second of one direction.
        Speed = "speed",
        /// One of the addresses.
        Address = "address",
        Member = "member",
        /// It has members.
        Bond = "bond",
    }
}

impl InterfaceSeriesKind {
    fn mark(self, series: &str) -> String {
        let part = self.as_str();
        format!("label_replace({series}, \"{PART}\", \"{part}\", \"\", \"\")")
    }
}

/// The value of an interface now, or its last one within the window.
fn newest(metric: &str, matchers: &str) -> String {
    format!("last_over_time({metric}{{{matchers}}}[$window])")
}

/// The series of each interface that may lead out of a node, each marked as one part.
pub(super) fn interfaces() -> String {
    let of_each = |series: &str| format!("max by ($node, device) ({series})");
    let rate = |direction: &str| {
        of_each(&format!(
            "rate(node_network_{direction}_bytes_total{{{ANY}}}[$window])"
        ))
    };
    let speed = "node_network_speed_bytes";
    let slaves = format!(
        "floor({} / 2048) % 2 == 1",
        newest("node_network_flags", ANY)
    );
    let addresses = format!(
        "max by ($node, device, address) ({})",
        newest("node_network_info", ANY)
    );
    let bonds = of_each(&format!(
        "label_replace({} > 0, \"device\", \"$1\", \"master\", \"(.+)\")",
        newest("node_bonding_slaves", "$exporter")
    ));
    let parts = [
        (InterfaceSeriesKind::Received, rate("receive")),
        (InterfaceSeriesKind::Sent, rate("transmit")),
        (
            InterfaceSeriesKind::Speed,
            of_each(&format!("{} > 0", newest(speed, ANY))),
        ),
        (InterfaceSeriesKind::Member, of_each(&slaves)),
        (InterfaceSeriesKind::Address, addresses),
    ];
    let parts = parts.map(|(part, series)| part.mark(&series)).join(" or ");
    format!(
        "({parts}) and on ($node, device) ({} or {} or {} or {bonds}) or {}",
        newest("node_network_receive_bytes_total", NAMED),
        newest(speed, NAMED),
        hardware(),
        InterfaceSeriesKind::Bond.mark(&bonds),
    )
}

/// The interfaces that are hardware by the kernel's data.
fn hardware() -> String {
    let told = |what: &str| newest(&format!("node_network_{what}"), ANY);
    format!(
        "({} == 0 and on ($node, device) ({} == {}) and on ($node, device) ({} == 1))",
        told("address_assign_type"),
        told("iface_id"),
        told("iface_link"),
        told("protocol_type"),
    )
}

/// The use of each Pod outside its node's network, in its busier direction. cAdvisor gives a Pod on
/// the host network the node's whole traffic; kube-state-metrics, if present, tells which Pods
/// those are.
pub(super) fn pod_use() -> String {
    let of = |direction: &str| {
        format!(
            "label_replace(sum by (namespace, pod) (max by (namespace, pod, interface) \
             (rate(container_network_{direction}_bytes_total{{$cadvisor,pod!=\"\",interface!=\"lo\"}}[$window]))), \
             \"direction\", \"{direction}\", \"\", \"\")"
        )
    };
    format!(
        "max by (namespace, pod) ({} or {}) \
         unless on (namespace, pod) kube_pod_info{{$state,host_network=\"true\"}}",
        of("receive"),
        of("transmit")
    )
}
