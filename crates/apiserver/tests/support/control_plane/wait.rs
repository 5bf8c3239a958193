//! Polls a condition, with a deadline so generous that only a condition that never holds meets it.

use std::time::{Duration, Instant};

/// Long enough for the slowest step on a busy machine with one core.
const DEADLINE: Duration = Duration::from_mins(5);
const INTERVAL: Duration = Duration::from_millis(50);

#[allow(
    clippy::disallowed_methods,
    reason = "tests wait by the machine's clock"
)]
fn now() -> Instant {
    Instant::now()
}

/// Until the probe returns `Ok`; panics with `what` and the last `Err` at the deadline.
pub(crate) async fn eventually<T>(
    what: &str,
    mut probe: impl AsyncFnMut() -> Result<T, String>,
) -> T {
    let began = now();
    loop {
        match probe().await {
            Ok(value) => return value,
            Err(last) if began.elapsed() > DEADLINE => {
                panic!("{what}: not within {} s: {last}", DEADLINE.as_secs());
            }
            Err(_) => tokio::time::sleep(INTERVAL).await,
        }
    }
}

/// For [`eventually`], which shows the text at its deadline.
pub(crate) fn holds(condition: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if condition { Ok(()) } else { Err(otherwise()) }
}
