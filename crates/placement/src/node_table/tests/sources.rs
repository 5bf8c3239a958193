//! Sources that report in another order or with other times than a sound one.

use super::*;

fn loads(table: &NodeTable, resource: Resource) -> (Option<u64>, u64) {
    let load = table.nodes().get("a").unwrap().load;
    let capacity = load.capacity[resource].map(Amount::get);
    (capacity, load.load[resource].get())
}

/// A round with the network use of the node, and if `has_capacity` the capacity of 1250 with its
/// own use.
fn network(second: i64, all: u64, has_capacity: bool, rated: Option<u64>) -> Arc<UsageSample> {
    let measured = |value| NodeSample {
        value: Amount::new(value),
        at: at(second),
        window: WINDOW,
    };
    let mut row = Resources::default();
    row[Resource::NetworkIo] = Some(measured(all));
    let mut sample = UsageSample::default();
    sample.insert_node("a", &row);
    if has_capacity {
        sample.insert_speed("a", Amount::new(1250));
    }
    if let Some(rated) = rated {
        Arc::make_mut(&mut sample.rated_network).insert("a".into(), measured(rated));
    }
    Arc::new(sample)
}

fn of_network(declared: Option<u64>, is_default: bool) -> NodeTable {
    let mut table = NodeTable::new(Settings::default());
    let mut facts = node(1000);
    facts.capacity[Resource::NetworkIo] = declared.map(Amount::new);
    facts.network_is_default = is_default;
    table.apply_node("a", facts, at(0));
    table
}

/// Declared capacity, whether it is a default, use of rated interfaces; resulting capacity and use.
type Case = (Option<u64>, bool, Option<u64>, (Option<u64>, u64));

const CASES: [Case; 4] = [
    (None, true, Some(300), (Some(1250), 300)),
    (None, true, None, (Some(1250), 900)),
    (Some(2000), true, Some(300), (Some(1250), 300)),
    (Some(2000), false, Some(300), (Some(2000), 900)),
];

/// Use and capacity are of the same interfaces: those of known speed, unless a capacity of all is
/// declared.
#[test]
fn the_use_of_interfaces_of_unknown_speed_is_held_against_a_declared_capacity_alone() {
    for (declared, is_default, rated, expected) in CASES {
        let mut table = of_network(declared, is_default);
        table.apply_sample(network(0, 900, true, rated), at(0));
        assert_eq!(loads(&table, Resource::NetworkIo), expected, "{declared:?}");
    }
}

/// A round without capacities held the use of all interfaces against the capacity of some.
#[test]
fn use_and_capacity_of_rated_interfaces_are_remembered_and_forgotten_together() {
    for (declared, is_default, rated, expected) in CASES {
        let mut table = of_network(declared, is_default);
        table.apply_sample(network(0, 900, true, rated), at(0));
        let (capacity, _) = expected;
        for second in [15, 600, 1800] {
            table.apply_sample(network(second, 910, false, None), at(second));
            let is_pair = is_default && rated.is_some();
            let load = if is_pair { 300 } else { 910 };
            let found = loads(&table, Resource::NetworkIo);
            assert_eq!(found, (capacity, load), "{declared:?} {second}");
        }
        table.apply_sample(network(1815, 920, false, None), at(1815));
        let capacity = if is_default && rated.is_some() {
            declared
        } else {
            capacity
        };
        let found = loads(&table, Resource::NetworkIo);
        assert_eq!(found, (capacity, 920), "{declared:?}");
    }
}

/// With a clock ten minutes off every node passed as without metrics.
#[test]
fn measurements_that_are_old_when_they_come_are_better_than_none() {
    for off in [-600, 600] {
        let mut table = table();
        for second in [0, 15, 30] {
            table.apply_sample(sample(second + off, &[("a", 950)], &[]), at(second));
            assert_eq!(table.nodes().measured(), 1, "{off} {second}");
            assert_eq!(loads(&table, Resource::Cpu), (Some(1000), 950));
            let state = table.nodes().get("a").unwrap();
            assert_eq!(state.freshness[Resource::Cpu], Freshness::Stale);
        }
    }
    // They are kept as long as any.
    let mut table = table();
    table.apply_sample(sample(-600, &[("a", 950)], &[]), at(0));
    table.advance(at(1201));
    assert_eq!(table.nodes().measured(), 0);
    assert_eq!(loads(&table, Resource::Cpu), (Some(1000), 0));
}

#[test]
fn a_source_that_has_ceased_is_no_clock_that_is_off() {
    let mut table = table();
    table.apply_sample(sample(0, &[("a", 950)], &[]), at(0));
    for second in [15, 170, 181, 600] {
        // The answer before counts while a query fails.
        table.apply_sample(sample(0, &[("a", 950)], &[]), at(second));
        let measured = usize::from(second <= 180);
        assert_eq!(table.nodes().measured(), measured, "{second}");
    }
    table.apply_sample(sample(610, &[("a", 950)], &[]), at(615));
    assert_eq!(table.nodes().measured(), 1);
}
