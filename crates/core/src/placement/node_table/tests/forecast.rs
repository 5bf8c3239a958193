//! Trends of residents: a ramp is foreseen, and placement is no trend.

use super::*;

fn ahead() -> NodeTable {
    let mut table = NodeTable::new(Settings {
        forecast: NodeForecasting::On,
        ..Settings::default()
    });
    table.apply_node("a", node(1000), at(0));
    table.apply_node("b", node(1000), at(0));
    table
}

fn minute(minute: u32) -> i64 {
    i64::from(minute) * 60
}

fn ramp(minute: u32) -> u64 {
    u64::from(minute) * 10
}

fn ramped(minutes: u32) -> NodeTable {
    let mut table = ahead();
    for now in 0..minutes {
        let second = minute(now);
        table.apply_sample(sample(second, &[("a", ramp(now))], &[]), at(second));
    }
    table
}

fn rise(table: &NodeTable, name: &str) -> Option<u64> {
    let node = table.nodes().get(name).unwrap();
    node.rise[Resource::Cpu].map(Amount::get)
}

#[test]
fn a_ramp_is_foreseen_once_it_is_trusted_and_up_to_the_capacity() {
    assert_eq!(rise(&ramped(20), "a"), None);
    let table = ramped(60);
    let found = rise(&table, "a").unwrap();
    assert!((95..=105).contains(&found), "{found}");
    assert_eq!(rise(&table, "b"), None, "it is not measured");
    let state = table.nodes().get("a").unwrap();
    let foreseen = state.ahead().load[Resource::Cpu];
    assert_eq!(foreseen.get(), 590 + found);
    assert_eq!(state.load.load[Resource::Cpu].get(), 590);
    assert_eq!(rise(&ramped(97), "a"), Some(40), "970 of 1,000 are used");
}

#[test]
fn what_is_stale_is_not_foreseen_and_neither_is_a_node_made_anew() {
    let mut table = ramped(60);
    table.advance(at(minute(59) + 181));
    assert_eq!(rise(&table, "a"), None);
    let mut table = ramped(60);
    let anew = NodeFacts {
        created: Some(at(minute(60))),
        ..node(1000)
    };
    table.apply_node("a", anew, at(minute(60)));
    let second = minute(61);
    table.apply_sample(sample(second, &[("a", 610)], &[]), at(second));
    assert_eq!(rise(&table, "a"), None);
}

/// A node with ramping residents, and a Pod of 300 from minute 40 to 50, in samples over a minute.
fn visited(is_shown: bool) -> NodeTable {
    let mut table = ahead();
    let name = PodName::new("default", "guest");
    let facts = BoundPod {
        started: Some(at(minute(40))),
        first_started: Some(at(minute(40))),
        ..BoundPod::on(&name, Some("a"), cpu(300))
    };
    for now in 0..60 {
        let second = minute(now);
        let guest: u64 = if (41..51).contains(&now) { 300 } else { 0 };
        let shown = [("guest", 300)];
        let shown = if guest > 0 && is_shown {
            &shown[..]
        } else {
            &[]
        };
        let round = sample(second, &[("a", ramp(now) + guest)], shown);
        table.apply_sample(round, at(second));
        match now {
            40 => table.apply_pod("guest", &facts, at(second)),
            50 => table.remove_pod("guest", at(second)),
            _ => {}
        }
    }
    table
}

#[test]
fn a_pod_that_comes_and_goes_is_no_trend() {
    let alone = rise(&ramped(60), "a").unwrap();
    let beside = rise(&visited(true), "a").unwrap();
    assert!(alone.abs_diff(beside) <= 1, "{alone} {beside}");
    // Without a sample of its usage, the slope before it stays.
    let unknown = rise(&visited(false), "a").unwrap();
    assert!(alone.abs_diff(unknown) <= 15, "{alone} {unknown}");
}

proptest! {
    #[test]
    fn looking_ahead_never_lowers_a_load_and_changes_no_other_figure(
        loads in prop::collection::vec(0_u64..1200, 40..120),
        slope in 0_u64..15,
        guests in prop::collection::vec((0_usize..120, 1_usize..30, 1_u64..300), 0..6),
    ) {
        let (mut on, mut off) = (ahead(), table());
        for (now, noise) in loads.iter().enumerate() {
            let second = i64::try_from(now * 60).unwrap();
            let load = slope * u64::try_from(now).unwrap() + noise / 20;
            for table in [&mut on, &mut off] {
                table.apply_sample(sample(second, &[("a", load)], &[]), at(second));
                for (number, (from, long, demand)) in guests.iter().enumerate() {
                    let uid = number.to_string();
                    let name = PodName::new("default", &uid);
                    if *from == now {
                        let facts = BoundPod::on(&name, Some("a"), cpu(*demand));
                        table.apply_pod(&uid, &facts, at(second));
                    } else if from + long == now {
                        table.remove_pod(&uid, at(second));
                    }
                }
            }
            for (with, without) in on.nodes().iter().zip(off.nodes().iter()) {
                let mut same = with.clone();
                same.rise = Resources::default();
                prop_assert_eq!(&same, without);
                prop_assert_eq!(*without.ahead(), without.load);
                for resource in Resource::ALL {
                    let (n, foreseen) = (with.load.load[resource], with.ahead().load[resource]);
                    let most = with.load.capacity[resource].unwrap_or_default().max(n);
                    prop_assert!(n <= foreseen && foreseen <= most);
                }
            }
        }
    }
}
