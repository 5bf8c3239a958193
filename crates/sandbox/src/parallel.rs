//! Work on several cores, with results that do not depend on their number.

use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// One thread a core.
pub fn cores() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Results of `work` in the order of the items, by at most so many threads. Any of these calls
/// `done` with the number of finished items. A panic of `work` continues in the caller.
pub fn in_parallel<T: Sync, R: Send>(
    threads: NonZeroUsize,
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
    done: impl Fn(usize) + Sync,
) -> Vec<R> {
    let (next, finished) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let worker = || {
        let mut results = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else {
                return results;
            };
            results.push((index, work(item)));
            done(finished.fetch_add(1, Ordering::Relaxed) + 1);
        }
    };
    let count = threads.get().min(items.len());
    let mut results: Vec<(usize, R)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..count).map(|_| scope.spawn(worker)).collect();
        let joined = workers.into_iter().map(thread::ScopedJoinHandle::join);
        joined
            .flat_map(|results| results.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    });
    results.sort_unstable_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    #[test]
    fn results_are_in_the_order_of_the_items_on_any_number_of_threads() {
        let items: Vec<u64> = (0..100).collect();
        let squares: Vec<u64> = items.iter().map(|item| item * item).collect();
        for threads in [1, 2, 3, 200] {
            let told = Mutex::new(BTreeSet::new());
            let tell = |count| {
                told.lock().unwrap().insert(count);
            };
            let threads = NonZeroUsize::new(threads).unwrap();
            assert_eq!(
                in_parallel(threads, &items, |item| item * item, tell),
                squares
            );
            assert_eq!(told.into_inner().unwrap(), (1..=100).collect());
        }
        let nothing = in_parallel(cores(), &items[..0], |item| *item, |_| ());
        assert!(nothing.is_empty());
    }

    #[test]
    #[should_panic(expected = "item 7")]
    fn a_panic_is_the_callers() {
        let two = NonZeroUsize::new(2).unwrap();
        let work = |item: &u32| assert_ne!(*item, 7, "item 7");
        in_parallel(two, &[1, 7, 3], work, |_| ());
    }
}
