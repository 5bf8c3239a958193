//! The picture as text: what stands in `tests/fixtures/dev` is what a terminal shows.

use std::path::PathBuf;
use std::sync::Arc;

use evenkeel_objects::pod_name::PodName;
use evenkeel_sandbox::engine::loads::{NodeLoads, WorkloadLoad};
use evenkeel_scaling::status::dashboard::ScalingStatus;
use evenkeel_service::api::scaling::sample;
use evenkeel_units::Resources;
use jiff::SignedDuration;

use super::*;
use crate::dev::cluster::events::{DevEvent, DevServiceNotice, PlainReplicas, TimedEvent};
use crate::dev::show::ClusterStartSummary;

fn model(faults: &[&str]) -> Model {
    Model::new(ClusterStartSummary {
        scenario: "mixed".to_owned(),
        seed: 1,
        speed: 60.0,
        line: 0.8,
        faults: faults.iter().map(ToString::to_string).collect(),
        kubeconfig: PathBuf::from("/tmp/evenkeel-dev-AbCdEf/kubeconfig"),
        dashboard: ([127, 0, 0, 1], 8081).into(),
        prometheus: ([127, 0, 0, 1], 9090).into(),
        metrics: ([127, 0, 0, 1], 8080).into(),
    })
}

fn node(name: &str, pods: usize, shares: [f64; 5]) -> NodeLoads {
    NodeLoads {
        name: name.to_owned(),
        ready: true,
        pods,
        utilisation: Resources::new(shares),
    }
}

fn workload(namespace: &str, name: &str, of: (u32, u32), offered: f64, lost: f64) -> WorkloadLoad {
    WorkloadLoad {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        ready: of.0,
        replicas: of.1,
        offered,
        lost,
    }
}

fn take(model: &mut Model, seconds: i64, event: DevEvent) {
    let at = SignedDuration::from_secs(seconds);
    model.at = at;
    model.take(&TimedEvent { at, event });
}

fn loads(model: &mut Model, seconds: i64, nodes: Vec<NodeLoads>, workloads: Vec<WorkloadLoad>) {
    take(model, seconds, DevEvent::Loads { nodes, workloads });
}

fn placed(pod: &str, node: &str, profile: &str, score: Option<i64>) -> DevEvent {
    DevEvent::PodPlaced {
        pod: PodName::new("shop", pod),
        node: node.to_owned(),
        profile: Some(profile.to_owned()),
        score,
        why: "most even: network 43 % here, 61 % elsewhere".to_owned(),
    }
}

fn state(model: &mut Model, state: &str) {
    let state = state.to_owned();
    take(model, 0, DevEvent::ServiceState { state });
}

/// Rows without the blanks at their ends; then what is in alarm.
fn text(canvas: &Canvas) -> String {
    let line = |cells: &[(char, Tone)]| -> String {
        let line: String = cells.iter().map(|(character, _)| character).collect();
        line.trim_end().to_owned() + "\n"
    };
    let mut text: String = canvas.rows().iter().map(|row| line(row)).collect();
    text.push_str("--- in red ---\n");
    for (number, row) in canvas.rows().iter().enumerate() {
        for run in row.chunk_by(|(_, a), (_, b)| a == b) {
            if run.first().is_some_and(|(_, tone)| *tone == Tone::Alarm) {
                text += &number.to_string();
                text += ": ";
                text += &line(run);
            }
        }
    }
    text
}

fn is_shown(model: &Model, expected: &str) {
    is_shown_at(model, WIDTH, HEIGHT, expected);
}

fn is_shown_at(model: &Model, width: usize, height: usize, expected: &str) {
    let canvas = render(model, width, height);
    assert_eq!((canvas.width(), canvas.height()), (width, height));
    let shown = text(&canvas);
    assert!(
        shown == expected,
        "shown is\n{shown}\nand not\n{expected}<end>"
    );
}

#[test]
fn a_node_that_is_over_full_stands_out() {
    let mut model = model(&[]);
    state(&mut model, "ready");
    let nodes = vec![
        node("large-1", 12, [0.34, 0.41, 0.12, 0.05, 0.0]),
        node("medium-1", 9, [0.79, 0.80, 0.81, 1.24, 12.0]),
    ];
    for (minute, offered) in [(0, 0.0), (2, 120.0), (4, 480.0), (6, 900.0)] {
        let workloads = vec![
            workload("media", "encode", (4, 4), 0.0, 0.0),
            workload("shop", "web", (3, 5), offered, offered / 10.0),
        ];
        loads(&mut model, minute * 60, nodes.clone(), workloads);
    }
    take(
        &mut model,
        361,
        placed("web-0", "large-1", "network", Some(9)),
    );
    let refused = DevEvent::PodRefused {
        pod: PodName::new("shop", "web-1"),
        message: "0/2 nodes are available: 2 evenkeel: no headroom.".to_owned(),
    };
    take(&mut model, 370, refused.clone());
    take(&mut model, 380, refused);
    let scaled = DevEvent::Scaled {
        namespace: "shop".to_owned(),
        workload: "web".to_owned(),
        from: 3,
        to: 5,
        why: "cpu at 106 % of requests".to_owned(),
    };
    take(&mut model, 390, scaled);
    is_shown(
        &model,
        include_str!("../../../../../tests/fixtures/dev/over-full.txt"),
    );
}

#[test]
fn faults_are_seen_before_during_and_after() {
    let mut model = model(&["hang@10s..20s", "node-loss@60s..2m", "api-restart@5m..6m"]);
    state(&mut model, "not ready");
    let pace = |kept| DevEvent::Pace { asked: 60.0, kept };
    take(&mut model, 50, pace(45.0));
    for (fault, begins) in [
        ("hang@10s..20s", true),
        ("hang@10s..20s", false),
        ("node-loss@60s..2m", true),
    ] {
        let fault = fault.to_owned();
        take(&mut model, 60, DevEvent::Fault { fault, begins });
    }
    let mut lost = node("large-1", 0, [0.0; 5]);
    lost.ready = false;
    loads(
        &mut model,
        61,
        vec![lost, node("large-2", 3, [0.5; 5])],
        Vec::new(),
    );
    model.missed = 7;
    is_shown(
        &model,
        include_str!("../../../../../tests/fixtures/dev/fault.txt"),
    );
}

#[test]
fn long_names_are_cut_and_control_characters_move_nothing() {
    let mut model = model(&[]);
    model.started.scenario = "a scenario with a name that goes on and on ".repeat(3);
    state(&mut model, "ready");
    let name = "ip-10-0-123-45.eu-central-1.compute.internal";
    loads(
        &mut model,
        5,
        vec![node(name, 1110, [0.1; 5])],
        vec![workload(name, name, (100, 1000), 123_456.0, 0.0)],
    );
    take(
        &mut model,
        6,
        placed(name, name, "customer-profile-1", None),
    );
    take(&mut model, 7, placed("\u{1b}[2J漢字", "n", "io", Some(1)));
    is_shown(
        &model,
        include_str!("../../../../../tests/fixtures/dev/long-names.txt"),
    );
}

#[test]
fn of_forty_nodes_the_fullest_are_shown_and_the_others_counted() {
    let mut model = model(&[]);
    state(&mut model, "ready");
    let share = |index: u32| f64::from(index * 7 % 40) / 40.0;
    let mut nodes: Vec<NodeLoads> = (0..40)
        .map(|index| node(&format!("node-{index:02}"), 2, [share(index); 5]))
        .collect();
    nodes[20].ready = false;
    let workloads = (0..9)
        .map(|index| workload("shop", &format!("w{index}"), (1, 1), 0.0, 0.0))
        .collect();
    loads(&mut model, 5, nodes, workloads);
    is_shown(
        &model,
        include_str!("../../../../../tests/fixtures/dev/forty-nodes.txt"),
    );
}

/// A target with a rising load.
fn web() -> ScalingStatus {
    let mut web = sample::status();
    let load = &mut web.loads[0];
    load.now = Some(2140.0);
    load.forecast.as_mut().unwrap().mean = 3310.0;
    web.floor.as_mut().unwrap().replicas = 6;
    web
}

#[test]
fn a_scaled_workload_shows_what_the_service_foresees_and_what_it_does() {
    let mut model = model(&["metrics-down@2m..5m", "hang@10m..11m"]);
    state(&mut model, "ready");
    let workloads = || {
        vec![
            workload("media", "encode", (4, 4), 0.0, 0.0),
            workload("shop", "web", (4, 5), 410.0, 12.0),
        ]
    };
    let nodes = || vec![node("large-1", 9, [0.5, 0.4, 0.79, 0.2, 0.1])];
    for minute in 0..20 {
        loads(&mut model, minute * 120, nodes(), workloads());
    }
    let targets = vec![Arc::new(web())];
    take(&mut model, 2300, DevEvent::Scaling { targets });
    let replicas = vec![PlainReplicas {
        namespace: "shop".to_owned(),
        workload: "web".to_owned(),
        replicas: 4,
    }];
    take(&mut model, 2300, DevEvent::Plain { replicas });
    let said = DevEvent::ServiceEvent {
        regarding: "HorizontalPodAutoscaler shop/web".to_owned(),
        reason: "FloorRaised".to_owned(),
        note: "floor 4 -> 6: forecast 3.3 cores in 60 s against 2.1 now".to_owned(),
        warning: false,
    };
    take(&mut model, 2301, said);
    let fault = "metrics-down@2m..5m".to_owned();
    take(
        &mut model,
        2302,
        DevEvent::Fault {
            fault,
            begins: true,
        },
    );
    let notice = |about, text: &str| DevServiceNotice {
        about,
        text: text.to_owned(),
    };
    let on = vec![
        notice("metrics", "stale 190 s on 6 nodes: placing by requests"),
        notice("watches", "resynced"),
    ];
    take(&mut model, 2303, DevEvent::Notices { on });
    let pod = || PodName::new("shop", "web-5");
    for call in ["webhook", "extender"] {
        take(&mut model, 2304, DevEvent::FailedOpen { call, pod: pod() });
    }
    is_shown(
        &model,
        include_str!("../../../../../tests/fixtures/dev/scaled.txt"),
    );
    is_shown_at(
        &model,
        LEAST_WIDTH + 12,
        LEAST_HEIGHT + 2,
        include_str!("../../../../../tests/fixtures/dev/small.txt"),
    );
}

#[test]
fn every_size_is_drawn_as_it_is_and_one_too_small_says_so() {
    let empty = model(&["hang@10s..20s"]);
    for (width, height) in [(0, 0), (1, 1), (60, 16), (99, 29), (101, 31), (250, 90)] {
        let canvas = render(&empty, width, height);
        assert_eq!((canvas.width(), canvas.height()), (width, height));
        let keys = text(&canvas).contains("q ends");
        assert_eq!(keys, height >= 16, "{width}x{height}");
    }
    let small = text(&render(&empty, 40, 10));
    assert!(
        small.contains("is 40x10") && small.contains("needs 60x16"),
        "{small}"
    );
}
