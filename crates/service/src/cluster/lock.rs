//! The locks of the parts of the picture.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a part of the picture. A panic may have left it off; to go on with it is better than to
/// answer nothing until a restart, and the next event of each object mends it.
pub(super) fn locked<T: ?Sized>(part: &Mutex<T>) -> MutexGuard<'_, T> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}
