//! The example `idle_extender` as a process: an extender that judges nothing. Like Evenkeel it runs beside the
//! test. To compare builds for speed, put both programs from `target/release` in place of those in `target/debug`.

use std::path::PathBuf;
use std::process::Stdio;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use super::between::lead;

/// It serves until it is dropped.
pub(crate) struct IdleExtender {
    at: Address,
    _serving: Child,
}

#[derive(Deserialize)]
struct Address {
    port: u16,
    /// In PEM; `None` for plain HTTP.
    certificate: Option<String>,
}

impl IdleExtender {
    pub(crate) async fn over_http() -> Self {
        Self::start(&[]).await
    }

    pub(crate) async fn over_tls() -> Self {
        Self::start(&["tls"]).await
    }

    async fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(program());
        command.args(arguments).stdout(Stdio::piped());
        let mut serving = command.kill_on_drop(true).spawn().expect("the example");
        let output = serving.stdout.take().expect("it is piped");
        let first = BufReader::new(output).lines().next_line().await;
        let first = first.expect("its output").expect("its first line");
        Self {
            at: serde_json::from_str(&first).expect("its address"),
            _serving: serving,
        }
    }

    /// kube-scheduler's configuration, where it asks this one instead.
    pub(crate) fn instead_of(&self, mut configuration: Value) -> Value {
        let extender = &mut configuration["extenders"][0];
        match &self.at.certificate {
            None => lead(extender, self.at.port),
            Some(certificate) => {
                extender["urlPrefix"] = json!(format!("https://127.0.0.1:{}", self.at.port));
                extender["tlsConfig"] = json!({"caData": BASE64_STANDARD.encode(certificate)});
            }
        }
        configuration
    }
}

/// Cargo builds examples with the tests.
fn program() -> PathBuf {
    let evenkeel = PathBuf::from(env!("CARGO_BIN_EXE_evenkeel"));
    evenkeel.with_file_name("examples").join("idle_extender")
}
