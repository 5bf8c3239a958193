//! A thread of its own for connections of kube-scheduler. kube-scheduler waits for each answer
//! before it goes on. On the threads of all other work, an answer would wait for watch events and
//! for the reviews of other clients, and each call would wake a second thread.

use tokio::runtime::{Builder, Handle, Runtime};

/// The thread, which stops when this value is dropped.
#[derive(Debug)]
pub struct SchedulerThread(Option<Runtime>);

impl SchedulerThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// The operating system cannot create the thread.
    pub fn start() -> std::io::Result<Self> {
        let thread = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("kube-scheduler")
            .enable_all()
            .build()?;
        Ok(Self(Some(thread)))
    }

    /// The handle for tasks and sockets on this thread.
    pub fn handle(&self) -> Handle {
        let thread = self.0.as_ref().expect("it is taken only when dropped");
        thread.handle().clone()
    }
}

impl Drop for SchedulerThread {
    fn drop(&mut self) {
        // A task may drop it, and a task must not wait for a runtime to end.
        if let Some(thread) = self.0.take() {
            thread.shutdown_background();
        }
    }
}
