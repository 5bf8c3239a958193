//! Follows the configuration file: `writes` is obeyed at once; a refused file changes nothing and
//! is reported by log, metric and Event.

use std::time::Duration;

use evenkeel_clock::Clock;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::plan::Purpose;
use evenkeel_objects::plan::event::{EventContent, EventSeverity, RegardingObject};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use tokio_util::sync::CancellationToken;

use crate::config::{Config, ConfigError, Reload};
use crate::controller::switch::Writes;
use crate::controller::{Replica, WriteQueue, WriteSwitch};
use crate::telemetry::metric_families::families;

/// Pause between two looks at the file: kubelet takes up to a minute for a changed ConfigMap, and
/// the kill switch should not add to that.
const LOOK: Duration = Duration::from_secs(1);

/// How long the ConfigMap's uid is waited for: the file is looked at again only after that.
const PATIENCE: Duration = Duration::from_secs(5);

/// The ConfigMap that the manifests mount.
const CONFIGURATION: &str = "evenkeel";

families! {
    pub(super) struct ConfigReloadMetrics {
        refused: Gauge = "configuration_refused",
            "1 while the changed configuration file is refused and the previous one stays in \
             effect";
    }
}

pub(super) struct ConfigReloader {
    pub(super) config: Config,
    pub(super) switch: WriteSwitch,
    pub(super) metrics: ConfigReloadMetrics,
    /// The way of Events; `None` where others report a refused file already.
    pub(super) events: Option<ConfigEventWriter>,
}

/// The parts that are needed to write an Event about the ConfigMap.
pub(super) struct ConfigEventWriter {
    pub(super) queue: WriteQueue,
    pub(super) client: Client,
    pub(super) replica: Replica,
    pub(super) clock: Clock,
}

/// The last messages, so that each is told once.
#[derive(Debug, Default)]
struct LastReloadMessages {
    needs_restart: Vec<String>,
    refused: Option<String>,
}

impl ConfigReloader {
    pub(super) async fn run(self, cancel: CancellationToken) {
        let mut ticks = tokio::time::interval(LOOK);
        let mut told = LastReloadMessages::default();
        while cancel.run_until_cancelled(ticks.tick()).await.is_some() {
            self.look(&mut told).await;
        }
    }

    async fn look(&self, told: &mut LastReloadMessages) {
        let error = match self.config.reload() {
            Ok(Reload {
                writes,
                needs_restart,
                refused,
            }) => {
                self.switch(writes);
                // The changes of a refused file are not known.
                if refused.is_none() && needs_restart != told.needs_restart {
                    if !needs_restart.is_empty() {
                        tracing::info!(fields = ?needs_restart, "changed fields take effect after a restart");
                    }
                    told.needs_restart = needs_restart;
                }
                refused
            }
            Err(error) => Some(error),
        };
        self.metrics.refused.set(i64::from(error.is_some()));
        let refused = error.as_ref().map(ToString::to_string);
        if refused != told.refused {
            if let Some(error) = error {
                self.refuse(&error).await;
            } else {
                tracing::info!("the configuration file is accepted again");
            }
            told.refused = refused;
        }
    }

    fn switch(&self, writes: Writes) {
        if self.switch.set(writes) {
            tracing::info!(?writes, "writes switched");
        }
    }

    /// Reports a refused file; the leader's Event is the one that is written.
    async fn refuse(&self, error: &ConfigError) {
        tracing::warn!(%error, "the changed configuration is refused, the old one stays");
        if let Some(events) = &self.events {
            events.refused(error).await;
        }
    }
}

impl ConfigEventWriter {
    async fn refused(&self, error: &ConfigError) {
        let note = format!("the configuration in force stays: {error}");
        let event = EventContent {
            purpose: Purpose::Configuration,
            severity: EventSeverity::Warning,
            reason: "ConfigurationRefused",
            action: "Keep",
            note: note.into(),
        };
        let regarding = RegardingObject {
            kind: Kind::ConfigMap,
            namespace: Some(self.replica.namespace.clone()),
            name: CONFIGURATION.to_owned(),
            uid: self.uid().await,
        };
        let reporter = &self.replica.identity;
        let write = event.at(&regarding, reporter, self.clock.now());
        self.queue.put(write);
    }

    /// The uid of the ConfigMap, by which `kubectl describe` finds its Events. If it cannot be
    /// read, as for a file from elsewhere, the Event has none.
    async fn uid(&self) -> String {
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), &self.replica.namespace);
        let asked = tokio::time::timeout(PATIENCE, maps.get_metadata(CONFIGURATION)).await;
        let map = asked.ok().and_then(Result::ok);
        map.and_then(|map| map.metadata.uid).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use jiff::{SignedDuration, Timestamp};
    use serde_json::json;

    use super::*;
    use crate::config::ConfigSources;
    use crate::controller::fake_api::{FakeApi, eventually};
    use crate::controller::{Leadership, Writer, writer};
    use crate::{controller, telemetry};

    /// The time of the cluster's clock at the machine's epoch: it is two days behind.
    const BEHIND: Timestamp = Timestamp::constant(-2 * 24 * 60 * 60, 0);
    const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/keel/events";

    fn write(path: &Path, fields: &str) {
        let head = "apiVersion: config.evenkeel.dev/v1alpha1\nkind: EvenkeelConfiguration\n";
        std::fs::write(path, format!("{head}{fields}")).unwrap();
    }

    fn watch(path: &Path, api: &FakeApi) -> ConfigReloader {
        let sources = ConfigSources {
            file: Some(path.to_owned()),
            ..ConfigSources::default()
        };
        let config = Config::load(&sources).unwrap();
        let switch = WriteSwitch::new(config.writes);
        let (writer, queue) = Writer::new(
            api.client(),
            writer::Settings::default(),
            Leadership::leading(),
            WriteSwitch::new(Writes::Enabled),
            controller::ControllerMetrics::default(),
        );
        tokio::spawn(writer.run(CancellationToken::new()));
        ConfigReloader {
            config,
            switch,
            metrics: ConfigReloadMetrics::default(),
            events: Some(ConfigEventWriter {
                queue,
                client: api.client(),
                replica: Replica {
                    namespace: "keel".to_owned(),
                    identity: "evenkeel-0".to_owned(),
                },
                clock: Clock::accelerated(1.0, BEHIND, Timestamp::UNIX_EPOCH),
            }),
        }
    }

    fn refused(watch: &ConfigReloader) -> i64 {
        let mut registry = telemetry::registry();
        watch.metrics.register(&mut registry);
        let page = telemetry::encode(&registry).unwrap();
        let line = page
            .lines()
            .find_map(|line| line.strip_prefix("evenkeel_configuration_refused "));
        line.unwrap().parse().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_file_changes_nothing_and_is_told_of_until_it_is_mended() {
        let (api, folder) = (FakeApi::default(), tempfile::tempdir().unwrap());
        let path = folder.path().join("config.yaml");
        write(&path, "writes: disabled\n");
        let (watch, mut told) = (watch(&path, &api), LastReloadMessages::default());
        watch.look(&mut told).await;
        assert_eq!((watch.switch.get(), refused(&watch)), (Writes::Disabled, 0));
        // The field that would switch writes on stands beside a value that is not accepted.
        write(&path, "writes: enabled\nscheduling: {headroom: 7}\n");
        for _ in 0..3 {
            watch.look(&mut told).await;
        }
        assert_eq!((watch.switch.get(), refused(&watch)), (Writes::Disabled, 1));
        eventually("an Event", || !api.writes().is_empty()).await;
        tokio::time::sleep(LOOK * 5).await;
        let writes = api.writes();
        assert_eq!(writes.len(), 1, "it is told once");
        assert_eq!(writes[0].1, EVENTS);
        write(&path, "writes: enabled\n");
        watch.look(&mut told).await;
        assert_eq!((watch.switch.get(), refused(&watch)), (Writes::Enabled, 0));
        // The kill switch is obeyed in a file that is refused, which is told of all the same.
        write(&path, "writes: disabled\nscheduling: {headroom: 7}\n");
        watch.look(&mut told).await;
        assert_eq!((watch.switch.get(), refused(&watch)), (Writes::Disabled, 1));
        std::fs::remove_file(&path).unwrap();
        watch.look(&mut told).await;
        assert_eq!((watch.switch.get(), refused(&watch)), (Writes::Disabled, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn the_event_names_the_field_and_the_configmap() {
        let (api, folder) = (FakeApi::default(), tempfile::tempdir().unwrap());
        let map = json!({"metadata": {"name": "evenkeel", "uid": "uid-of-the-map"}});
        api.set("/api/v1/namespaces/keel/configmaps/evenkeel", map);
        let path = folder.path().join("config.yaml");
        write(&path, "");
        let (watch, mut told) = (watch(&path, &api), LastReloadMessages::default());
        write(&path, "scheduling: {headroom: 7}\n");
        watch.look(&mut told).await;
        eventually("an Event", || !api.writes().is_empty()).await;
        let event = api.only_under(EVENTS);
        assert_eq!(event["reason"], "ConfigurationRefused");
        assert_eq!(event["type"], "Warning");
        assert_eq!(event["regarding"]["kind"], "ConfigMap");
        assert_eq!(event["regarding"]["name"], "evenkeel");
        // By which `kubectl describe configmap` finds it.
        assert_eq!(event["regarding"]["uid"], "uid-of-the-map");
        // By the cluster's clock, which may not be the machine's: else its age is "<invalid>".
        let at: Timestamp = event["eventTime"].as_str().unwrap().parse().unwrap();
        assert!(
            at < evenkeel_clock::now() - SignedDuration::from_hours(24),
            "{at}"
        );
        let note = event["note"].as_str().unwrap();
        assert!(note.contains("scheduling.headroom"), "{note}");
        assert!(note.contains("stays"), "{note}");
    }
}
