//! Pods that are counted before their binding is seen.

use super::*;

fn possible(table: &NodeTable, name: &str) -> u64 {
    let nodes = table.nodes();
    let position = nodes.position(name).unwrap();
    nodes.possible(position).unwrap_or_default()[Resource::Cpu].get()
}

fn near(table: &NodeTable, names: &[&str]) -> NearTies {
    let nodes = table.nodes();
    nodes.near(names.iter().filter_map(|name| nodes.position(name)))
}

fn waiting(name: &str, nominated: Option<&'static str>, demand: u64) -> Pod {
    Pod {
        node: nominated,
        ..Pod::bound(name, "a", demand)
    }
}

#[test]
fn a_pod_in_doubt_is_possible_where_it_may_be_and_counted_where_it_most_likely_is() {
    let mut table = table();
    let pod = Pod::bound("p", "a", 300);
    let on_b = near(&table, &["b"]);
    place_near(&mut table, "1", &pod, on_b.clone(), at(0));
    assert_eq!((load(&table, "a"), load(&table, "b")), (300, 0));
    assert_eq!((possible(&table, "a"), possible(&table, "b")), (0, 300));
    place_near(&mut table, "2", &Pod::bound("q", "a", 50), on_b, at(0));
    assert_eq!(possible(&table, "b"), 350);

    assert!(table.notice("1", "b", at(1)));
    assert_eq!((load(&table, "a"), load(&table, "b")), (50, 300));
    assert_eq!(possible(&table, "b"), 50, "the other one's");
    table.apply_pod("2", &Pod::bound("q", "a", 50).facts(), at(1));
    assert!(!table.nodes().is_in_doubt());
    table.apply_pod("1", &Pod::bound("p", "b", 300).facts(), at(2));
    assert_eq!((load(&table, "a"), load(&table, "b")), (50, 300));
    assert_eq!(table.in_flight(), 2);
}

#[test]
fn a_choice_that_no_notice_follows_counts_shorter_once_notices_have_been_coming() {
    let mut table = table();
    let pod = Pod::bound("p", "a", 300);
    place(&mut table, "1", &pod, at(0));
    table.advance(at(9));
    assert_eq!(load(&table, "a"), 300, "no notice is to be expected");
    assert!(table.notice("1", "a", at(9)));
    place(&mut table, "2", &Pod::bound("q", "b", 200), at(9));
    table.advance(at(10));
    assert_eq!((load(&table, "a"), load(&table, "b")), (300, 200));
    table.advance(at(11));
    assert_eq!(
        (load(&table, "a"), load(&table, "b")),
        (300, 0),
        "it came to nothing"
    );
    table.advance(at(19));
    assert_eq!(load(&table, "a"), 0, "the binding that was told failed");

    place(&mut table, "3", &Pod::bound("r", "b", 200), at(20));
    table.apply_pod("3", &Pod::bound("r", "b", 200).facts(), at(21));
    place(&mut table, "4", &Pod::bound("s", "b", 100), at(21));
    table.advance(at(24));
    assert_eq!(
        load(&table, "b"),
        300,
        "bound without a notice: none comes any more"
    );
}

#[test]
fn a_pod_whose_volumes_are_made_first_counts_on_its_node_until_they_are() {
    let mut table = table();
    table.wait("0", &waiting("told", None, 0).facts(), at(0));
    assert!(table.notice("0", "a", at(0)), "notices have been coming");
    let on_b = near(&table, &["b"]);
    let plain = Pod::bound("plain", "a", 10);
    let choose = |table: &mut NodeTable, uid: &str, demand, second| {
        let pod = waiting("p", None, demand);
        let facts = BoundPod {
            provisions: true,
            ..pod.facts()
        };
        table.ask(uid, &facts, at(second));
        // The watch shows what was asked about.
        table.wait(uid, &facts, at(second));
        table.place(uid, "a", on_b.clone(), at(second));
    };
    place_near(&mut table, "1", &plain, on_b.clone(), at(0));
    choose(&mut table, "2", 300, 0);
    table.advance(at(1));
    assert_eq!((load(&table, "a"), possible(&table, "b")), (310, 310));
    table.advance(at(2));
    assert_eq!(load(&table, "a"), 300, "the other one came to nothing");
    assert!(!table.nodes().is_in_doubt(), "on the one node alone");
    table.advance(at(599));
    assert_eq!(load(&table, "a"), 300);
    assert!(table.notice("2", "b", at(599)), "made at last");
    assert_eq!((load(&table, "a"), load(&table, "b")), (0, 300));
    table.apply_pod("2", &Pod::bound("p", "b", 300).facts(), at(599));

    choose(&mut table, "3", 200, 600);
    choose(&mut table, "4", 50, 600);
    table.advance(at(1199));
    assert_eq!(load(&table, "a"), 250);
    ask_again(&mut table, "3", at(1199));
    assert_eq!(load(&table, "a"), 50, "asked again, it went nowhere");
    table.advance(at(1200));
    assert_eq!(load(&table, "a"), 0, "nothing is waited for so long");
}

/// kube-scheduler nominates a Pod for its chosen node while the volumes are made, and the Pod went
/// on counting on the guessed node.
#[test]
fn a_nomination_that_follows_a_guess_takes_its_place_and_an_older_one_does_not() {
    let mut table = table();
    let on = |node| waiting("p", node, 300);
    let loads = |table: &NodeTable| (load(table, "a"), load(table, "b"));
    // Nominated for where it had preempted others; the present attempt goes elsewhere.
    table.wait("1", &on(Some("b")).facts(), at(0));
    let on_b = near(&table, &["b"]);
    place_near(&mut table, "1", &Pod::bound("p", "a", 300), on_b, at(1));
    table.wait("1", &on(Some("b")).facts(), at(1));
    assert_eq!(loads(&table), (300, 0), "what was known before");
    ask_again(&mut table, "1", at(2));

    let on_b = near(&table, &["b"]);
    table.wait("1", &on(None).facts(), at(2));
    place_near(&mut table, "1", &Pod::bound("p", "a", 300), on_b, at(3));
    assert_eq!((loads(&table), possible(&table, "b")), ((300, 0), 300));
    table.wait("1", &on(Some("b")).facts(), at(3));
    assert_eq!((loads(&table), possible(&table, "b")), ((0, 300), 0));
    table.advance(at(1000));
    assert_eq!(loads(&table), (0, 300), "while it stands");
    assert!(table.notice("1", "a", at(1000)));
    table.wait("1", &on(None).facts(), at(1001));
    table.wait("1", &on(Some("b")).facts(), at(1001));
    assert_eq!(loads(&table), (300, 0), "what was told is not overruled");
}

#[test]
fn the_ends_of_choices_are_counted_by_what_was_told_of_them() {
    let mut table = table();
    let bound = |table: &mut NodeTable, uid: &str, told: bool, seconds| {
        let pod = Pod::bound("p", "a", 1);
        place(table, uid, &pod, at(seconds));
        if told {
            table.notice(uid, "a", at(seconds));
        }
        table.apply_pod(uid, &pod.facts(), at(seconds));
    };
    let in_a_row = |table: &NodeTable| ChoiceEnd::ALL.map(|end| table.choices().in_a_row(end));
    for (uid, told, row) in [
        ("1", true, [1, 0, 0]),
        ("2", true, [2, 0, 0]),
        ("3", false, [0, 1, 0]),
        ("4", false, [0, 2, 0]),
    ] {
        bound(&mut table, uid, told, 1);
        assert_eq!(in_a_row(&table), row, "{uid}");
    }
    bound(&mut table, "5", true, 2);
    assert_eq!(in_a_row(&table), [1, 0, 0], "one that is told ends the row");

    // A notice and asked again; a notice and never bound.
    let pod = Pod::bound("q", "a", 1);
    for seconds in [3, 4] {
        place(&mut table, "6", &pod, at(seconds));
        assert!(table.notice("6", "a", at(seconds)));
    }
    assert_eq!(in_a_row(&table), [0, 0, 1]);
    table.advance(at(20));
    assert_eq!(in_a_row(&table), [0, 0, 2]);
    // A deleted Pod was never to be bound, and a Pod without a notice was never chosen for.
    for (uid, told) in [("7", true), ("8", false)] {
        place(&mut table, uid, &Pod::bound("r", "a", 1), at(21));
        assert!(!told || table.notice(uid, "a", at(21)));
        table.remove_pod(uid, at(22));
    }
    place(&mut table, "9", &Pod::bound("s", "a", 1), at(23));
    table.advance(at(60));
    let choices = *table.choices();
    assert_eq!(ChoiceEnd::ALL.map(|end| choices.times(end)), [3, 2, 2]);
    let last = [2, 1, 20].map(|seconds| Some(at(seconds)));
    assert_eq!(ChoiceEnd::ALL.map(|end| choices.last(end)), last);
    // A binding seen again is no choice.
    table.apply_pod("5", &Pod::bound("p", "b", 1).facts(), at(61));
    assert_eq!(table.choices().times(ChoiceEnd::Told), 3);
}

#[test]
fn a_request_that_read_its_time_before_a_choice_does_not_end_it() {
    let mut table = table();
    place(&mut table, "1", &Pod::bound("p", "a", 300), at(10));
    table.apply_sample(sample(8, &[("a", 100)], &[]), at(9));
    table.advance(at(9));
    assert_eq!(load(&table, "a"), 400);
}

#[test]
fn a_nominated_pod_counts_on_its_node_until_it_is_bound_or_the_nomination_goes() {
    let mut table = table();
    let nominated = waiting("p", Some("a"), 300);
    table.wait("1", &nominated.facts(), at(0));
    table.advance(at(10_000));
    assert_eq!(load(&table, "a"), 300, "however long its victims take");

    place(&mut table, "1", &Pod::bound("p", "b", 300), at(10_001));
    assert_eq!(
        (load(&table, "a"), load(&table, "b")),
        (0, 300),
        "counted once"
    );
    ask_again(&mut table, "1", at(10_002));
    assert_eq!((load(&table, "a"), load(&table, "b")), (300, 0));
    table.wait("1", &waiting("p", Some("b"), 300).facts(), at(10_003));
    assert_eq!((load(&table, "a"), load(&table, "b")), (0, 300));
    table.wait("1", &waiting("p", None, 300).facts(), at(10_004));
    assert_eq!(load(&table, "b"), 0);

    table.wait("1", &nominated.facts(), at(10_005));
    table.apply_pod("1", &Pod::bound("p", "b", 300).facts(), at(10_006));
    assert_eq!((load(&table, "a"), load(&table, "b")), (0, 300));
    table.wait("1", &nominated.facts(), at(10_007));
    assert_eq!(load(&table, "a"), 0, "an event that was late");

    table.wait("2", &waiting("q", Some("a"), 200).facts(), at(10_008));
    table.retain_pods(|uid| uid == "1", at(10_009));
    assert_eq!(load(&table, "a"), 0, "deleted while nobody watched");
}

#[test]
fn the_doubt_of_a_cluster_whose_nodes_change_is_given_up_and_never_put_on_another_node() {
    let mut table = table();
    table.apply_node("c", node(1000), at(0));
    let before = near(&table, &["c"]);
    place_near(
        &mut table,
        "1",
        &Pod::bound("p", "a", 300),
        before.clone(),
        at(0),
    );
    assert_eq!(possible(&table, "c"), 300);
    table.remove_node("b");
    assert!(!table.nodes().is_in_doubt());
    place_near(&mut table, "2", &Pod::bound("q", "a", 300), before, at(1));
    assert!(!table.nodes().is_in_doubt(), "c stands where b stood");
    let now = near(&table, &["c"]);
    place_near(&mut table, "3", &Pod::bound("r", "a", 100), now, at(1));
    ask_again(&mut table, "1", at(2));
    assert_eq!(
        possible(&table, "c"),
        100,
        "what was given up is not taken off"
    );
}

#[test]
fn a_notice_needs_a_pod_that_was_seen_or_asked_about() {
    let mut table = table();
    assert!(
        !table.notice("1", "a", at(0)),
        "nobody knows what it demands"
    );
    table.wait("1", &waiting("p", None, 300).facts(), at(0));
    assert!(!table.notice("1", "gone", at(0)));
    assert!(
        table.notice("1", "a", at(0)),
        "another replica was asked about it"
    );
    assert_eq!(load(&table, "a"), 300);
}

#[test]
fn a_pod_that_the_watch_never_shows_is_forgotten() {
    let mut table = table();
    place(&mut table, "1", &Pod::bound("p", "a", 300), at(0));
    table.advance(at(10));
    assert!(!table.notice("1", "a", at(10)));
    table.wait("2", &waiting("q", None, 300).facts(), at(10));
    table.advance(at(100_000));
    assert!(table.notice("2", "a", at(100_000)), "it may wait for long");
}

/// A Pod of the group `gang`.
fn of_gang(pod: &Pod) -> BoundPod<'_> {
    BoundPod {
        group: Some("gang"),
        ..pod.facts()
    }
}

/// kube-scheduler tries a group on one set of nodes after another, and keeps at most one trial.
#[test]
fn trials_of_a_group_leave_no_phantom() {
    let mut table = table();
    let pods: Vec<Pod> = (0..100)
        .map(|index| waiting(&format!("p{index}"), None, 1 + index))
        .collect();
    let total: u64 = (1..=100).sum();
    // `refused` Pods at the head of the group get no node.
    let trial = |table: &mut NodeTable, node: &str, refused: usize, second: i64| {
        for (index, pod) in pods.iter().enumerate() {
            table.ask_first(&index.to_string(), &of_gang(pod), at(second));
            if index == 0 {
                let loads = ["a", "b"].map(|node| load(table, node));
                assert_eq!(loads, [0, 0], "the trial before is dropped as a whole");
            }
            if index >= refused {
                // kube-scheduler asks again for scores.
                table.ask(&index.to_string(), &of_gang(pod), at(second));
                let near = near(table, &[if node == "a" { "b" } else { "a" }]);
                table.place(&index.to_string(), node, near, at(second));
            }
        }
    };
    trial(&mut table, "a", 2, 0);
    let placed = total - 1 - 2;
    assert_eq!((load(&table, "a"), possible(&table, "b")), (placed, placed));
    trial(&mut table, "b", 0, 1);
    assert_eq!((load(&table, "a"), load(&table, "b")), (0, total));
    assert_eq!((possible(&table, "a"), possible(&table, "b")), (total, 0));
    // The second trial is kept.
    for index in 0..pods.len() {
        assert!(table.notice(&index.to_string(), "b", at(1)));
    }
    assert_eq!((load(&table, "a"), load(&table, "b")), (0, total));
    assert!(!table.nodes().is_in_doubt());
    for (index, pod) in pods.iter().enumerate() {
        let bound = BoundPod {
            node: Some("b"),
            ..pod.facts()
        };
        table.apply_pod(&index.to_string(), &bound, at(2));
    }
    assert_eq!((load(&table, "a"), load(&table, "b")), (0, total));
}

/// Others keep their guesses, and volumes that are still to be made keep none of a group.
#[test]
fn an_abandoned_group_is_gone_soon_after_the_last_question() {
    let mut table = table();
    table.wait("told", &waiting("told", None, 0).facts(), at(0));
    assert!(table.notice("told", "a", at(0)), "notices have been coming");
    let pods = ["p", "q"].map(|name| waiting(name, None, 10));
    let claiming = |pod| BoundPod {
        provisions: true,
        ..of_gang(pod)
    };
    for (uid, (pod, second)) in pods.iter().zip([0, 8]).enumerate() {
        table.ask_first(&uid.to_string(), &claiming(pod), at(second));
        table.place(&uid.to_string(), "a", NearTies::default(), at(second));
        table.advance(at(second));
    }
    table.advance(at(17));
    assert_eq!(load(&table, "a"), 20, "the first one waits for the last");
    let other = waiting("other", None, 5);
    table.ask_first("2", &other.facts(), at(17));
    table.place("2", "a", NearTies::default(), at(17));
    table.advance(at(18));
    assert_eq!(load(&table, "a"), 5, "the group was abandoned");
    table.ask_first("0", &claiming(&pods[0]), at(18));
    assert_eq!(load(&table, "a"), 5);
}

/// kube-scheduler tries a group without room again and again, and asks about other Pods in between.
#[test]
fn a_group_that_is_tried_in_vain_takes_no_room_from_others() {
    let mut table = table();
    table.wait("told", &waiting("told", None, 0).facts(), at(0));
    assert!(table.notice("told", "a", at(0)), "notices have been coming");
    let pods = ["p", "q", "r"].map(|name| waiting(name, None, 10));
    for (uid, pod) in pods.iter().enumerate() {
        table.wait(&uid.to_string(), &of_gang(pod), at(0));
    }
    let trial = |table: &mut NodeTable, placed: usize, second: i64| {
        for (uid, pod) in pods.iter().enumerate().take(placed + 1) {
            table.ask_first(&uid.to_string(), &of_gang(pod), at(second));
            if uid < placed {
                table.place(&uid.to_string(), "a", NearTies::default(), at(second));
            }
        }
    };
    let other = |table: &mut NodeTable, second: i64| {
        table.ask_first("other", &waiting("other", None, 5).facts(), at(second));
        table.advance(at(second));
        load(table, "a")
    };
    // The third Pod is refused, also in the first trial.
    for second in [0, 1] {
        trial(&mut table, 2, second);
        assert_eq!(load(&table, "a"), 20, "during the trial");
        assert_eq!(other(&mut table, second), 0);
    }
    // kube-scheduler may have given the trial up for a reason of its own.
    for second in [20, 30] {
        trial(&mut table, 3, second);
        assert_eq!(other(&mut table, second), 30, "notices may be on their way");
    }
    assert_eq!(other(&mut table, 32), 0, "none came after several trials");
    // There is room now, and the notices come after a question about another Pod.
    trial(&mut table, 3, 50);
    for uid in ["0", "1", "2"] {
        assert_eq!(other(&mut table, 50), 30);
        assert!(table.notice(uid, "a", at(50)));
    }
    assert_eq!(
        other(&mut table, 55),
        30,
        "what kube-scheduler keeps counts"
    );
}

/// kube-scheduler may place a group without its last Pod. Its first notice shows that.
#[test]
fn a_group_that_is_placed_without_its_last_pod_keeps_its_guesses() {
    for (is_noticed, expected) in [(true, 20), (false, 0)] {
        let mut table = table();
        let pods = ["p", "q", "r"].map(|name| waiting(name, None, 10));
        for (uid, pod) in pods.iter().enumerate() {
            table.ask_first(&uid.to_string(), &of_gang(pod), at(0));
            if uid < 2 {
                table.place(&uid.to_string(), "a", NearTies::default(), at(0));
            }
        }
        if is_noticed {
            assert!(table.notice("0", "a", at(0)));
        }
        table.ask_first("other", &waiting("other", None, 5).facts(), at(0));
        assert_eq!(load(&table, "a"), expected);
    }
}
