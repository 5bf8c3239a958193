//! `bench`: that it counts, not how fast anything is.

use super::certificates::generated;
use super::{PROXY, evenkeel};

#[test]
fn bench_drives_the_services_own_router() {
    for what in ["admission", "filter", "prioritize"] {
        let report = evenkeel(&[
            "bench",
            what,
            "--rate",
            "50",
            "--duration",
            "200ms",
            "--warm-up",
            "50ms",
            "--connections",
            "2",
            "--nodes",
            "20",
            "-o",
            "json",
        ])
        .json();
        let due = |field: &str| report[field].as_u64().expect("a number");
        assert_eq!(due("answered") + due("unsent"), 10, "{report}");
        assert_eq!(report["failed"], 0);
        let latency = |name: &str| {
            report["latencyMicroseconds"][name]
                .as_u64()
                .expect("a number")
        };
        assert!(
            0 < latency("p50")
                && latency("p50") <= latency("p99")
                && latency("p99") <= latency("max"),
            "{report}"
        );
        let processor = report["processorMicroseconds"].as_f64();
        assert!(processor.expect("a number") > 0.0, "{report}");
    }
}

#[test]
fn bench_refuses_what_it_cannot_call() {
    for (arguments, code, parts) in [
        (&["bench"][..], 2, &["<WHAT>"][..]),
        (&["bench", "admission", "--rate", "0"], 2, &["--rate"]),
        (
            &["bench", "admission", "--url", "https://127.0.0.1:1"],
            2,
            &["--ca"],
        ),
        (
            &[
                "bench",
                "admission",
                "--url",
                "http://127.0.0.1:1",
                "--ca",
                PROXY,
            ],
            2,
            &["https://127.0.0.1:8443"],
        ),
        (
            &[
                "bench",
                "admission",
                "--url",
                "https://127.0.0.1:1",
                "--ca",
                PROXY,
            ],
            2,
            &["holds no certificate"],
        ),
        (
            &["bench", "admission", "--duration=-1s"],
            2,
            &["--duration"],
        ),
    ] {
        evenkeel(arguments).is_refused(code, parts);
    }
    let (_guard, dir) = generated();
    let ca = format!("{dir}/ca.crt");
    evenkeel(&[
        "bench",
        "admission",
        "--url",
        "https://127.0.0.1:1",
        "--ca",
        &ca,
    ])
    .is_refused(1, &["cannot connect to 127.0.0.1:1"]);
}
