//! The network of a node by its interfaces: use and capacity of the same ones, without counting
//! bytes twice.
//!
//! A link sends and receives at full speed at once, so the busier direction counts, against the
//! speed of one direction.
//! - Virtual functions (SR-IOV) have bytes of their own, and share the speed of their port.
//! - A bond carries its members' bytes at its own speed: that of one in active-backup, the sum with
//!   LACP. Members are known by their flag or by the bond's address; without either, all are taken
//!   for members.
//! - Azure's `enP...` carries what the `eth...` of the same address carries.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_units::Amount;

/// Hardware or a bond, by name or kernel. Interfaces that repeat bytes of others by their kind
/// (VLANs, bridges, veth pairs, tunnels) are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interface {
    /// Bytes per second.
    pub received: Option<Amount>,
    /// Bytes per second.
    pub sent: Option<Amount>,
    /// Bytes per second in one direction, if known.
    pub speed: Option<Amount>,
    /// The present and recent ones.
    pub addresses: BTreeSet<Box<str>>,
    /// By the kernel's flag.
    pub is_member: bool,
    /// The kernel lists members of it.
    pub has_members: bool,
}

pub type Interfaces = BTreeMap<Box<str>, Interface>;

/// In bytes per second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NetworkUse {
    /// Use of all interfaces that lead out of the node.
    pub used: Option<Amount>,
    /// Capacity of the interfaces of known speed among them.
    pub capacity: Option<Amount>,
    pub rated: Option<Amount>,
}

impl NetworkUse {
    /// Adds up the interfaces that lead out of a node.
    pub fn of(interfaces: &Interfaces) -> Self {
        let counted = leading_out(interfaces);
        let speeds = speeds(&counted);
        let rated = counted
            .iter()
            .filter(|(name, _)| speeds.contains_key(Port::of(name).name));
        Self {
            used: busier(counted.iter().map(|(_, interface)| *interface)),
            rated: busier(rated.map(|(_, interface)| *interface)),
            capacity: sum(speeds.into_values().map(Some)),
        }
    }
}

/// No other interface repeats their bytes.
fn leading_out(interfaces: &Interfaces) -> Vec<(&str, &Interface)> {
    let bonds = bonds(interfaces);
    let is_bond = |name: &str| bonds.contains(name);
    let addresses_of = |wanted: &dyn Fn(&str) -> bool| -> BTreeSet<&str> {
        let of = interfaces.iter().filter(|(name, _)| wanted(name));
        of.flat_map(|(_, interface)| interface.addresses.iter().map(|address| &**address))
            .collect()
    };
    let of_bonds = addresses_of(&is_bond);
    let of_ethernet = addresses_of(&is_ethernet);
    let has_any = |interface: &Interface, addresses: &BTreeSet<&str>| {
        let mut own = interface.addresses.iter();
        own.any(|address| addresses.contains(&**address))
    };
    let is_told = |interface: &Interface| interface.is_member || has_any(interface, &of_bonds);
    let mut others = interfaces.iter().filter(|(name, _)| !is_bond(name));
    let are_all_members = !bonds.is_empty() && !others.any(|(_, interface)| is_told(interface));
    let has_ethernet = interfaces.keys().any(|name| is_ethernet(name));
    let counts = |name: &str, interface: &Interface| {
        if is_bond(name) {
            return true;
        }
        let is_member = !bonds.is_empty() && (are_all_members || is_told(interface));
        let repeats_ethernet = name.starts_with("enP")
            && has_ethernet
            && (interface.addresses.is_empty() || has_any(interface, &of_ethernet));
        !is_member && !repeats_ethernet && !is_called_bond(name)
    };
    interfaces
        .iter()
        .map(|(name, interface)| (&**name, interface))
        .filter(|(name, interface)| counts(name, interface))
        .collect()
}

/// Bonds that carry bytes and have members, known or else by name.
fn bonds(interfaces: &Interfaces) -> BTreeSet<&str> {
    let is_any_told = interfaces.values().any(|interface| interface.has_members);
    let is_bond = |name: &str, interface: &Interface| {
        let is_one = if is_any_told {
            interface.has_members
        } else {
            is_called_bond(name) && interface.speed.is_some()
        };
        is_one && (interface.received.is_some() || interface.sent.is_some())
    };
    let found = interfaces.iter().filter(|(name, one)| is_bond(name, one));
    found.map(|(name, _)| &**name).collect()
}

/// By custom a name of a bond or team.
fn is_called_bond(name: &str) -> bool {
    name.starts_with("bond") || name.starts_with("team")
}

/// A name of the kernel's own scheme.
fn is_ethernet(name: &str) -> bool {
    name.strip_prefix("eth").is_some_and(is_number)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The port of an interface or virtual function, by name: `enp65s0f0v3` is of `enp65s0f0np0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Port<'a> {
    name: &'a str,
    is_function: bool,
}

impl<'a> Port<'a> {
    fn of(name: &'a str) -> Self {
        let without = |name: &'a str, mark: &str| {
            let (port, number) = name.rsplit_once(mark)?;
            is_number(number).then_some(port)
        };
        let name = without(name, "np").unwrap_or(name);
        let port = without(name, "v").filter(|port| port.ends_with(|c: char| c.is_ascii_digit()));
        Self {
            name: port.unwrap_or(name),
            is_function: port.is_some(),
        }
    }
}

/// A port's own speed, else the highest of its virtual functions.
fn speeds<'a>(counted: &[(&'a str, &Interface)]) -> BTreeMap<&'a str, Amount> {
    let mut of_ports: BTreeMap<&str, Amount> = BTreeMap::new();
    let mut of_functions: BTreeMap<&str, Amount> = BTreeMap::new();
    for (name, interface) in counted {
        let Some(speed) = interface.speed else {
            continue;
        };
        let port = Port::of(name);
        if port.is_function {
            let known = of_functions.entry(port.name).or_default();
            *known = speed.max(*known);
        } else {
            let known = of_ports.entry(port.name).or_default();
            *known = known.saturating_add(speed);
        }
    }
    for (port, speed) in of_functions {
        of_ports.entry(port).or_insert(speed);
    }
    of_ports
}

/// The larger of the sums received and sent.
fn busier<'a>(interfaces: impl Iterator<Item = &'a Interface> + Clone) -> Option<Amount> {
    let received = sum(interfaces.clone().map(|interface| interface.received));
    received.max(sum(interfaces.map(|interface| interface.sent)))
}

fn sum(amounts: impl Iterator<Item = Option<Amount>>) -> Option<Amount> {
    amounts.flatten().reduce(Amount::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEED: u64 = 1250;

    /// Name, received, sent, speed, address.
    type InterfaceCounters<'a> = (&'a str, u64, u64, Option<u64>, &'a str);

    fn interfaces(told: &[InterfaceCounters<'_>]) -> Interfaces {
        let one = |(name, received, sent, speed, address): &InterfaceCounters<'_>| {
            let interface = Interface {
                received: Some(Amount::new(*received)),
                sent: Some(Amount::new(*sent)),
                speed: speed.map(Amount::new),
                addresses: (!address.is_empty())
                    .then(|| (*address).into())
                    .into_iter()
                    .collect(),
                ..Interface::default()
            };
            ((*name).into(), interface)
        };
        told.iter().map(one).collect()
    }

    /// Use, capacity, and use of the rated interfaces.
    fn found(interfaces: &Interfaces) -> [Option<u64>; 3] {
        let NetworkUse {
            used,
            capacity,
            rated,
        } = NetworkUse::of(interfaces);
        [used, capacity, rated].map(|amount| amount.map(Amount::get))
    }

    fn all(used: u64, capacity: u64) -> [Option<u64>; 3] {
        [Some(used), Some(capacity), Some(used)]
    }

    #[test]
    fn the_busier_direction_counts_and_unknown_speeds_stay_out_of_the_capacity() {
        let speed = Some(SPEED);
        for (told, expected) in [
            (&[][..], [None; 3]),
            (&[("eth0", 5, 3, speed, "")], all(5, SPEED)),
            (&[("eth0", 5, 3, None, "")], [Some(5), None, None]),
            (
                &[("end0", 5, 3, speed, ""), ("end1", 1, 9, speed, "")],
                all(12, 2 * SPEED),
            ),
            (
                &[("eth0", 1100, 0, None, ""), ("ens5", 50, 7, speed, "")],
                [Some(1150), Some(SPEED), Some(50)],
            ),
        ] {
            assert_eq!(found(&interfaces(told)), expected, "{told:?}");
        }
    }

    #[test]
    fn virtual_functions_share_the_speed_of_their_port() {
        let speed = Some(SPEED);
        for port in ["enp65s0f0", "enp65s0f0np0"] {
            let of_port = |own: Option<u64>| {
                interfaces(&[
                    (port, 1, 0, own, ""),
                    ("enp65s0f0v0", 2, 0, speed, ""),
                    ("enp65s0f0v12", 4, 0, speed, ""),
                ])
            };
            assert_eq!(found(&of_port(speed)), all(7, SPEED), "{port}");
            assert_eq!(found(&of_port(None)), all(7, SPEED), "{port}");
        }
        // No virtual function.
        assert_eq!(Port::of("env2").name, "env2");
        assert_eq!(Port::of("enp1s0v").name, "enp1s0v");
    }

    #[test]
    fn a_bond_counts_in_the_place_of_its_members() {
        let speed = Some(SPEED);
        let told: [InterfaceCounters<'_>; 4] = [
            ("eno1", 5, 0, speed, "a"),
            ("eno2", 4, 0, speed, "b"),
            ("ens9", 100, 0, speed, "c"),
            ("po1", 9, 0, Some(2 * SPEED), "a"),
        ];
        let bonded = |change: &dyn Fn(&mut Interfaces)| {
            let mut node = interfaces(&told);
            node.get_mut("po1").unwrap().has_members = true;
            change(&mut node);
            found(&node)
        };
        let flagged = bonded(&|node| {
            for member in ["eno1", "eno2"] {
                node.get_mut(member).unwrap().is_member = true;
            }
        });
        assert_eq!(flagged, all(109, 3 * SPEED));
        let same_address = bonded(&|node| {
            node.get_mut("eno2").unwrap().addresses = ["a".into()].into();
        });
        assert_eq!(same_address, all(109, 3 * SPEED));
        let untold = bonded(&|node| {
            for interface in node.values_mut() {
                interface.addresses.clear();
            }
        });
        assert_eq!(untold, all(9, 2 * SPEED), "all are taken for members");
        let carries_nothing = bonded(&|node| {
            let bond = node.get_mut("po1").unwrap();
            (bond.received, bond.sent) = (None, None);
        });
        assert_eq!(carries_nothing[0], Some(109));
    }

    #[test]
    fn a_bond_is_known_by_its_name_where_the_kernel_tells_of_none() {
        let speed = Some(SPEED);
        let bonded = interfaces(&[("eno1", 5, 0, speed, ""), ("bond0", 5, 0, speed, "")]);
        assert_eq!(found(&bonded), all(5, SPEED));
        // An idle bond has no speed and no members.
        let idle = interfaces(&[("eno1", 5, 0, speed, ""), ("bond0", 7, 0, None, "")]);
        assert_eq!(found(&idle), all(5, SPEED));
    }

    #[test]
    fn a_function_of_azure_repeats_the_interface_of_its_address() {
        let speed = Some(SPEED);
        for (address, expected) in [
            ("a", all(5, SPEED)),
            ("", all(5, SPEED)),
            ("b", all(10, 2 * SPEED)),
        ] {
            let node = interfaces(&[
                ("eth0", 5, 0, speed, "a"),
                ("enP53091s1np0", 5, 0, speed, address),
            ]);
            assert_eq!(found(&node), expected, "{address}");
        }
        let alone = interfaces(&[("enP4p65s0f0np0", 5, 0, speed, "")]);
        assert_eq!(found(&alone), all(5, SPEED));
    }
}
