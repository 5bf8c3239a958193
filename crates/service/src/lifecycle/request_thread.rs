//! A thread of its own for the calls of the API server and of kube-scheduler. kube-scheduler waits
//! for each answer before it goes on. On shared threads a call would first wait for the watch events
//! and rounds that are being worked on. More than one thread would wake each other for each call,
//! which costs more than the decision itself.

use tokio::runtime::{Builder, Handle, Runtime};

/// The thread, which stops when this value is dropped.
#[derive(Debug)]
pub(super) struct RequestThread(Option<Runtime>);

impl RequestThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(super) fn start() -> std::io::Result<Self> {
        let thread = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("requests")
            .enable_all()
            .build()?;
        Ok(Self(Some(thread)))
    }

    /// Places tasks and sockets on the thread.
    pub(super) fn handle(&self) -> Handle {
        let thread = self.0.as_ref().expect("it is taken only when dropped");
        thread.handle().clone()
    }
}

impl Drop for RequestThread {
    fn drop(&mut self) {
        // It is dropped by a task, which must not wait for a thread.
        if let Some(thread) = self.0.take() {
            thread.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_call_is_answered_while_the_other_threads_are_busy() {
        let thread = RequestThread::start().unwrap();
        let (answer, answered) = mpsc::channel();
        thread.handle().spawn(async move { answer.send("judged") });
        // It keeps the only thread of this test's runtime.
        let told = answered.recv_timeout(Duration::from_mins(1));
        assert_eq!(told, Ok("judged"));
        drop(thread);
    }
}
