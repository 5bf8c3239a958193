//! `ahp`: weights, consistency, and what is refused.

use super::{evenkeel, evenkeel_with_input};

#[test]
fn ahp_prints_what_the_library_computes() {
    let report = evenkeel(&["ahp", "--profile", "compute", "-o", "json"]).json();
    for (row, published) in [0.464_261_493_364_601_26, 0.263_823_761_307_864_06]
        .iter()
        .enumerate()
    {
        let weight = report["rows"][row]["weight"].as_f64().expect("a number");
        assert!((weight - published).abs() < 1e-12, "{weight} {published}");
    }
    let ratio = report["consistencyRatio"].as_f64().expect("a number");
    assert!((ratio - 0.038_002_141_185_574_08).abs() < 1e-12, "{ratio}");
    assert_eq!(report["accepted"], true);
    let table = evenkeel(&["ahp", "-m", "1 4; 1/4 1", "--names", "cpu,memory"]);
    assert_eq!(table.code, 0, "{}", table.stderr);
    for part in [
        "memory",
        "1/4",
        "0.8000",
        "CR 0.0000",
        "judgements are consistent",
    ] {
        assert!(table.stdout.contains(part), "{part}: {}", table.stdout);
    }
    let piped = evenkeel_with_input(&["ahp", "-f", "-", "-o", "yaml"], "1, 4\n1/4, 1\n");
    assert!(piped.stdout.contains("weight: 0.8"), "{}", piped.stdout);
}

#[test]
fn contradicting_judgements_are_a_failure_and_malformed_ones_a_wrong_call() {
    let circle = evenkeel(&["ahp", "-m", "1 9 1/9; 1/9 1 9; 9 1/9 1"]);
    circle.is_refused(1, &["contradict each other", "below 0.1"]);
    assert!(
        circle.stdout.contains("CR"),
        "the figures are shown all the same"
    );
    for (arguments, parts) in [
        (&["ahp"][..], &["--profile"][..]),
        (&["ahp", "-p", "fast"], &["compute, memory, io, network"]),
        (&["ahp", "-p", "normal"], &["fixed weights"]),
        (
            &["ahp", "-m", "1 2; 1/2 x"],
            &["--matrix: row 2", "\"x\"", "1/3"],
        ),
        (&["ahp", "-m", "1 2"], &["must be square"]),
        (&["ahp", "-m", "1 2; 1/2 1", "--names", "a"], &["2 rows"]),
        (
            &["ahp", "-m", "1 2; 1/2 1", "--random-index", "mine"],
            &["thesis, saaty"],
        ),
        (&["ahp", "-f", "nowhere"], &["cannot read nowhere"]),
    ] {
        evenkeel(arguments).is_refused(2, parts);
    }
}
