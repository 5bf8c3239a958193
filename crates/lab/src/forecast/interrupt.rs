//! Ctrl-C during work with a useful result so far: the caller stops early and keeps that result.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use evenkeel_terminal::output::CliFailure;

/// Tells whether Ctrl-C was pressed.
#[derive(Debug, Clone)]
pub(super) struct Interrupt {
    pressed: Arc<AtomicBool>,
}

impl Interrupt {
    /// Listens from now on: Ctrl-C ends the program no more.
    pub(super) fn listen() -> Result<Self, CliFailure> {
        let pressed = Arc::new(AtomicBool::new(false));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()?;
        let told = Arc::clone(&pressed);
        std::thread::Builder::new()
            .name("interrupt".to_owned())
            .spawn(move || {
                // Where no signal can be heard, Ctrl-C keeps its usual meaning.
                if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
                    told.store(true, Ordering::Relaxed);
                }
            })?;
        Ok(Self { pressed })
    }

    pub(super) fn is_pressed(&self) -> bool {
        self.pressed.load(Ordering::Relaxed)
    }
}
