//! Overlays as operators write them around the shipped manifests.

use std::path::Path;

/// Makes `overlay` one that puts `folder` of this repository into `namespace`.
pub(crate) fn moved(overlay: &Path, folder: &str, namespace: &str) {
    let base = from(overlay, &[folder.to_owned()]).remove(0);
    let text = format!(
        "apiVersion: kustomize.config.k8s.io/v1beta1\n\
         kind: Kustomization\n\
         namespace: {namespace}\n\
         resources:\n\
         - {base}\n"
    );
    std::fs::write(overlay.join("kustomization.yaml"), text).expect("it is written");
}

/// The ways from `overlay` to `folders` of this repository.
pub(crate) fn from(overlay: &Path, folders: &[String]) -> Vec<String> {
    let from = overlay.canonicalize().expect("the overlay's folder exists");
    // kustomize takes relative paths only: by the root, which is above everything.
    let up = "../".repeat(from.components().count() - 1);
    let way = |folder: &String| {
        let to = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let to = to.canonicalize().expect("the folder is in the repository");
        let down = to.strip_prefix("/").expect("a whole path").display();
        format!("{up}{down}")
    };
    folders.iter().map(way).collect()
}
