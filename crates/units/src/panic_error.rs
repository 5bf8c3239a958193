//! Work that panicked, caught where one piece of work must not take the others with it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A panic, with its message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("panicked: {message}")]
pub struct PanicError {
    pub message: String,
}

/// Does the work. What it was changing when it panicked is half done, and has to be thrown away by
/// the caller.
///
/// # Errors
/// The work panicked.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, PanicError> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| PanicError {
        message: message(&*panic),
    })
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("without a message").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_with_its_message() {
        assert_eq!(caught(|| 7), Ok(7));
        let told = |work: fn()| caught(work).unwrap_err().to_string();
        assert_eq!(told(|| panic!("as text")), "panicked: as text");
        assert_eq!(told(|| panic!("as {}", 1)), "panicked: as 1");
        let odd = told(|| std::panic::panic_any(1));
        assert_eq!(odd, "panicked: without a message");
    }
}
