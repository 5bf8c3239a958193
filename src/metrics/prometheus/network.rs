//! The queries for the network of nodes: which interfaces of a node lead out of it, what they carry, and what they
//! can carry. Use and capacity are of the same interfaces.
//!
//! A link sends and receives at its full speed at once, so the busier direction of a node counts, against the speed of
//! one direction. An interface leads out of the node where its name is one that hardware gets, or where the kernel
//! says that it is hardware: it has an address of its own, is Ethernet, and stands on no other interface. Bytes are
//! counted once:
//! - virtual functions (SR-IOV) carry bytes of their own, and share the speed of their port;
//! - a bond carries what its members carry, at the speed that it has as a whole: that of one of them in
//!   active-backup, that of all of them with LACP. Members are known by their flag or by the bond's address; where
//!   neither is told of any, all are taken for members;
//! - an interface of Azure's `enP...` carries what the `eth...` of the same address carries;
//! - VLANs, bridges, veth pairs and tunnels repeat what others carry.

/// The names of interfaces that are hardware, or that the hypervisor shows as such. `eni...` is what
/// the CNI plugin of AWS calls its veth pairs.
macro_rules! hardware {
    () => {
        "eth[0-9]+|en[a-hj-zA-Z0-9][0-9a-zA-Z]*|em[0-9]+|p[0-9]+p[0-9]+|ib[0-9a-z][0-9a-zA-Z]*|w[lw][0-9a-z][0-9a-zA-Z]*"
    };
}

/// Names that hardware never has, as there may be a hundred of them on a node.
macro_rules! never_hardware {
    () => {
        "lo|veth.*|cali.*|lxc.*|eni.*|azv.*|gke.*|tap.*|vif.*|vnet.*|[0-9a-f]{15}.*"
    };
}

/// Interfaces by their names, without those that stand for a virtual function on the switch of its port, and the
/// spare ones of a failover.
const NAMED: &str = concat!(
    "$exporter,device=~\"",
    hardware!(),
    "\",device!~\".*vf[0-9]+|.*nsby\""
);

/// A virtual function by its name, such as enp65s0f0v3.
macro_rules! function {
    () => {
        ".*[0-9]v[0-9]+(np[0-9]+)?"
    };
}

/// Interfaces with other names, which may be bonds or hardware all the same.
const OTHER: &str = concat!(
    "$exporter,device!~\"",
    hardware!(),
    "|",
    never_hardware!(),
    "\""
);

/// All interfaces that may count, and what stands on them.
const ANY: &str = concat!("$exporter,device!~\"", never_hardware!(), "\"");

/// What a bond or team is called by custom.
const BOND: &str = "$exporter,device=~\"(bond|team)[^.:@]*\"";

/// What an interface says now, or said at least within the window.
fn newest(metric: &str, matchers: &str) -> String {
    format!("last_over_time({metric}{{{matchers}}}[$window])")
}

/// The bonds that have members and carry bytes: those that are told, else by their names.
fn bonds() -> String {
    let told = format!("{} > 0", newest("node_bonding_slaves", "$exporter"));
    let speed = newest("node_network_speed_bytes", BOND);
    let carrying = newest("node_network_receive_bytes_total", OTHER);
    format!(
        "((max by ($node, device) (label_replace({told}, \"device\", \"$1\", \"master\", \"(.+)\")) \
         or max by ($node, device) ({speed} > 0) unless on ($node) ({told})) \
         and on ($node, device) {carrying})"
    )
}

/// Of interfaces with other names those that count: bonds, and what the kernel says is hardware.
fn uncommon() -> String {
    format!(
        "({} or max by ($node, device) (({} == 0) and on ($node, device) ({} == {}) and on ($node, device) ({} == 1)))",
        bonds(),
        newest("node_network_address_assign_type", OTHER),
        newest("node_network_iface_id", OTHER),
        newest("node_network_iface_link", OTHER),
        newest("node_network_protocol_type", OTHER),
    )
}

/// Interfaces whose bytes another one carries too, and whose speed is no speed of the node's.
fn repeated() -> String {
    let bonds = bonds();
    let is_there = |names: &str| newest("node_network_receive_bytes_total", names);
    let info = |names: &str| newest("node_network_info", names);
    let slaves = format!(
        "floor({} / 2048) % 2 == 1",
        newest("node_network_flags", ANY)
    );
    let with_address_of_bond = |names: &str| {
        format!(
            "({} and on ($node, address) ({} and on ($node, device) {bonds}))",
            info(names),
            info(ANY)
        )
    };
    let (azure, eth) = (
        "$exporter,device=~\"enP.*\"",
        "$exporter,device=~\"eth[0-9]+\"",
    );
    format!(
        "((({slaves}) or {} or ({} unless on ($node) (({slaves}) or {}))) \
         and on ($node) {bonds} unless on ($node, device) {bonds}) \
         or ({} and on ($node) {} unless on ($node, device) ({} unless on ($node, address) {}))",
        with_address_of_bond(ANY),
        is_there(NAMED),
        with_address_of_bond(NAMED),
        is_there(azure),
        is_there(eth),
        info(azure),
        info(eth),
    )
}

/// The bytes a second of each interface that leads out of its node, by direction.
fn carried() -> String {
    let rates = |names: &str| {
        let of = |direction: &str| {
            format!(
                "label_replace(max by ($node, device) \
                 (rate(node_network_{direction}_bytes_total{{{names}}}[$window])), \"direction\", \"{direction}\", \"\", \"\")"
            )
        };
        format!("({} or {})", of("receive"), of("transmit"))
    };
    format!(
        "(({} or ({} and on ($node, device) {})) unless on ($node, device) ({}))",
        rates(NAMED),
        rates(OTHER),
        uncommon(),
        repeated()
    )
}

/// The use of nodes: what the interfaces carry in the busier direction.
fn busier(carried: &str) -> String {
    format!("max by ($node) (sum by ($node, direction) ({carried}))")
}

/// The port that an interface is a part of, as a label.
fn with_port(interfaces: &str) -> String {
    format!(
        "label_replace({interfaces}, \"port\", \"$1\", \"device\", \"(.+?)(v[0-9]+)?(np[0-9]+)?\")"
    )
}

/// The use of all interfaces that lead out of a node.
pub(super) fn node_use() -> String {
    busier(&carried())
}

/// The capacity of the interfaces whose speed is known, and their use with the label `part` beside it.
pub(super) fn node_capacity() -> String {
    let speeds = |names: &str| {
        let speed = newest("node_network_speed_bytes", names);
        format!("max by ($node, device) ({speed} > 0)")
    };
    let functions = format!("{NAMED},device=~\"{}\"", function!());
    let ports = format!("{NAMED},device!~\"{}\"", function!());
    let repeated = repeated();
    let ports = with_port(&format!(
        "(({} or ({} and on ($node, device) {})) unless on ($node, device) ({repeated}))",
        speeds(&ports),
        speeds(OTHER),
        uncommon(),
    ));
    let functions = with_port(&format!(
        "({} unless on ($node, device) ({repeated}))",
        speeds(&functions)
    ));
    let used = busier(&format!(
        "{} and on ($node, port) ({ports} or {functions})",
        with_port(&carried())
    ));
    format!(
        "sum by ($node) ({ports} or (max by ($node, port) ({functions}) unless on ($node, port) {ports})) \
         or label_replace({used}, \"{PART}\", \"{USE}\", \"\", \"\")"
    )
}

/// The use of each Pod that is not on its node's network, in its busier direction. cAdvisor gives a Pod on the host
/// network the whole node's traffic; kube-state-metrics, where it is there, says which Pods those are.
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

/// The label that tells the use of interfaces from their capacity, and its value.
pub(super) const PART: &str = "part";
pub(super) const USE: &str = "use";
