//! Percentiles, which criterion does not tell: a budget speaks of the slowest call in a hundred.
//!
//! Of processor time beside wall time, since on a machine that does other things too the slowest
//! calls are those that had to wait for a core.

#![allow(clippy::print_stdout)] // a measurement's result is what it prints

use std::time::Duration;

use evenkeel_clock as clock;

/// Calls that warm up caches and the allocator first.
const WARM_UP: usize = 200;

/// Runs `call` so many times, and prints the percentiles of what each took.
pub(crate) fn report(name: &str, calls: usize, mut call: impl FnMut(usize)) {
    let warm_up = WARM_UP.min(calls);
    for number in 0..warm_up {
        call(number);
    }
    let (mut wall, mut cpu) = (Vec::with_capacity(calls), Vec::with_capacity(calls));
    for number in warm_up..warm_up + calls {
        let (started, used) = (clock::instant(), clock::thread_time());
        call(number);
        cpu.push(clock::thread_time().saturating_sub(used));
        wall.push(clock::instant().duration_since(started));
    }
    println!("{name}, {calls} calls");
    println!("    wall       {}", percentiles(wall));
    println!("    processor  {}", percentiles(cpu));
}

fn percentiles(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |per_mille: usize| times[(times.len() * per_mille / 1000).min(times.len() - 1)];
    format!(
        "median {:?}  p90 {:?}  p99 {:?}  p99.9 {:?}",
        at(500),
        at(900),
        at(990),
        at(999)
    )
}
