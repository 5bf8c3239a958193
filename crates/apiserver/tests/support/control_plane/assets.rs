//! The control plane's programs, in the folder that `KUBEBUILDER_ASSETS` names (the convention of
//! envtest). Nothing is built or downloaded.

use std::path::PathBuf;

const VARIABLE: &str = "KUBEBUILDER_ASSETS";
const PROGRAMS: [&str; 4] = [
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
];

#[derive(Debug, Clone)]
pub(crate) struct Assets {
    folder: PathBuf,
}

impl Assets {
    /// The error says that the variable is not set. Panics if a program is missing in the folder: a
    /// user that sets the variable wants the tests.
    #[allow(
        clippy::disallowed_methods,
        reason = "the one place where tests learn of a control plane"
    )]
    pub(crate) fn find() -> Result<Self, String> {
        let Some(folder) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) else {
            let programs = PROGRAMS.join(", ");
            return Err(format!(
                "{VARIABLE} is not set (the folder with {programs})"
            ));
        };
        let assets = Self {
            folder: std::path::absolute(folder).expect("the folder has an absolute path"),
        };
        for name in PROGRAMS {
            let path = assets.program(name);
            assert!(path.is_file(), "{VARIABLE}: no {}", path.display());
        }
        Ok(assets)
    }

    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}
