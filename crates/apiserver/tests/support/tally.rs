//! The count of conformance cases, printed once all of a side have ended.

use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Cases of the server in memory, or of a real control plane.
pub(crate) struct Tally {
    side: &'static str,
    cases: usize,
    ended: AtomicUsize,
    passed: AtomicUsize,
}

/// A running case; it passes if it ends without a panic.
pub(crate) struct Case<'a>(&'a Tally);

impl Tally {
    pub(crate) const fn new(side: &'static str, cases: usize) -> Self {
        Self {
            side,
            cases,
            ended: AtomicUsize::new(0),
            passed: AtomicUsize::new(0),
        }
    }

    pub(crate) const fn begin(&self) -> Case<'_> {
        Case(self)
    }
}

impl Drop for Case<'_> {
    fn drop(&mut self) {
        let Tally {
            side,
            cases,
            ended,
            passed,
        } = self.0;
        if !std::thread::panicking() {
            passed.fetch_add(1, Ordering::SeqCst);
        }
        if ended.fetch_add(1, Ordering::SeqCst) + 1 == *cases {
            let passed = passed.load(Ordering::SeqCst);
            let line = format!("conformance: {passed} of {cases} cases pass on {side}\n");
            // Bypasses the test runner, which swallows what tests print.
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    }
}
