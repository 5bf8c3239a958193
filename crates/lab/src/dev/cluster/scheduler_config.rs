//! The scheduler's file: a ConfigMap in kube-system, because there is no control-plane node with a
//! file. The extender's address and trust are the run's own; all else follows the ConfigMap from
//! the next Pod on. An unreadable file changes nothing, and an Event on the ConfigMap reports it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use evenkeel_certificates::bundle::Bundle;
use evenkeel_clock as clock;
use evenkeel_sandbox::objects::typed;
use evenkeel_sandbox::recorder::{Recorder, reference};
use evenkeel_sandbox::scheduler::SetupSlot;
use evenkeel_sandbox::scheduler::configuration::{Configuration, Tls};
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::json;

use super::StartError;
use super::shipped_services::NAMESPACE;

const SHIPPED: &str = include_str!("../../../../../webhook-config/scheduler-config.yaml");

/// Where the file is.
const SYSTEM: &str = "kube-system";
const MAP: &str = "kube-scheduler";
const KEY: &str = "config.yaml";

/// The Secret that the signer keeps everything in.
const SECRET: &str = "evenkeel-certificates";

/// The lifetime of the client certificate: longer than any run.
const CLIENT_LIFE: SignedDuration = SignedDuration::from_hours(24 * 30);

/// How often the ConfigMap is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Writes the shipped file, or the part of it that a managed control plane has.
pub(super) async fn write(client: &Client, calls_extender: bool) -> Result<(), StartError> {
    let text = if calls_extender {
        SHIPPED
    } else {
        without_extenders(SHIPPED)
    };
    let map: ConfigMap = typed(json!({"metadata": {"name": MAP}, "data": {KEY: text}}));
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), SYSTEM);
    maps.create(&PostParams::default(), &map).await?;
    Ok(())
}

/// The file up to `extenders`, its last key.
fn without_extenders(file: &str) -> &str {
    file.split_once("\nextenders:")
        .map_or(file, |(before, _)| before)
}

pub(super) struct SchedulerConfigReloader {
    client: Client,
    setup: SetupSlot,
    url: String,
    tls: Tls,
    patience: Option<Duration>,
    recorder: Recorder,
    text: String,
}

impl SchedulerConfigReloader {
    /// The file as it is now, in force; `patience` replaces the timeouts in it.
    pub(super) async fn open(
        client: &Client,
        setup: SetupSlot,
        https: SocketAddr,
        patience: Option<Duration>,
        recorder: Recorder,
    ) -> Result<Self, StartError> {
        let mut file = Self {
            client: client.clone(),
            setup,
            url: format!("https://{https}/scheduler"),
            tls: tls(client).await?,
            patience,
            recorder,
            text: String::new(),
        };
        let map = file.read().await?;
        file.apply(text(&map))?;
        Ok(file)
    }

    /// Follows it for ever.
    pub(super) async fn follow(mut self) {
        loop {
            tokio::time::sleep(LOOK).await;
            // While the API server is away, what was read stays in force.
            let Ok(map) = self.read().await else {
                continue;
            };
            let text = text(&map);
            if text == self.text {
                continue;
            }
            match self.apply(text) {
                Ok(()) => {
                    let message = "it takes effect from the next Pod on".to_owned();
                    self.recorder.normal(reference(&map), "FileRead", message);
                }
                Err(error) => {
                    let message = format!("the old one stays in effect: {error}");
                    self.recorder
                        .warning(reference(&map), "FileRefused", message);
                }
            }
        }
    }

    async fn read(&self) -> kube::Result<ConfigMap> {
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), SYSTEM);
        maps.get(MAP).await
    }

    fn apply(&mut self, text: String) -> Result<(), StartError> {
        self.text = text;
        let mut configuration = Configuration::read(&self.text, &self.url, &self.tls)?;
        if let Some(patience) = self.patience {
            for extender in &mut configuration.extenders {
                extender.timeout = patience;
            }
        }
        Ok(self.setup.set(&configuration)?)
    }
}

fn text(map: &ConfigMap) -> String {
    let data = map.data.as_ref();
    data.and_then(|data| data.get(KEY))
        .cloned()
        .unwrap_or_default()
}

/// How the extender is trusted, and a client certificate, from what the signer has made.
async fn tls(client: &Client) -> Result<Tls, StartError> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), NAMESPACE);
    let secret = secrets.get(SECRET).await?;
    let files: BTreeMap<String, Vec<u8>> = secret
        .data
        .unwrap_or_default()
        .into_iter()
        .map(|(file, content)| (file, content.0))
        .collect();
    let unusable = |error: &dyn std::fmt::Display| {
        StartError::Unusable(format!("the service's certificates: {error}"))
    };
    let bundle = Bundle::decode(&files).map_err(|error| unusable(&error))?;
    let issued = bundle.issue_scheduler_client(clock::now(), CLIENT_LIFE);
    let issued = issued.map_err(|error| unusable(&error))?;
    Ok(Tls {
        authorities: bundle.ca_bundle(),
        certificate: issued.certificate,
        key: issued.key,
    })
}
