//! Percentiles, which criterion does not tell: a budget speaks of the slowest call in a hundred.

#![allow(clippy::print_stdout)] // a measurement's result is what it prints

use std::time::Duration;

use evenkeel::clock;

/// Calls that warm up caches and the allocator first.
const WARM_UP: usize = 200;

/// Runs `call` so many times, and prints the percentiles of what each took.
pub fn report(name: &str, calls: usize, mut call: impl FnMut(usize)) {
    let warm_up = WARM_UP.min(calls);
    for number in 0..warm_up {
        call(number);
    }
    let mut times: Vec<Duration> = (warm_up..warm_up + calls)
        .map(|number| {
            let started = clock::instant();
            call(number);
            clock::instant().duration_since(started)
        })
        .collect();
    times.sort_unstable();
    let at = |per_mille: usize| times[(times.len() * per_mille / 1000).min(times.len() - 1)];
    let mean = times.iter().sum::<Duration>() / u32::try_from(calls).unwrap_or(u32::MAX);
    println!(
        "{name}: median {:?}  p90 {:?}  p99 {:?}  p99.9 {:?}  mean {mean:?}  ({calls} calls)",
        at(500),
        at(900),
        at(990),
        at(999),
    );
}
