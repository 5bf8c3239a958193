//! A line on the terminal that says how much of a long piece of work is done.

use std::io::{IsTerminal as _, Write as _};

use evenkeel_terminal::output;

/// A bar on standard error, where that is a terminal.
pub(crate) struct Bar {
    shown: bool,
    last: i32,
}

impl Bar {
    /// A bar that is drawn if the work is `long` and standard error is a terminal.
    pub(crate) fn new(long: bool) -> Self {
        Self {
            shown: long && std::io::stderr().is_terminal(),
            last: -1,
        }
    }

    /// Tells the share that is done, and what is being done.
    pub(crate) fn tell(&mut self, share: f64, what: &str) {
        let done = evenkeel_units::replicas_ceil(share * 50.0);
        if !self.shown || done == self.last {
            return;
        }
        self.last = done;
        let done = usize::try_from(done).unwrap_or(0).min(50);
        let bar = "█".repeat(done) + &"░".repeat(50 - done);
        // If standard error is closed, the bar cannot be shown anywhere.
        let share = output::percent(share);
        let _ = write!(std::io::stderr(), "\r{bar} {share} {what}\u{1b}[K");
    }

    pub(crate) fn finish(&mut self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\u{1b}[K");
            self.shown = false;
        }
    }
}
