mod awaited;
mod phantoms;
mod sources;

use std::collections::BTreeMap;

use evenkeel_metrics::usage::NodeSample;
use evenkeel_objects::pod_name::PodName;
use evenkeel_units::{Amount, Resource};
use jiff::SignedDuration;
use proptest::prelude::*;

use super::*;

const WINDOW: SignedDuration = SignedDuration::from_secs(60);

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + second).unwrap()
}

fn cpu(value: u64) -> Resources<Amount> {
    let mut amounts = Resources::default();
    amounts[Resource::Cpu] = Amount::new(value);
    amounts
}

fn node(capacity: u64) -> NodeFacts {
    let mut facts = NodeFacts {
        schedulable: true,
        ..NodeFacts::default()
    };
    facts.capacity[Resource::Cpu] = Some(Amount::new(capacity));
    facts
}

fn table() -> NodeTable {
    let mut table = NodeTable::new(Settings::default());
    table.apply_node("a", node(1000), at(0));
    table.apply_node("b", node(1000), at(0));
    table
}

/// Taken at `second` over the minute before it.
fn sample(second: i64, nodes: &[(&str, u64)], pods: &[(&str, u64)]) -> Arc<UsageSample> {
    let measurement = |value: u64| {
        let mut measured = Resources::default();
        measured[Resource::Cpu] = Some(NodeSample {
            value: Amount::new(value),
            at: at(second),
            window: WINDOW,
        });
        measured
    };
    let shown = |value: u64| {
        let mut usage = Resources::default();
        usage[Resource::Cpu] = Some(Amount::new(value));
        usage
    };
    let mut sample = UsageSample::default();
    for (name, value) in nodes {
        sample.insert_node(*name, &measurement(*value));
    }
    for (name, value) in pods {
        sample.insert_pod(&PodName::new("default", name), &shown(*value));
    }
    Arc::new(sample)
}

#[test]
fn disk_is_believed_for_as_long_as_it_may_take_to_be_measured_again() {
    let mut table = NodeTable::new(Settings {
        disk_max_age: SignedDuration::from_mins(16),
        ..Settings::default()
    });
    table.apply_node("a", node(1000), at(0));
    let mut sample = UsageSample::default();
    let measured = NodeSample {
        value: Amount::new(7),
        at: at(0),
        window: SignedDuration::ZERO,
    };
    sample.insert_node("a", &Resources::from_fn(|_| Some(measured)));
    table.apply_sample(Arc::new(sample), at(0));
    let freshness = |table: &NodeTable| table.nodes().get("a").unwrap().freshness;
    for (second, memory, disk) in [
        (180, Freshness::Fresh, Freshness::Fresh),
        (181, Freshness::Stale, Freshness::Fresh),
        (960, Freshness::Stale, Freshness::Fresh),
        (961, Freshness::Stale, Freshness::Stale),
    ] {
        table.advance(at(second));
        let found = freshness(&table);
        assert_eq!(found[Resource::Memory], memory, "{second}");
        assert_eq!(found[Resource::Disk], disk, "{second}");
    }
}

#[test]
fn a_disk_alone_does_not_make_a_node_measured() {
    let mut table = table();
    let measured = NodeSample {
        value: Amount::new(7),
        at: at(0),
        window: SignedDuration::ZERO,
    };
    for (resource, nodes) in [(Resource::Disk, 0), (Resource::Memory, 1)] {
        let mut row = Resources::default();
        row[resource] = Some(measured);
        let mut sample = UsageSample::default();
        sample.insert_node("a", &row);
        table.apply_sample(Arc::new(sample), at(0));
        assert_eq!(table.nodes().measured(), nodes, "{resource}");
    }
}

#[test]
fn use_in_first_minutes_stands_beside_the_load_until_measurements_hold_all_of_the_pod() {
    let mut table = table();
    let state = |table: &NodeTable| {
        let node = table.nodes().get("a").unwrap();
        let [load, at_start] = [&node.load.load, &node.load_at_start().load];
        (load[Resource::Cpu].get(), at_start[Resource::Cpu].get())
    };
    let name = PodName::new("default", "web");
    table.apply_sample(sample(0, &[("a", 0)], &[]), at(0));
    let mut facts = BoundPod {
        start_up: cpu(70),
        ..BoundPod::on(&name, Some("a"), cpu(100))
    };
    let unbound = BoundPod {
        node: None,
        ..facts
    };
    table.ask("uid", &unbound, at(1));
    assert!(!table.nodes().is_warming_up());
    table.place("uid", "a", NearTies::default(), at(1));
    assert_eq!(state(&table), (100, 170), "chosen");
    facts.bound = Some(at(2));
    table.apply_pod("uid", &facts, at(2));
    assert_eq!(state(&table), (100, 170), "bound");
    for (demand, expected) in [(150, (150, 170)), (50, (50, 70))] {
        table.set_demand("uid", cpu(demand), at(3));
        assert_eq!(state(&table), expected, "never more than was expected");
    }
    table.apply_pod("uid", &facts, at(4));
    assert_eq!(state(&table), (100, 170), "another event");
    (facts.started, facts.first_started) = (Some(at(10)), Some(at(10)));
    table.apply_pod("uid", &facts, at(10));
    table.apply_sample(sample(40, &[("a", 60)], &[("web", 120)]), at(40));
    assert_eq!(state(&table), (100, 170), "half of it is measured");
    table.apply_sample(sample(50, &[("a", 120)], &[("web", 180)]), at(50));
    assert_eq!(state(&table), (120, 170), "more than R of it is measured");
    let mut late = table;
    late.apply_sample(sample(50, &[("a", 120)], &[("web", 180)]), at(191));
    assert!(!late.nodes().is_warming_up(), "measurements have stopped");
    let mut table = late;
    table.apply_sample(sample(70, &[("a", 50)], &[("web", 50)]), at(192));
    assert_eq!(state(&table), (50, 50), "measured");
    assert!(!table.nodes().is_warming_up());
    table.remove_pod("uid", at(71));
    assert_eq!(state(&table), (0, 0));
}

/// The Pod is in the disk's figure until the next measurement.
#[test]
fn an_ended_pod_is_taken_off_an_old_measurement_of_the_disk() {
    let mut table = NodeTable::new(Settings {
        disk_max_age: SignedDuration::from_mins(16),
        ..Settings::default()
    });
    let mut facts = node(1000);
    facts.capacity[Resource::Disk] = Some(Amount::new(1000));
    table.apply_node("a", facts, at(0));
    let sample = |second: i64, used: u64| {
        let mut sample = UsageSample::default();
        let mut row = Resources::default();
        row[Resource::Disk] = Some(NodeSample {
            value: Amount::new(used),
            at: at(second),
            window: SignedDuration::ZERO,
        });
        sample.insert_node("a", &row);
        let mut pod = Resources::default();
        pod[Resource::Disk] = Some(Amount::new(60));
        sample.insert_pod(&PodName::new("default", "web"), &pod);
        Arc::new(sample)
    };
    let mut pod = Pod::bound("web", "a", 0);
    pod.started = Some(-100);
    table.apply_pod("web", &pod.facts(), at(0));
    table.apply_sample(sample(0, 100), at(0));
    table.remove_pod("web", at(10));
    let load = |table: &NodeTable| table.nodes().get("a").unwrap().load.load[Resource::Disk];
    for second in [10, 200, 290] {
        table.apply_sample(sample(0, 100), at(second));
        assert_eq!(load(&table), Amount::new(40), "{second}");
    }
    table.apply_sample(sample(300, 45), at(301));
    assert_eq!(load(&table), Amount::new(45));
}

#[test]
fn waiting_for_io_counts_while_it_is_freshly_measured_and_the_disks_are_unknown() {
    let mut table = table();
    let pressed = |table: &NodeTable, name: &str| table.nodes().get(name).unwrap().load.io_pressed;
    let measured = |second: i64, thousandths: u64| {
        let mut sample = UsageSample::default();
        let value = Amount::new(thousandths);
        let window = SignedDuration::from_mins(2);
        let at = at(second);
        Arc::make_mut(&mut sample.io_pressure).insert("a".into(), NodeSample { value, at, window });
        Arc::new(sample)
    };
    for (second, thousandths, over) in [(0, 400, false), (15, 401, true), (30, 0, false)] {
        table.apply_sample(measured(second, thousandths), at(second));
        assert_eq!(pressed(&table, "a"), over, "{thousandths}");
        assert!(!pressed(&table, "b"));
    }
    table.apply_sample(measured(45, 900), at(45));
    // A round without it keeps the value and its age.
    table.apply_sample(Arc::default(), at(60));
    let version = table.nodes().version();
    table.advance(at(45 + 180));
    assert!(pressed(&table, "a"));
    assert_eq!(table.nodes().version(), version);
    table.advance(at(45 + 181));
    assert!(!pressed(&table, "a"));
    assert!(table.nodes().version() > version, "the change is seen");
    let shown = table.detail("a").unwrap().io_pressure.unwrap();
    assert_eq!(shown.value, Amount::new(900));
}

struct Pod {
    name: PodName,
    node: Option<&'static str>,
    demand: u64,
    bound: Option<i64>,
    started: Option<i64>,
    finished: Option<i64>,
}

impl Pod {
    fn bound(name: &str, node: &'static str, demand: u64) -> Self {
        Self {
            name: PodName::new("default", name),
            node: Some(node),
            demand,
            bound: None,
            started: None,
            finished: None,
        }
    }

    fn bound_at(mut self, second: i64) -> Self {
        self.bound = Some(second);
        self
    }

    fn started(mut self, second: i64) -> Self {
        self.started = Some(second);
        self
    }

    fn finished(mut self, second: i64) -> Self {
        self.finished = Some(second);
        self
    }

    fn facts(&self) -> BoundPod<'_> {
        BoundPod {
            bound: self.bound.map(at),
            started: self.started.map(at),
            finished: self.finished.map(at),
            first_started: self.started.map(at),
            ..BoundPod::on(&self.name, self.node, cpu(self.demand))
        }
    }
}

/// The Pod gets the node it names.
fn place(table: &mut NodeTable, uid: &str, pod: &Pod, now: Timestamp) {
    place_near(table, uid, pod, NearTies::default(), now);
}

fn place_near(table: &mut NodeTable, uid: &str, pod: &Pod, near: NearTies, now: Timestamp) {
    let facts = BoundPod {
        node: None,
        ..pod.facts()
    };
    table.ask(uid, &facts, now);
    table.place(uid, pod.node.unwrap(), near, now);
}

fn ask_again(table: &mut NodeTable, uid: &str, now: Timestamp) {
    let pod = Pod {
        node: None,
        ..Pod::bound("p", "a", 300)
    };
    table.ask(uid, &pod.facts(), now);
}

fn load(table: &NodeTable, name: &str) -> u64 {
    table.nodes().get(name).unwrap().load.load[Resource::Cpu].get()
}

fn freshness(table: &NodeTable, name: &str) -> Freshness {
    table.nodes().get(name).unwrap().freshness[Resource::Cpu]
}

#[test]
fn without_a_measurement_the_load_is_the_sum_of_demands() {
    let mut table = table();
    let pod = Pod::bound("p", "a", 300).started(-1000);
    table.apply_pod("1", &pod.facts(), at(0));
    assert_eq!((load(&table, "a"), load(&table, "b")), (300, 0));
    assert_eq!(freshness(&table, "a"), Freshness::Absent);
    assert!(table.nodes().get("a").unwrap().is_estimated());
}

#[test]
fn a_pod_is_in_flight_until_a_whole_window_lies_after_its_start() {
    let mut table = table();
    table.apply_sample(sample(0, &[("a", 100), ("b", 0)], &[]), at(0));
    let pod = Pod::bound("p", "a", 300);
    table.apply_pod("1", &pod.facts(), at(5));
    assert_eq!(load(&table, "a"), 400, "bound, pulling its image");

    table.apply_sample(sample(200, &[("a", 100), ("b", 0)], &[]), at(200));
    assert_eq!(load(&table, "a"), 400, "still pulling long afterwards");

    table.apply_pod("1", &pod.started(210).facts(), at(211));
    table.apply_sample(sample(230, &[("a", 200), ("b", 0)], &[("p", 100)]), at(230));
    assert_eq!(load(&table, "a"), 400, "the sample shows a third of it");

    table.apply_sample(sample(270, &[("a", 350), ("b", 0)], &[("p", 250)]), at(270));
    assert_eq!(load(&table, "a"), 350, "the sample tells all of it");
    table.apply_sample(sample(500, &[("a", 350), ("b", 0)], &[]), at(500));
    assert_eq!(
        table.in_flight(),
        0,
        "what is never measured had time enough"
    );
}

#[test]
fn a_pod_that_does_not_start_counts_for_ten_minutes_and_from_its_start_on() {
    for measured in [true, false] {
        let mut table = table();
        let round = |second| {
            let nodes: &[(&str, u64)] = if measured { &[("a", 100)] } else { &[] };
            sample(second, nodes, &[])
        };
        let used = if measured { 100 } else { 0 };
        table.apply_sample(round(0), at(0));
        let pod = Pod::bound("p", "a", 300);
        table.apply_pod("1", &pod.facts(), at(0));
        table.apply_sample(round(599), at(599));
        table.advance(at(599));
        assert_eq!(load(&table, "a"), used + 300, "it may be pulling its image");
        table.advance(at(600));
        assert_eq!(load(&table, "a"), used, "measured: {measured}");
        assert_eq!(table.in_flight(), 0);
        // Its status and requests may still change.
        table.apply_pod("1", &Pod::bound("p", "a", 400).facts(), at(601));
        assert_eq!(load(&table, "a"), used, "it does not begin anew");
        table.apply_pod("1", &pod.started(605).facts(), at(606));
        assert_eq!(load(&table, "a"), used + 300, "the image has come");
        table.remove_pod("1", at(607));
        assert_eq!(load(&table, "a"), used);
    }
}

#[test]
fn the_ten_minutes_begin_with_the_binding_and_not_with_the_first_sight_of_it() {
    let mut table = table();
    table.apply_pod(
        "1",
        &Pod::bound("p", "a", 300).bound_at(-600).facts(),
        at(0),
    );
    assert_eq!(load(&table, "a"), 0);
    table.apply_pod("2", &Pod::bound("q", "a", 200).bound_at(900).facts(), at(0));
    table.apply_pod("2", &Pod::bound("q", "a", 100).bound_at(950).facts(), at(1));
    assert_eq!(load(&table, "a"), 100);
    table.advance(at(600));
    assert_eq!(load(&table, "a"), 0, "a time to come counts as now");
    table.apply_pod("3", &Pod::bound("r", "a", 50).facts(), at(5_000));
    table.advance(at(1_000));
    assert_eq!(
        load(&table, "a"),
        0,
        "a clock that is set back ends the wait"
    );
}

#[test]
fn another_demand_of_a_bound_pod_counts_at_once() {
    let mut table = table();
    table.set_demand("1", cpu(500), at(0));
    place(&mut table, "1", &Pod::bound("p", "a", 300), at(0));
    assert!(!table.is_bound("1"));
    table.set_demand("1", cpu(500), at(0));
    assert_eq!(
        load(&table, "a"),
        300,
        "what is only proposed stays as it is"
    );
    table.apply_pod("1", &Pod::bound("p", "a", 300).facts(), at(0));
    assert!(table.is_bound("1"));
    table.set_demand("1", cpu(500), at(0));
    assert_eq!(load(&table, "a"), 500);
    table.advance(at(600));
    table.set_demand("1", cpu(700), at(601));
    assert_eq!(load(&table, "a"), 0, "it has not started");
}

#[test]
fn the_largest_capacity_is_that_of_any_node_there_is() {
    let mut table = NodeTable::default();
    let largest = |table: &NodeTable| table.nodes().largest()[Resource::Cpu].map(Amount::get);
    assert_eq!(largest(&table), None);
    for (step, (name, capacity, expected)) in [
        ("a", 1000, 1000),
        ("b", 3000, 3000),
        ("c", 3000, 3000),
        ("b", 2000, 3000),
        ("c", 500, 2000),
        ("a", 1500, 2000),
    ]
    .into_iter()
    .enumerate()
    {
        table.apply_node(name, node(capacity), at(0));
        assert_eq!(largest(&table), Some(expected), "step {step}");
    }
    assert_eq!(table.nodes().largest()[Resource::Disk], None);
    table.remove_node("b");
    assert_eq!(largest(&table), Some(1500));
    table.retain_nodes(|_| false);
    assert_eq!(largest(&table), None);
}

#[test]
fn a_pod_that_uses_more_than_it_asked_for_is_not_counted_twice() {
    let mut table = table();
    let pod = Pod::bound("p", "a", 300).started(0);
    table.apply_pod("1", &pod.facts(), at(1));
    table.apply_sample(sample(50, &[("a", 500)], &[("p", 450)]), at(50));
    assert_eq!(load(&table, "a"), 500);
}

#[test]
fn usage_of_a_finished_pod_is_taken_off_until_the_window_has_passed_it() {
    let mut table = table();
    let pod = Pod::bound("p", "a", 300).started(-500);
    table.apply_pod("1", &pod.facts(), at(0));
    table.apply_sample(sample(0, &[("a", 700)], &[("p", 250)]), at(0));
    assert_eq!(load(&table, "a"), 700);

    table.apply_pod("1", &pod.finished(10).facts(), at(11));
    assert_eq!(load(&table, "a"), 450);
    table.remove_pod("1", at(12));
    assert_eq!(
        load(&table, "a"),
        450,
        "removing the object changes nothing more"
    );

    table.apply_sample(sample(40, &[("a", 560)], &[("p", 110)]), at(40));
    assert_eq!(load(&table, "a"), 450, "the window still holds some of it");
    table.apply_sample(sample(70, &[("a", 450)], &[]), at(70));
    assert_eq!(load(&table, "a"), 450);
    assert_eq!(table.detail("a").unwrap().gone, Resources::default());
}

#[test]
fn a_pod_made_anew_under_the_same_name_is_not_taken_for_the_old_one() {
    let mut table = table();
    table.apply_pod(
        "old",
        &Pod::bound("web-0", "a", 1000).started(-500).facts(),
        at(0),
    );
    table.apply_sample(sample(0, &[("a", 800), ("b", 0)], &[("web-0", 800)]), at(0));
    table.remove_pod("old", at(10));
    assert_eq!(load(&table, "a"), 0);

    table.apply_pod("new", &Pod::bound("web-0", "b", 1000).facts(), at(11));
    assert_eq!(load(&table, "b"), 1000, "b's sample holds nothing of it");
    assert_eq!(
        load(&table, "a"),
        800,
        "what a's sample holds may be either's"
    );

    table.apply_pod(
        "new",
        &Pod::bound("web-0", "b", 1000).started(20).facts(),
        at(21),
    );
    // It uses 900, in two thirds of the minute.
    let round = sample(60, &[("a", 500), ("b", 600)], &[("web-0", 600)]);
    table.apply_sample(round, at(60));
    assert_eq!(load(&table, "a"), 500, "others use this");
    assert_eq!(load(&table, "b"), 1000);
}

#[test]
fn later_samples_hold_no_more_of_an_ended_pod_than_it_used() {
    let mut table = table();
    table.apply_pod("1", &Pod::bound("p", "a", 300).started(-500).facts(), at(0));
    table.apply_sample(sample(0, &[("a", 700)], &[("p", 200)]), at(0));
    table.remove_pod("1", at(10));
    table.apply_sample(sample(40, &[("a", 700)], &[("p", 650)]), at(40));
    assert_eq!(load(&table, "a"), 500);
}

#[test]
fn a_pod_that_has_ended_is_counted_out_once() {
    let mut table = table();
    table.apply_pod("1", &Pod::bound("p", "a", 300).started(-500).facts(), at(0));
    table.apply_sample(sample(0, &[("a", 700)], &[("p", 250)]), at(0));
    for demand in [300, 400, 500] {
        let ended = Pod::bound("p", "a", demand).finished(10);
        table.apply_pod("1", &ended.facts(), at(11));
        assert_eq!(load(&table, "a"), 450);
    }
}

#[test]
fn a_value_from_the_future_gives_way_to_the_next_one() {
    let mut table = table();
    table.apply_sample(sample(86_400, &[("a", 900)], &[]), at(0));
    assert_eq!(freshness(&table, "a"), Freshness::Stale);
    table.apply_sample(sample(15, &[("a", 100)], &[]), at(15));
    assert_eq!(
        (load(&table, "a"), freshness(&table, "a")),
        (100, Freshness::Fresh)
    );
}

#[test]
fn a_clock_that_is_set_back_ends_reservations() {
    let mut table = table();
    place(&mut table, "1", &Pod::bound("p", "a", 300), at(1000));
    table.advance(at(0));
    assert!(!table.has_choice("1"));
}

#[test]
fn nodes_that_are_gone_leave_nothing_behind() {
    let mut table = table();
    place(&mut table, "1", &Pod::bound("p", "a", 300), at(0));
    table.remove_node("a");
    ask_again(&mut table, "1", at(1));
    assert_eq!(table.nodes.len(), 1);
}

#[test]
fn tainted_nodes_are_not_what_most_pods_find() {
    let mut table = NodeTable::new(Settings::default());
    for (name, capacity, tainted) in [("a", 1000, false), ("control", 5000, true)] {
        let facts = NodeFacts {
            tainted,
            ..node(capacity)
        };
        table.apply_node(name, facts, at(0));
    }
    let median = table.nodes().median().capacity[Resource::Cpu];
    assert_eq!(median, Some(Amount::new(1000)));
    assert!(!table.nodes().get("control").unwrap().is_open());
}

#[test]
fn a_deleted_pod_is_a_finished_one() {
    let mut table = table();
    let pod = Pod::bound("p", "a", 300).started(-500);
    table.apply_pod("1", &pod.facts(), at(0));
    table.apply_sample(sample(0, &[("a", 700)], &[("p", 900)]), at(0));
    table.remove_pod("1", at(10));
    assert_eq!(load(&table, "a"), 0, "never below zero");
}

#[test]
fn a_reservation_counts_at_once_and_gives_way_to_the_binding() {
    let mut table = table();
    table.apply_sample(sample(0, &[("a", 100), ("b", 100)], &[]), at(0));
    let guess = Pod::bound("p", "a", 300);
    place(&mut table, "1", &guess, at(1));
    assert_eq!((load(&table, "a"), load(&table, "b")), (400, 100));

    let pending = Pod {
        node: None,
        ..Pod::bound("p", "a", 300)
    };
    table.apply_pod("1", &pending.facts(), at(2));
    table.wait("1", &pending.facts(), at(2));
    assert_eq!(load(&table, "a"), 400, "a status update is no binding");

    table.apply_pod("1", &Pod::bound("p", "b", 300).facts(), at(3));
    assert_eq!((load(&table, "a"), load(&table, "b")), (100, 400));
    table.advance(at(30));
    assert_eq!((load(&table, "a"), load(&table, "b")), (100, 400));
}

#[test]
fn a_reservation_ends_when_asked_again_deleted_or_too_old() {
    for end in ["release", "remove", "place elsewhere", "time"] {
        let mut table = table();
        table.apply_sample(sample(0, &[("a", 0), ("b", 0)], &[]), at(0));
        place(&mut table, "1", &Pod::bound("p", "a", 300), at(1));
        assert!(table.has_choice("1"));
        match end {
            "release" => ask_again(&mut table, "1", at(2)),
            "remove" => table.remove_pod("1", at(2)),
            "place elsewhere" => {
                place(&mut table, "1", &Pod::bound("p", "b", 300), at(2));
            }
            _ => table.advance(at(11)),
        }
        assert_eq!(load(&table, "a"), 0, "{end}");
    }
    let mut table = table();
    place(&mut table, "1", &Pod::bound("p", "a", 300), at(1));
    table.advance(at(10));
    assert!(table.has_choice("1"), "not before its time");
}

#[test]
fn a_bound_pod_cannot_be_reserved_nor_released() {
    let mut table = table();
    table.apply_pod("1", &Pod::bound("p", "a", 300).facts(), at(0));
    place(&mut table, "1", &Pod::bound("p", "b", 300), at(1));
    ask_again(&mut table, "1", at(1));
    assert_eq!((load(&table, "a"), load(&table, "b")), (300, 0));
}

#[test]
fn a_measurement_grows_stale_and_a_clock_far_ahead_is_stale_too() {
    let mut table = table();
    table.apply_pod("1", &Pod::bound("p", "a", 300).started(-900).facts(), at(0));
    table.apply_sample(sample(0, &[("a", 100)], &[]), at(0));
    for (second, expected) in [(0, 100), (180, 100), (181, 300), (-181, 300)] {
        table.advance(at(second));
        assert_eq!(load(&table, "a"), expected, "after {second} s");
    }
}

#[test]
fn an_older_round_does_not_replace_a_newer_one() {
    let mut table = table();
    table.apply_sample(sample(60, &[("a", 100)], &[]), at(60));
    table.apply_sample(sample(30, &[("a", 900)], &[]), at(61));
    assert_eq!(load(&table, "a"), 100);
    table.apply_sample(sample(90, &[], &[]), at(90));
    assert_eq!(
        load(&table, "a"),
        100,
        "a round without the node keeps its last value"
    );
}

#[test]
fn pods_may_be_seen_before_their_node_and_outlive_it() {
    let mut table = NodeTable::new(Settings::default());
    table.apply_pod("1", &Pod::bound("p", "a", 300).facts(), at(0));
    assert!(table.nodes().is_empty());
    table.apply_node("a", node(1000), at(1));
    assert_eq!(load(&table, "a"), 300);
    table.remove_node("a");
    assert!(table.nodes().get("a").is_none());
    table.apply_node("a", node(2000), at(2));
    assert_eq!(load(&table, "a"), 300);
}

#[test]
fn pods_and_samples_seen_before_the_node_count_when_it_comes() {
    let mut table = NodeTable::new(Settings::default());
    table.apply_sample(sample(0, &[("a", 100)], &[]), at(0));
    table.apply_pod("1", &Pod::bound("p", "a", 300).facts(), at(1));
    table.apply_node("a", node(1000), at(2));
    assert_eq!(load(&table, "a"), 400);
}

#[test]
fn a_complete_list_removes_what_it_does_not_hold() {
    let mut table = table();
    table.apply_pod("1", &Pod::bound("p", "a", 300).facts(), at(0));
    table.apply_pod("2", &Pod::bound("q", "a", 200).facts(), at(0));
    place(&mut table, "3", &Pod::bound("r", "a", 100), at(0));
    table.retain_pods(|uid| uid == "2", at(1));
    assert_eq!(load(&table, "a"), 300, "the listed one and the reservation");
    table.retain_nodes(|name| name == "b");
    assert_eq!(table.nodes().len(), 1);
    assert!(table.nodes().get("a").is_none());
}

#[test]
fn a_resize_changes_the_load() {
    let mut table = table();
    table.apply_pod("1", &Pod::bound("p", "a", 300).facts(), at(0));
    table.apply_pod("1", &Pod::bound("p", "a", 500).facts(), at(1));
    assert_eq!(load(&table, "a"), 500);
}

#[test]
fn a_measured_interface_speed_replaces_a_default_and_no_annotation() {
    let mut fast = UsageSample::default();
    fast.insert_speed("a", Amount::new(125_000_000));
    let fast = Arc::new(fast);
    for (annotated, is_default, expected) in [
        (None, false, Some(125_000_000)),
        (Some(10), true, Some(125_000_000)),
        (Some(10), false, Some(10)),
    ] {
        let mut table = NodeTable::new(Settings::default());
        let mut facts = node(1000);
        facts.capacity[Resource::NetworkIo] = annotated.map(Amount::new);
        facts.network_is_default = is_default;
        table.apply_node("a", facts, at(0));
        table.apply_sample(Arc::clone(&fast), at(0));
        assert_eq!(
            table.nodes().get("a").unwrap().load.capacity[Resource::NetworkIo],
            expected.map(Amount::new)
        );
    }
}

#[test]
fn readers_keep_the_version_they_took() {
    let mut table = table();
    let before = table.nodes().clone();
    table.apply_pod("1", &Pod::bound("p", "a", 300).facts(), at(0));
    assert_eq!(
        before.get("a").unwrap().load.load[Resource::Cpu],
        Amount::ZERO
    );
    assert!(table.nodes().version() > before.version());
    let version = table.nodes().version();
    table.apply_pod("1", &Pod::bound("p", "a", 300).facts(), at(1));
    table.advance(at(2));
    assert_eq!(table.nodes().version(), version, "nothing changed");
}

#[test]
fn the_set_finds_every_node_however_many_come_and_go() {
    let mut table = NodeTable::new(Settings::default());
    let name = |number: usize| format!("node-{number}");
    for number in 0..200 {
        let mut facts = node(number as u64);
        facts.schedulable = number % 2 == 0;
        table.apply_node(&name(number), facts, at(0));
    }
    for number in (0..200).filter(|number| number % 3 == 0) {
        table.remove_node(&name(number));
    }
    let left: BTreeMap<String, u64> = (0..200)
        .filter(|number| number % 3 != 0)
        .map(|number| (name(number), number as u64))
        .collect();
    assert_eq!(table.nodes().len(), left.len());
    assert_eq!(table.nodes().iter().count(), left.len());
    for (name, capacity) in &left {
        let state = table.nodes().get(name).unwrap();
        assert_eq!(
            state.load.capacity[Resource::Cpu],
            Some(Amount::new(*capacity))
        );
    }
    let mut schedulable: Vec<u64> = left.values().copied().filter(|n| n % 2 == 0).collect();
    schedulable.sort_unstable();
    let middle = schedulable[(schedulable.len() - 1) / 2];
    assert_eq!(
        table.nodes().median().capacity[Resource::Cpu],
        Some(Amount::new(middle))
    );
}

#[derive(Debug, Clone)]
enum Step {
    Bind { pod: u8, node: bool, demand: u16 },
    Start { pod: u8 },
    Finish { pod: u8 },
    Remove { pod: u8 },
    Reserve { pod: u8, node: bool, demand: u16 },
    Sample { a: u16, b: u16 },
    Wait { seconds: u16 },
}

fn step() -> impl Strategy<Value = Step> {
    let pod = 0..6_u8;
    prop_oneof![
        (pod.clone(), any::<bool>(), any::<u16>()).prop_map(|(pod, node, demand)| Step::Bind {
            pod,
            node,
            demand
        }),
        pod.clone().prop_map(|pod| Step::Start { pod }),
        pod.clone().prop_map(|pod| Step::Finish { pod }),
        pod.clone().prop_map(|pod| Step::Remove { pod }),
        (pod, any::<bool>(), any::<u16>()).prop_map(|(pod, node, demand)| Step::Reserve {
            pod,
            node,
            demand
        }),
        (any::<u16>(), any::<u16>()).prop_map(|(a, b)| Step::Sample { a, b }),
        (0..900_u16).prop_map(|seconds| Step::Wait { seconds }),
    ]
}

proptest! {
    /// Sums end as in a table that starts with the last state.
    #[test]
    fn incremental_sums_equal_sums_from_scratch(steps in prop::collection::vec(step(), 1..60)) {
        let mut table = table();
        let mut now = 0_i64;
        let mut pods: BTreeMap<u8, Pod> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Bind { pod, node, demand } => {
                    let entry = pods.entry(pod).or_insert_with(|| {
                        let node = if node { "a" } else { "b" };
                        Pod::bound(&pod.to_string(), node, 0).bound_at(now)
                    });
                    if entry.finished.is_none() {
                        entry.demand = u64::from(demand);
                    }
                    table.apply_pod(&pod.to_string(), &entry.facts(), at(now));
                }
                Step::Start { pod } => {
                    if let Some(entry) = pods.get_mut(&pod) {
                        entry.started = entry.started.or(Some(now));
                        table.apply_pod(&pod.to_string(), &entry.facts(), at(now));
                    }
                }
                Step::Finish { pod } => {
                    if let Some(entry) = pods.get_mut(&pod) {
                        entry.finished = entry.finished.or(Some(now));
                        table.apply_pod(&pod.to_string(), &entry.facts(), at(now));
                    }
                }
                Step::Remove { pod } => {
                    pods.remove(&pod);
                    table.remove_pod(&pod.to_string(), at(now));
                }
                Step::Reserve { pod, node, demand } => {
                    let guess = Pod::bound(&pod.to_string(), if node { "a" } else { "b" }, u64::from(demand));
                    place(&mut table, &pod.to_string(), &guess, at(now));
                }
                Step::Sample { a, b } => {
                    let round = sample(now, &[("a", a.into()), ("b", b.into())], &[("0", 50), ("1", 7)]);
                    table.apply_sample(round, at(now));
                }
                Step::Wait { seconds } => {
                    now += i64::from(seconds);
                    table.advance(at(now));
                }
            }
        }
        // Let reservations and the windows of ended Pods run out.
        now += 2_000;
        table.advance(at(now));
        let (a, b) = (1234, 567);
        let last = sample(now, &[("a", a), ("b", b)], &[("0", 50), ("1", 7)]);
        table.apply_sample(Arc::clone(&last), at(now));

        let mut fresh = self::table();
        fresh.apply_sample(last, at(now));
        for (pod, entry) in &pods {
            fresh.apply_pod(&pod.to_string(), &entry.facts(), at(now));
        }
        for name in ["a", "b"] {
            prop_assert_eq!(load(&table, name), load(&fresh, name));
            prop_assert_eq!(
                table.detail(name).unwrap().committed,
                fresh.detail(name).unwrap().committed
            );
        }
    }
}
