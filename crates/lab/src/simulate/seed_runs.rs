//! Runs on all cores, with a bar that shows how far they are.

use std::sync::Mutex;

use evenkeel_sandbox::parallel::{cores, in_parallel};
use evenkeel_units::count_as_f64;

use crate::forecast::progress::Bar;

/// Does all jobs on all cores, and shows how far it is.
pub(super) fn in_parallel_with_bar<J: Sync, T: Send>(
    jobs: &[J],
    work: impl Fn(&J) -> T + Sync,
) -> Vec<T> {
    let bar = Mutex::new(Bar::new(true));
    let all = count_as_f64(jobs.len());
    let told = |done: usize| {
        // A bar that panicked is shown no more.
        if let Ok(mut bar) = bar.lock() {
            bar.tell(count_as_f64(done) / all, "");
        }
    };
    let done = in_parallel(cores(), jobs, work, told);
    if let Ok(mut bar) = bar.lock() {
        bar.finish();
    }
    done
}
