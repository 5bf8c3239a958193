//! Work that takes too long for the threads that answer requests.

/// Works on a state on the blocking pool. A panic in the work is passed on, and ends the service.
pub(super) async fn work<S: Send + 'static, T: Send + 'static>(
    mut state: S,
    work: impl FnOnce(&mut S) -> T + Send + 'static,
) -> (S, T) {
    let worked = tokio::task::spawn_blocking(move || {
        let outcome = work(&mut state);
        (state, outcome)
    });
    match worked.await {
        Ok(worked) => worked,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Only a runtime that shuts down cancels its blocking work.
            Err(_) => std::future::pending().await,
        },
    }
}
