//! Weights with losses that can be computed by hand.

use super::*;

/// Losses one step ahead of members that err by so much each time.
fn after(steps: usize, errors: [f64; 3]) -> Losses {
    let mut losses = Losses::new(1, 3);
    for _ in 0..steps {
        losses.issue(errors.into_iter().map(|error| Some(10.0 + error)));
        losses.score(10.0);
    }
    losses
}

fn mean(losses: &Losses, told: [Option<f64>; 3]) -> Option<f64> {
    losses.mean(&told.into_iter())
}

#[test]
fn members_count_by_their_losses_of_late() {
    let told = [Some(1.0), Some(2.0), Some(4.0)];
    let close = |losses: &Losses, expected: f64| {
        let found = mean(losses, told).unwrap();
        assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
    };
    close(&after(0, [0.0; 3]), 7.0 / 3.0);
    close(&after(5, [2.0; 3]), 7.0 / 3.0);
    // 5 % worse than the best one, and far worse.
    let weight = (-ETA * 0.05_f64).exp();
    close(
        &after(5, [1.0, 1.05, 9.0]),
        (1.0 + 2.0 * weight) / (1.0 + weight),
    );
    // Members without any error share the whole weight.
    close(&after(5, [0.0, 0.0, 0.1]), 1.5);
    close(&after(5, [9.0, 1.0, 0.0]), 4.0);
    let shares: Vec<f64> = after(5, [0.0, 0.0, 0.1]).shares().collect();
    assert_eq!(shares, [0.5, 0.5, 0.0]);
}

#[test]
fn what_was_long_ago_is_forgotten() {
    let mut losses = after(300, [0.1, 5.0, 5.0]);
    for _ in 0..3000 {
        losses.issue([9.0, 1.0, 9.0].map(|error| Some(10.0 + error)).into_iter());
        losses.score(10.0);
    }
    let found = mean(&losses, [Some(1.0), Some(2.0), Some(4.0)]).unwrap();
    assert!((found - 2.0).abs() < 1e-3, "{found}");
}

#[test]
fn who_says_nothing_counts_nothing() {
    let losses = after(5, [1.0, 2.0, 3.0]);
    assert_eq!(mean(&losses, [None, None, Some(4.0)]), Some(4.0));
    assert_eq!(mean(&losses, [None; 3]), None);
    let mut silent = Losses::new(2, 3);
    for _ in 0..5 {
        silent.score(10.0);
        silent.issue([None, Some(10.0), Some(11.0)].into_iter());
    }
    let shares: Vec<f64> = silent.shares().collect();
    assert_eq!(shares, [0.0, 1.0, 0.0]);
    // A member without a score gets no weight beside members with one.
    assert_eq!(mean(&silent, [Some(1.0), Some(2.0), Some(3.0)]), Some(2.0));
}

#[test]
fn a_forecast_is_compared_with_what_comes_that_many_steps_later() {
    let mut losses = Losses::new(3, 1);
    for now in 0..10_u8 {
        losses.score(f64::from(now));
        losses.issue([Some(f64::from(now))].into_iter());
    }
    assert!((losses.by_member[0].mean - 3.0).abs() < 1e-12);
    losses.restart();
    losses.score(100.0);
    assert!(
        (losses.by_member[0].mean - 3.0).abs() < 1e-12,
        "nothing waits"
    );
}

#[test]
fn loads_of_any_size_have_a_mean() {
    let mut losses = after(5, [0.0; 3]);
    losses.issue([f64::MAX, 1.0, 0.0].map(Some).into_iter());
    losses.score(-f64::MAX);
    let found = mean(&losses, [Some(f64::MAX), Some(f64::MAX), Some(0.0)]).unwrap();
    assert!(found.is_finite(), "{found}");
}
