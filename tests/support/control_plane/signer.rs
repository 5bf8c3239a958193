//! The signer as its Pod runs it: one process with the credentials of its own ServiceAccount.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::evenkeel;
use super::free_port;
use super::process::{Process, Signal, report};
use super::volume::Volume;

/// A signer that ends with this.
#[derive(Debug)]
pub(crate) struct Signer {
    process: Process,
    _volume: Volume,
}

impl Signer {
    /// Starts it for the installation in `namespace`, with the configuration of its replicas.
    pub(crate) fn start(
        folder: &Path,
        namespace: &str,
        kubeconfig: &Path,
        mut configuration: Value,
    ) -> Self {
        let ours = json!({"server": {
            "http": format!("127.0.0.1:{}", free_port()),
            "metrics": format!("127.0.0.1:{}", free_port()),
        }});
        json_patch::merge(&mut configuration, &ours);
        let mount = tempfile::tempdir_in(folder)
            .expect("a folder is made")
            .keep();
        let volume = Volume::new(mount, &configuration);
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
        command
            .args(["certs", "sign", "--config"])
            .arg(volume.file())
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args(["--namespace", namespace]);
        Self {
            process: Process::spawn("evenkeel-signer", &mut command, folder),
            _volume: volume,
        }
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    /// Panics if the API server has refused it anything for want of a right.
    pub(crate) fn assert_within_rights(&self) {
        evenkeel::assert_within_rights(&self.process);
    }
}

impl Drop for Signer {
    /// Shows the log where a test fails.
    fn drop(&mut self) {
        if std::thread::panicking() {
            report(&self.process.log_tail(40));
        }
    }
}
