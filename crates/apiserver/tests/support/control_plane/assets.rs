//! The control plane's programs, in the folder that `KUBEBUILDER_ASSETS` names (the convention of
//! envtest). Nothing is built or downloaded here.
//!
//! Without the variable a test cannot run, and cargo has no way to skip one at run time: it says
//! so on the real stderr, which the test runner does not swallow, and passes.

use std::io::Write as _;
use std::path::PathBuf;

const VARIABLE: &str = "KUBEBUILDER_ASSETS";
const PROGRAMS: [&str; 4] = [
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
];

/// The folder with the programs.
#[derive(Debug, Clone)]
pub(crate) struct Assets {
    folder: PathBuf,
}

impl Assets {
    /// The folder, or `None` and one line about it where the variable is not set.
    ///
    /// Panics where the folder lacks a program: whoever sets the variable wants the tests to run.
    #[allow(
        clippy::disallowed_methods,
        reason = "the one place where tests learn what the machine has"
    )]
    pub(crate) fn find() -> Option<Self> {
        let Some(folder) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) else {
            let thread = std::thread::current();
            let line = format!(
                "control_plane: {} ignored, {VARIABLE} is not set (the folder with {})\n",
                thread.name().unwrap_or("a test"),
                PROGRAMS.join(", ")
            );
            // One write, so that lines of tests that run side by side do not mix.
            std::io::stderr()
                .write_all(line.as_bytes())
                .expect("stderr takes a line");
            return None;
        };
        let assets = Self {
            folder: std::path::absolute(folder).expect("the folder has an absolute path"),
        };
        for name in PROGRAMS {
            let path = assets.program(name);
            assert!(path.is_file(), "{VARIABLE}: no {}", path.display());
        }
        Some(assets)
    }

    /// The path of the program `name`.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}
