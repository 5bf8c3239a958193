use evenkeel_metrics::usage::{NodeSample, UsageSample};
use evenkeel_objects::node_facts::NodeFacts;
use evenkeel_units::Amount;
use proptest::prelude::*;

use super::*;
use crate::node_table;
use crate::node_table::NodeTable;

const MAX_AGE: SignedDuration = SignedDuration::from_mins(3);

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + second).unwrap()
}

/// Capacity 1,000 of everything; loads are thousandths.
struct World {
    table: NodeTable,
    overload: Overload,
    second: i64,
}

impl World {
    fn new(nodes: &[&str], disk: bool) -> Self {
        let mut table = NodeTable::new(node_table::Settings::default());
        let facts = NodeFacts {
            capacity: Resources::new([Some(Amount::new(1000)); 5]),
            schedulable: true,
            ..NodeFacts::default()
        };
        for node in nodes {
            table.apply_node(node, facts, at(0));
        }
        let settings = Settings {
            disk,
            max_age: MAX_AGE,
        };
        Self {
            table,
            overload: Overload::new(settings, at(0)),
            second: 0,
        }
    }

    /// 15 seconds after the one before.
    fn round(&mut self, loads: &[(&str, Resource, u64)]) {
        self.second += 15;
        self.tell(self.second, loads);
    }

    fn tell(&mut self, measured: i64, loads: &[(&str, Resource, u64)]) {
        let mut round = UsageSample::default();
        for (name, resource, value) in loads {
            let mut usage = Resources::default();
            usage[*resource] = Some(NodeSample {
                value: Amount::new(*value),
                at: at(measured),
                window: SignedDuration::ZERO,
            });
            round.insert_node(*name, &usage);
        }
        self.table.apply_sample(Arc::new(round), at(self.second));
        self.overload.observe(self.table.nodes(), at(self.second));
    }

    fn decide<'a>(&self, candidates: &[TaintCandidate<'a>]) -> Vec<(&'a str, OverloadVerdict)> {
        self.overload.decide(candidates, at(self.second))
    }
}

fn open(name: &str) -> TaintCandidate<'_> {
    TaintCandidate {
        name,
        schedulable: true,
        control_plane: false,
        tainted: false,
    }
}

fn tainted(name: &str) -> TaintCandidate<'_> {
    TaintCandidate {
        tainted: true,
        ..open(name)
    }
}

fn names<'a>(changes: &[(&'a str, OverloadVerdict)]) -> Vec<&'a str> {
    changes.iter().map(|(name, _)| *name).collect()
}

const CPU: Resource = Resource::Cpu;

#[test]
fn a_node_is_taken_at_the_line_in_three_samples_and_let_go_below_the_other() {
    let nodes = [open("a"), open("b"), open("c")];
    let held = [tainted("a"), open("b"), open("c")];
    for (loads, closed, lifted) in [
        (vec![800, 800], false, false),
        (vec![800, 800, 800], true, false),
        (vec![800, 799, 800, 800], false, false),
        (vec![749, 749, 749], false, true),
        (vec![749, 750, 749, 749], false, false),
        (vec![750, 750, 750, 750], false, false),
        (vec![800, 800, 800, 760], false, false),
    ] {
        let mut world = World::new(&["a", "b", "c"], false);
        for load in &loads {
            world.round(&[("a", CPU, *load)]);
        }
        let percent = loads.last().unwrap() / 10;
        let taint = OverloadVerdict::Taint {
            resource: CPU,
            percent,
        };
        let expected: Vec<_> = closed.then_some(("a", taint)).into_iter().collect();
        assert_eq!(world.decide(&nodes), expected, "{loads:?}");
        let expected = lifted.then_some(("a", OverloadVerdict::Lift(Lift::Cooled)));
        let expected: Vec<_> = expected.into_iter().collect();
        assert_eq!(world.decide(&held), expected, "{loads:?}");
    }
}

/// A busy interface of unknown speed tainted a node with an idle rated interface.
#[test]
fn the_use_of_interfaces_is_held_against_their_own_capacity() {
    let nodes = [open("a"), open("b"), open("c")];
    for (rated, closed) in [(50, false), (999, false), (1000, true)] {
        let mut world = World::new(&["a", "b", "c"], false);
        let facts = NodeFacts {
            network_is_default: true,
            schedulable: true,
            ..NodeFacts::default()
        };
        world.table.apply_node("a", facts, at(0));
        for second in [15, 30, 45] {
            let measured = |value| NodeSample {
                value: Amount::new(value),
                at: at(second),
                window: SignedDuration::ZERO,
            };
            let mut usage = Resources::default();
            usage[Resource::NetworkIo] = Some(measured(1150));
            let mut round = UsageSample::default();
            round.insert_node("a", &usage);
            round.insert_speed("a", Amount::new(1250));
            Arc::make_mut(&mut round.rated_network).insert("a".into(), measured(rated));
            world.second = second;
            world.table.apply_sample(Arc::new(round), at(second));
            world.overload.observe(world.table.nodes(), at(second));
        }
        assert_eq!(!world.decide(&nodes).is_empty(), closed, "{rated}");
    }
}

#[test]
fn every_resource_has_to_cool_and_disk_counts_where_asked() {
    for (resource, disk, closed) in [
        (Resource::Memory, false, true),
        (Resource::NetworkIo, false, true),
        (Resource::Disk, false, false),
        (Resource::Disk, true, true),
    ] {
        let mut world = World::new(&["a", "b", "c"], disk);
        for _ in 0..3 {
            world.round(&[("a", CPU, 100), ("a", resource, 900)]);
        }
        let changes = world.decide(&[open("a"), open("b"), open("c")]);
        assert_eq!(!changes.is_empty(), closed, "{resource}");
        let held = world.decide(&[tainted("a"), open("b"), open("c")]);
        assert_eq!(held.is_empty(), closed, "{resource}");
    }
}

#[test]
fn the_same_sample_told_again_is_one_and_a_gap_begins_anew() {
    let nodes = [open("a"), open("b"), open("c")];
    let mut world = World::new(&["a", "b", "c"], false);
    for _ in 0..9 {
        world.tell(0, &[("a", CPU, 900)]);
    }
    assert_eq!(world.decide(&nodes), []);
    world.round(&[("a", CPU, 900)]);
    world.second += 181;
    world.round(&[("a", CPU, 900)]);
    world.round(&[("a", CPU, 900)]);
    assert_eq!(world.decide(&nodes), []);
    world.round(&[("a", CPU, 900)]);
    assert_eq!(names(&world.decide(&nodes)), ["a"]);
    world.second += 181;
    assert_eq!(world.decide(&nodes), [], "on old data nothing begins");
}

#[test]
fn what_is_not_measured_any_more_stays_as_it_is_and_then_is_let_go() {
    let held = [tainted("a"), open("b"), open("c")];
    let mut world = World::new(&["a", "b", "c"], false);
    for _ in 0..3 {
        world.round(&[("a", CPU, 100)]);
    }
    world.second += 181;
    assert_eq!(world.decide(&held), [], "cool, but that was long ago");
    world.second += 30 * 60;
    let lifted = [("a", OverloadVerdict::Lift(Lift::Unmeasured))];
    assert_eq!(world.decide(&held), lifted);
    // A new replica knows nothing yet.
    let fresh = World::new(&["a", "b", "c"], false);
    assert_eq!(fresh.decide(&held), []);
}

#[test]
fn one_of_two_resources_that_died_keeps_the_taint_until_it_is_forgotten() {
    let held = [tainted("a"), open("b"), open("c")];
    let mut world = World::new(&["a", "b", "c"], false);
    for _ in 0..3 {
        world.round(&[("a", CPU, 100), ("a", Resource::DiskIo, 990)]);
    }
    for _ in 0..100 {
        world.round(&[("a", CPU, 100)]);
    }
    assert_eq!(world.decide(&held), []);
    for _ in 0..21 {
        world.round(&[("a", CPU, 100)]);
    }
    assert_eq!(names(&world.decide(&held)), ["a"]);
}

#[test]
fn the_worst_third_goes_first_and_a_surplus_is_let_go() {
    let names_of = ["a", "b", "c", "d", "e", "f", "g"];
    let mut world = World::new(&names_of, false);
    for _ in 0..3 {
        let loads = names_of.iter().zip([810, 990, 850, 990, 900, 800, 830]);
        let loads: Vec<_> = loads.map(|(name, load)| (*name, CPU, load)).collect();
        world.round(&loads);
    }
    let all = names_of.map(open);
    assert_eq!(names(&world.decide(&all)), ["b", "d"]);
    let some = [
        tainted("a"),
        open("b"),
        open("c"),
        open("d"),
        open("e"),
        open("f"),
    ];
    assert_eq!(
        names(&world.decide(&some)),
        ["b"],
        "whoever is tainted stays"
    );
    let surplus = [tainted("a"), tainted("b"), open("c")];
    let lifted = [("a", OverloadVerdict::Lift(Lift::TooMany))];
    assert_eq!(world.decide(&surplus), lifted, "the coolest of them");
    assert_eq!(world.decide(&all[..2]), [], "a third of two is none");
}

#[test]
fn nodes_of_the_control_plane_and_cordoned_ones_are_left_out() {
    let mut world = World::new(&["a", "b", "c", "d"], false);
    for _ in 0..3 {
        world.round(&[("a", CPU, 990), ("b", CPU, 990), ("c", CPU, 100)]);
    }
    let control = |name, tainted| TaintCandidate {
        control_plane: true,
        tainted,
        ..open(name)
    };
    let cordoned = |name| TaintCandidate {
        schedulable: false,
        ..open(name)
    };
    let nodes = [control("a", false), cordoned("b"), open("c"), open("d")];
    assert_eq!(world.decide(&nodes), []);
    let held = control("a", true);
    let lifted = [("a", OverloadVerdict::Lift(Lift::ControlPlane))];
    assert_eq!(world.decide(&[held]), lifted);
}

#[test]
fn a_node_that_is_gone_is_forgotten() {
    let mut world = World::new(&["a", "b", "c"], false);
    for _ in 0..3 {
        world.round(&[("a", CPU, 990)]);
    }
    world.table.remove_node("a");
    world.round(&[]);
    assert_eq!(world.overload.nodes.len(), 2);
    let facts = NodeFacts {
        capacity: Resources::new([Some(Amount::new(1000)); 5]),
        schedulable: true,
        ..NodeFacts::default()
    };
    world.table.apply_node("a", facts, at(world.second));
    world.round(&[("a", CPU, 990)]);
    assert_eq!(world.decide(&[open("a"), open("b"), open("c")]), []);
}

proptest! {
    /// With followed verdicts, at most a third is closed, and each closed node was over the line.
    #[test]
    fn never_more_than_a_third_is_closed(
        rounds in prop::collection::vec(prop::collection::vec(0_u64..1200, 8), 1..30),
        cordoned in 0_usize..8,
    ) {
        let all = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let mut world = World::new(&all, true);
        let mut closed = [false; 8];
        let mut hottest = [0; 8];
        for loads in rounds {
            let told: Vec<_> = all.iter().zip(&loads).map(|(name, load)| (*name, CPU, *load)).collect();
            world.round(&told);
            for (hottest, load) in hottest.iter_mut().zip(&loads) {
                *hottest = (*hottest).max(*load);
            }
            let candidates: Vec<_> = all.iter().enumerate().map(|(index, name)| TaintCandidate {
                name,
                schedulable: index >= cordoned,
                control_plane: false,
                tainted: closed[index],
            }).collect();
            for (name, verdict) in world.decide(&candidates) {
                let index = all.iter().position(|one| *one == name).unwrap();
                let taints = matches!(verdict, OverloadVerdict::Taint { .. });
                prop_assert_ne!(closed[index], taints, "a verdict changes something");
                closed[index] = taints;
            }
            let count = closed[cordoned..].iter().filter(|closed| **closed).count();
            prop_assert!(count <= (8 - cordoned) / 3);
            prop_assert!(closed.iter().zip(hottest).all(|(closed, hottest)| !closed || hottest >= 800));
        }
    }
}
