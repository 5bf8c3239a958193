//! Events of a Pod on its node, in the words of kubelets, for `kubectl describe`.

use k8s_openapi::api::core::v1::Pod;

use crate::lifecycle::Stage;
use crate::recorder::{Recorder, reference};

/// Stages since `before`.
pub(super) fn reached(recorder: &Recorder, pod: &Pod, before: Option<Stage>, now: Stage) {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    for container in containers {
        let (name, image) = (&container.name, container.image.as_deref().unwrap_or("?"));
        let told = [
            (
                Stage::Pulling,
                "Pulling",
                format!("Pulling image \"{image}\""),
            ),
            (
                Stage::Starting,
                "Pulled",
                format!("Successfully pulled image \"{image}\""),
            ),
            (
                Stage::Warming,
                "Created",
                format!("Created container: {name}"),
            ),
            (
                Stage::Warming,
                "Started",
                format!("Started container {name}"),
            ),
        ];
        for (stage, reason, message) in told {
            if stage <= now && before.is_none_or(|before| before < stage) {
                let mut about = reference(pod);
                about.field_path = Some(format!("spec.containers{{{name}}}"));
                recorder.normal(about, reason, message);
            }
        }
    }
}

/// The containers are stopped.
pub(super) fn ended(recorder: &Recorder, pod: &Pod) {
    for container in pod.spec.iter().flat_map(|spec| &spec.containers) {
        let message = format!("Stopping container {}", container.name);
        recorder.normal(reference(pod), "Killing", message);
    }
}
