//! Inputs of loads that can be worked out by hand.

use super::*;
use crate::trees::{MISSING, tree_input};

const MINUTE: i128 = 60_000_000_000;

fn expected(value: f64) -> TreeInput {
    tree_input(value)
}

/// On 5-minute steps, each value computed from its index.
fn load(count: u32, value: impl Fn(f64) -> f64) -> Vec<f64> {
    (0..count).map(|index| value(f64::from(index))).collect()
}

#[test]
fn all_is_relative_to_the_last_value() {
    let values = load(2500, |index| 1000.0 + index);
    let (past, grid) = (GaplessHistory(&values), Grid::new(5 * MINUTE));
    let known = GbdtOriginInputs::at(past, grid, 2000.0).unwrap();
    assert!((known.last - 3499.0).abs() < 1e-9);
    // The mean of the last 48 steps.
    assert!((known.scale - 3475.5).abs() < 1e-9);
    let over = |value: f64| expected(value / 3475.5);
    let inputs = known.towards(past, grid, 12, 2499 * 300);
    for (place, steps) in (0..23).zip(1..) {
        assert_eq!(inputs[place], over(-f64::from(steps)), "{steps} steps ago");
    }
    for (place, steps) in (23..29).zip([3.0, 6.0, 12.0, 36.0, 72.0, 288.0]) {
        assert_eq!(
            inputs[place],
            over(-(steps - 1.0) / 2.0),
            "the mean of {steps}"
        );
    }
    assert_eq!(inputs[29], expected(3499.0 / 2000.0));
    // A day has 288 steps, a week seven times as many; twelve steps ahead lies 276 ago.
    let season = [
        -276.0, 12.0, -288.0, -276.0, -2004.0, 12.0, -2016.0, -2004.0,
    ];
    for (place, value) in (30..38).zip(season) {
        assert_eq!(inputs[place], over(value), "{place}");
    }
    for (place, value) in (38..44).zip([-277.0, -275.0, -1140.0, 12.0, 0.0, -30.0]) {
        assert_eq!(inputs[place], over(value), "{place}");
    }
    // 2,511 steps are 8 days and 207 steps; the epoch was a Thursday, the day 0.
    let share = |steps: f64, of: f64| expected(steps / of);
    assert_eq!(
        inputs[44..],
        [share(207.0, 288.0), expected(1.0), share(3.0, 12.0)]
    );
}

#[test]
fn what_is_not_known_is_missing() {
    let values = load(10, |index| 5.0 + index);
    let (past, grid) = (GaplessHistory(&values), Grid::new(5 * MINUTE));
    let inputs = GbdtOriginInputs::at(past, grid, 10.0)
        .unwrap()
        .towards(past, grid, 1, 0);
    let known: Vec<usize> = (0..INPUTS)
        .filter(|&place| inputs[place] != MISSING)
        .collect();
    let lags_means_and_level = (0..9).chain([23, 24, 29]);
    assert_eq!(
        known,
        lags_means_and_level.chain(44..47).collect::<Vec<_>>()
    );
    // A step of a day has no day, nor an hour.
    let values = load(400, |index| 5.0 + index);
    let (past, grid) = (GaplessHistory(&values), Grid::new(1440 * MINUTE));
    let inputs = GbdtOriginInputs::at(past, grid, 10.0)
        .unwrap()
        .towards(past, grid, 1, 0);
    assert!(inputs[30..34].iter().all(|&input| input == MISSING));
    assert_ne!(inputs[34], MISSING, "but a week");
}

#[test]
fn the_size_of_a_load_changes_nothing_and_no_load_is_nothing() {
    let values = load(2500, |index| 50.0 + (index / 7.0).sin());
    let inputs = |factor: f64| {
        let values: Vec<f64> = values.iter().map(|value| value * factor).collect();
        let (past, grid) = (GaplessHistory(&values), Grid::new(5 * MINUTE));
        let known = GbdtOriginInputs::at(past, grid, 50.0 * factor).unwrap();
        known.towards(past, grid, 4, 0)
    };
    // A power of two keeps all digits.
    assert_eq!(inputs(1.0), inputs(2.0_f64.powi(200)));
    assert_eq!(inputs(1.0), inputs(2.0_f64.powi(-200)));
    let grid = Grid::new(MINUTE);
    assert_eq!(GbdtOriginInputs::at(GaplessHistory(&[]), grid, 1.0), None);
    assert_eq!(
        GbdtOriginInputs::at(GaplessHistory(&[0.0; 300]), grid, 1.0),
        None
    );
    assert_eq!(
        GbdtOriginInputs::at(GaplessHistory(&[f64::MAX; 300]), grid, 1.0),
        None
    );
}
