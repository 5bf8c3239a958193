//! A user that goes on creating Pods in spite of errors: each is tried until the API server has it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::task::JoinHandle;

use super::objects::PodSketch;
use super::wait::{eventually, holds};

/// Between two Pods, and between two tries of one.
const PAUSE: Duration = Duration::from_millis(400);

/// The Pods of one namespace that come one after the other.
pub(crate) struct PodStream {
    created: Arc<AtomicUsize>,
    ends: Arc<AtomicBool>,
    creating: JoinHandle<()>,
}

impl PodStream {
    /// Begins to create Pods of this kind.
    pub(crate) fn start(client: &Client, namespace: &str, sketch: PodSketch) -> Self {
        let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
        let created = Arc::new(AtomicUsize::new(0));
        let ends = Arc::new(AtomicBool::new(false));
        let (count, end) = (Arc::clone(&created), Arc::clone(&ends));
        let creating = tokio::spawn(async move {
            while !end.load(Ordering::Relaxed) {
                let pod = sketch.to_pod(&format!("pod-{}", count.load(Ordering::Relaxed)));
                match pods.create(&PostParams::default(), &pod).await {
                    Ok(_) => {
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                    // The answer to an earlier try was lost, and the Pod was not.
                    Err(kube::Error::Api(status)) if status.code == 409 => {
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                    Err(_) => {}
                }
                tokio::time::sleep(PAUSE).await;
            }
        });
        Self {
            created,
            ends,
            creating,
        }
    }

    /// Waits until so many Pods more have been created.
    pub(crate) async fn await_more(&self, count: usize) {
        let wanted = self.created.load(Ordering::Relaxed) + count;
        eventually(&format!("{count} Pods more are created"), async || {
            let created = self.created.load(Ordering::Relaxed);
            holds(created >= wanted, || format!("{created} of {wanted}"))
        })
        .await;
    }

    /// Ends it; answers how many Pods the API server has taken.
    pub(crate) async fn stop(self) -> usize {
        self.ends.store(true, Ordering::Relaxed);
        self.creating.await.expect("no try panics");
        self.created.load(Ordering::Relaxed)
    }
}
