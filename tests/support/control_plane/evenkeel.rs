//! The built program as its Pod runs it: one process with a configuration file and the credentials
//! of its ServiceAccount, so that a right which the manifests forget is missing here too.

use std::path::Path;
use std::process::Command;

use evenkeel_service::metrics::exposition::Exposition;
use serde_json::{Value, json};

use super::free_port;
use super::manifests::NAMESPACE;
use super::page;
use super::process::{Process, Signal, report};
use super::volume::Volume;
use super::wait::{eventually, holds};

/// One replica.
#[derive(Debug)]
pub(crate) struct Evenkeel {
    http: u16,
    /// The port of metrics for authenticated readers, at every address of the machine: the API server
    /// passes nothing on to loopback.
    pub metrics: u16,
    dashboard: u16,
    configuration: Value,
    volume: Volume,
    process: Process,
}

impl Evenkeel {
    /// Starts the replica `name`, which serves webhook and extender at the port `https`, with a
    /// configuration in which the listeners and the identity are filled in; waits until it is
    /// ready.
    pub(crate) async fn start(
        folder: &Path,
        name: &str,
        kubeconfig: &Path,
        https: u16,
        mut configuration: Value,
    ) -> Self {
        let (http, metrics, dashboard) = (free_port(), free_port(), free_port());
        let ours = json!({
            "server": {
                "https": format!("127.0.0.1:{https}"),
                "http": format!("127.0.0.1:{http}"),
                "metrics": format!("[::]:{metrics}"),
                "dashboard": format!("127.0.0.1:{dashboard}"),
            },
            "leaderElection": {"identity": name},
        });
        json_patch::merge(&mut configuration, &ours);
        let mount = tempfile::tempdir_in(folder)
            .expect("a folder is made")
            .keep();
        let volume = Volume::new(mount, &configuration);
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
        command
            .arg("serve")
            .arg("--config")
            .arg(volume.file())
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args(["--namespace", NAMESPACE]);
        let process = Process::spawn(name, &mut command, folder);
        let mut replica = Self {
            http,
            metrics,
            dashboard,
            configuration,
            volume,
            process,
        };
        replica.await_ready().await;
        replica
    }

    async fn await_ready(&mut self) {
        eventually("evenkeel is ready", async || {
            self.process.assert_running();
            self.assert_within_rights();
            let url = format!("http://127.0.0.1:{}/readyz", self.http);
            let status = page::status(&url)
                .await
                .map_err(|error| error.to_string())?;
            holds(status.is_success(), || status.to_string())?;
            // Readiness does not wait for this listener.
            let status = page::status(&self.metrics_url()).await;
            status.map(drop).map_err(|error| error.to_string())
        })
        .await;
    }

    fn metrics_url(&self) -> String {
        format!("http://127.0.0.1:{}/metrics", self.dashboard)
    }

    /// The page of its metrics, as a user that may forward a port reads it.
    pub(crate) async fn page(&self) -> String {
        let page = page::text(&self.metrics_url()).await;
        page.expect("metrics are answered")
    }

    /// The sum of the samples of its metric `name` that carry `labels`; 0 where there is none yet.
    pub(crate) async fn metric(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        Exposition::parse(&self.page().await)
            .sum(name, labels)
            .unwrap_or(0.0)
    }

    /// The seconds of a processor that it has taken so far.
    pub(crate) fn processor_seconds(&self) -> f64 {
        self.process.processor_seconds()
    }

    /// Panics if the process has ended.
    pub(crate) fn assert_running(&mut self) {
        self.process.assert_running();
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    /// Asks it to end and waits until it has, which it is to do by itself and with success.
    pub(crate) async fn stop(&mut self) {
        self.process.signal(Signal::TERM);
        let status = self.process.wait().await;
        assert!(status.success(), "{status}\n{}", self.process.log_tail(30));
    }

    /// Merges `change` into its configuration file while it runs.
    pub(crate) fn reconfigure(&mut self, change: &Value) {
        json_patch::merge(&mut self.configuration, change);
        self.volume.update(&self.configuration);
    }

    /// Panics if the API server has refused it anything for want of a right.
    pub(crate) fn assert_within_rights(&self) {
        assert_within_rights(&self.process);
    }
}

/// Panics if the log of a process tells of a refusal for want of a right.
pub(super) fn assert_within_rights(process: &Process) {
    let log = process.log();
    let refused: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("forbidden"))
        .collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

impl Drop for Evenkeel {
    /// Shows the log of a replica if its test fails.
    fn drop(&mut self) {
        if std::thread::panicking() {
            report(&self.process.log_tail(60));
        }
    }
}
