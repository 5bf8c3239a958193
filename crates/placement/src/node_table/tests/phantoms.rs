//! No load that is not there, and none twice.

use evenkeel_metrics::usage::Span;

use super::*;

#[test]
fn what_an_init_container_uses_is_not_counted_beside_the_demand() {
    let mut table = table();
    let pod = Pod::bound("p", "a", 300);
    let facts = BoundPod {
        first_started: Some(at(10)),
        ..pod.facts()
    };
    table.apply_pod("1", &facts, at(11));
    // It uses 250, in half of the minute.
    table.apply_sample(sample(40, &[("a", 225)], &[("p", 125)]), at(40));
    assert_eq!(load(&table, "a"), 400, "175 of 300 are still to come");
}

#[test]
fn a_rate_over_a_new_pods_own_short_span_is_in_its_nodes_window_for_that_part_only() {
    let mut table = table();
    let pod = Pod::bound("p", "a", 300).started(45);
    table.apply_pod("1", &pod.facts(), at(46));
    // It uses 300 from second 45 on: a quarter of that is in the node's minute.
    let round = sample(60, &[("a", 100 + 75)], &[("p", 300)]);
    let mut round = UsageSample::clone(&round);
    let own = Span::new(at(60), SignedDuration::from_secs(15));
    round.insert_pod_span(&PodName::new("default", "p"), own);
    table.apply_sample(Arc::new(round), at(60));
    assert_eq!(load(&table, "a"), 400);
}

#[test]
fn what_is_newer_of_a_pod_than_of_its_node_is_not_taken_for_a_part_of_it() {
    let mut table = table();
    let pod = Pod::bound("p", "a", 300).started(45);
    table.apply_pod("1", &pod.facts(), at(46));
    // It uses 300 from second 45 on. Its node was read five seconds later, the Pod ten after that.
    table.apply_sample(sample(50, &[("a", 100 + 25)], &[("p", 75)]), at(60));
    assert_eq!(load(&table, "a"), 400);
    let part = table.part_of_load("1").expect("it is bound");
    assert_eq!(
        part[Resource::Cpu].get(),
        300,
        "no more than that goes with it"
    );
    // A minute of the node holds at most the part in which the Pod ran.
    table.apply_sample(sample(60, &[("a", 100 + 75)], &[("p", 300)]), at(61));
    assert_eq!(load(&table, "a"), 400);
}

#[test]
fn a_host_network_pod_that_ended_takes_nothing_of_its_nodes_traffic_with_it() {
    for (host_network, expected) in [(false, 200), (true, 900)] {
        let network = |value| {
            let mut amounts = Resources::default();
            amounts[Resource::NetworkIo] = Some(NodeSample {
                value: Amount::new(value),
                at: at(0),
                window: WINDOW,
            });
            amounts
        };
        let mut table = table();
        let mut round = UsageSample::default();
        round.insert_node("a", &network(900));
        let name = PodName::new("default", "p");
        let shown = network(700).map(|shown| shown.map(|shown| shown.value));
        round.insert_pod(&name, &shown);
        let pod = Pod::bound("p", "a", 300).started(-500);
        let facts = BoundPod {
            host_network,
            ..pod.facts()
        };
        table.apply_pod("1", &facts, at(0));
        table.apply_sample(Arc::new(round), at(0));
        table.remove_pod("1", at(10));
        let left = table.nodes().get("a").unwrap().load.load[Resource::NetworkIo];
        assert_eq!(left, Amount::new(expected), "host network: {host_network}");
    }
}

#[test]
fn a_node_whose_exporter_died_at_its_hottest_does_not_look_cool() {
    let mut table = table();
    table.apply_pod("1", &Pod::bound("p", "a", 300).started(-900).facts(), at(0));
    table.apply_sample(sample(0, &[("a", 900)], &[]), at(0));
    for (second, expected) in [(180, 900), (181, 900), (1_800, 900), (1_801, 300)] {
        table.advance(at(second));
        assert_eq!(load(&table, "a"), expected, "after {second} s");
    }
    table.apply_sample(sample(2_000, &[("a", 100)], &[]), at(2_000));
    table.advance(at(2_181));
    assert_eq!(load(&table, "a"), 300, "the larger of both");
    let coming = Pod::bound("q", "a", 50);
    place(&mut table, "2", &coming, at(2_182));
    assert_eq!(load(&table, "a"), 350);
}

#[test]
fn a_node_made_anew_under_the_same_name_has_not_used_what_the_old_one_did() {
    let mut table = NodeTable::new(Settings::default());
    let made = |second| NodeFacts {
        created: Some(at(second)),
        ..node(1000)
    };
    table.apply_node("a", made(-5_000), at(0));
    table.apply_sample(sample(0, &[("a", 900)], &[]), at(0));
    assert_eq!(load(&table, "a"), 900);

    table.apply_node("a", made(10), at(10));
    assert_eq!(
        (load(&table, "a"), freshness(&table, "a")),
        (0, Freshness::Absent)
    );
    table.apply_sample(sample(5, &[("a", 900)], &[]), at(20));
    assert_eq!(load(&table, "a"), 0, "the old one's last sample comes late");
    table.apply_sample(sample(30, &[("a", 70)], &[]), at(30));
    assert_eq!(load(&table, "a"), 70);
}

#[test]
fn what_is_measured_of_a_whole_node_is_held_against_the_whole_node() {
    let mut table = NodeTable::new(Settings::default());
    let mut facts = node(900);
    facts.whole[Resource::Cpu] = Some(Amount::new(1000));
    table.apply_node("a", facts, at(0));
    let capacity = |table: &NodeTable| table.nodes().get("a").unwrap().load.capacity[Resource::Cpu];
    assert_eq!(capacity(&table), Some(Amount::new(900)), "demands are");
    table.apply_sample(sample(0, &[("a", 100)], &[]), at(0));
    assert_eq!(capacity(&table), Some(Amount::new(1000)));
    let largest = |table: &NodeTable| table.nodes().largest()[Resource::Cpu];
    assert_eq!(largest(&table), Some(Amount::new(900)));
    table.advance(at(181));
    assert_eq!(capacity(&table), Some(Amount::new(900)));
    assert_eq!(
        largest(&table),
        Some(Amount::new(900)),
        "what Pods can have is the same"
    );
}

#[test]
fn a_victim_takes_with_it_what_is_counted_of_it() {
    let mut table = table();
    let running = Pod::bound("p", "a", 300).started(-900);
    table.apply_pod("1", &running.facts(), at(0));
    table.apply_pod("2", &Pod::bound("q", "a", 200).facts(), at(0));
    let part = |table: &NodeTable, uid| {
        table
            .part_of_load(uid)
            .map(|part| part[Resource::Cpu].get())
    };
    assert_eq!(
        (part(&table, "1"), part(&table, "2")),
        (Some(300), Some(200))
    );
    table.apply_sample(sample(0, &[("a", 500)], &[("p", 450), ("q", 7)]), at(0));
    assert_eq!(
        (part(&table, "1"), part(&table, "2")),
        (Some(450), Some(200))
    );
    assert_eq!(part(&table, "3"), None);

    let leaving = BoundPod {
        terminating: true,
        ..running.facts()
    };
    assert!(table.terminating("a").is_empty());
    table.apply_pod("1", &leaving, at(1));
    assert_eq!(table.terminating("a"), ["1".into()]);
    assert_eq!(load(&table, "a"), 700, "it still runs");
    table.remove_pod("1", at(2));
    assert!(table.terminating("a").is_empty());
}

#[test]
fn a_finished_pod_that_is_deleted_later_is_counted_out_once() {
    let mut table = table();
    let pod = Pod::bound("p", "a", 300).started(-500);
    table.apply_pod("1", &pod.facts(), at(0));
    table.apply_sample(sample(0, &[("a", 700)], &[("p", 250)]), at(0));
    let pod = pod.finished(10);
    for terminating in [false, true] {
        let facts = BoundPod {
            terminating,
            ..pod.facts()
        };
        table.apply_pod("1", &facts, at(11));
        assert_eq!(load(&table, "a"), 450, "held by a finalizer: {terminating}");
    }
}

#[test]
fn a_pod_that_never_started_leaves_no_trace_of_its_deletion() {
    let mut table = table();
    let leaving = Pod::bound("p", "a", 300).bound_at(-600);
    let facts = BoundPod {
        terminating: true,
        ..leaving.facts()
    };
    table.apply_pod("1", &facts, at(0));
    assert_eq!(table.terminating("a"), ["1".into()]);
    table.remove_pod("1", at(1));
    assert!(table.terminating("a").is_empty());
}

#[test]
fn a_round_taken_in_batches_ends_as_one_taken_at_once() {
    let build = || {
        let mut table = NodeTable::new(Settings::default());
        let mut round = UsageSample::default();
        for number in 0..1_000_u64 {
            let name = format!("n{number}");
            table.apply_node(&name, node(1000), at(0));
            let mut measured = Resources::default();
            measured[Resource::Cpu] = Some(NodeSample {
                value: Amount::new(number),
                at: at(0),
                window: WINDOW,
            });
            round.insert_node(name, &measured);
        }
        (table, Arc::new(round))
    };
    let (mut whole, sample) = build();
    whole.apply_sample(sample, at(0));
    let (mut parts, sample) = build();
    let mut round = parts.begin_round(sample);
    let mut batches = 1;
    while parts.go_on(&mut round, at(0)) {
        let measured = parts.nodes().measured();
        assert!(measured > 0 && measured < 1_000, "{measured}");
        // The world goes on meanwhile.
        parts.remove_node("n0");
        batches += 1;
    }
    assert!(batches > 3);
    whole.remove_node("n0");
    assert_eq!(parts.nodes().len(), 999);
    for state in whole.nodes().iter() {
        assert_eq!(parts.nodes().get(&state.name), Some(state));
    }
}
