//! The kill switch: whether anything may be written at all.
//!
//! It is one atomic that every writer reads right before each write, so that turning it off stops
//! the very next one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared by the configuration's watcher, which sets it, and the writers, which obey it.
#[derive(Debug, Clone)]
pub struct WriteSwitch(Arc<AtomicBool>);

impl WriteSwitch {
    /// A switch that stands at `enabled`.
    #[must_use]
    pub fn new(enabled: bool) -> Self {
        Self(Arc::new(AtomicBool::new(enabled)))
    }

    /// True where writes are allowed.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// Sets the switch; gives whether that changed it.
    pub fn set(&self, enabled: bool) -> bool {
        self.0.swap(enabled, Ordering::SeqCst) != enabled
    }
}
