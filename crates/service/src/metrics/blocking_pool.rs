//! Work on answers beside the threads that answer requests.

use super::error::MetricsError;

/// Works on an answer on the blocking pool: some megabytes take as long as thousands of reviews. A
/// panic in the work is passed on.
///
/// # Errors
/// The process is shutting down.
pub(super) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, MetricsError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(worked) => Ok(worked),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Only a runtime that shuts down cancels its blocking work.
            Err(_) => Err(MetricsError::Aborted),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken() -> u8 {
        panic!("on purpose")
    }

    #[tokio::test]
    #[should_panic(expected = "on purpose")]
    async fn a_panic_is_no_answer_that_fails() {
        let _ = aside(broken).await;
    }
}
