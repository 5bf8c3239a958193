//! Follows the configuration file: what it says of `writes` is obeyed at once, and a file that is
//! refused leaves everything as it was and is told of by log, metric and Event.

use std::time::Duration;

use evenkeel_clock as clock;
use evenkeel_kubernetes::kinds::Kind;
use evenkeel_kubernetes::plan::Purpose;
use evenkeel_kubernetes::plan::event::{Event, Regarding, Severity};
use prometheus_client::metrics::gauge::Gauge;
use tokio_util::sync::CancellationToken;

use crate::config::{Config, ConfigError, Reload, Writes};
use crate::controller::{Replica, WriteQueue, WriteSwitch};
use crate::telemetry::Registry;

/// Pause between two looks at the file: kubelet itself takes up to a minute to bring a changed
/// ConfigMap, and the kill switch should not add to that.
const LOOK: Duration = Duration::from_secs(1);

/// The ConfigMap that the manifests mount.
const CONFIGURATION: &str = "evenkeel";

/// Figures of the configuration in force.
#[derive(Debug, Clone, Default)]
pub(super) struct Metrics {
    refused: Gauge,
}

impl Metrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        let Self { refused } = self.clone();
        registry.register(
            "configuration_refused",
            "1 while the configuration file is refused and the one read before it stays in force",
            refused,
        );
    }
}

/// Looks at the file.
pub(super) struct Watch {
    pub(super) config: Config,
    pub(super) switch: WriteSwitch,
    pub(super) metrics: Metrics,
    /// The way of Events; `None` where others tell of a refused file already.
    pub(super) queue: Option<WriteQueue>,
    pub(super) replica: Replica,
}

/// The last messages, so that each is told once.
#[derive(Debug, Default)]
struct Told {
    needs_restart: Vec<String>,
    refused: Option<String>,
}

impl Watch {
    /// Looks until `cancel`.
    pub(super) async fn run(self, cancel: CancellationToken) {
        let mut ticks = tokio::time::interval(LOOK);
        let mut told = Told::default();
        while cancel.run_until_cancelled(ticks.tick()).await.is_some() {
            self.look(&mut told);
        }
    }

    fn look(&self, told: &mut Told) {
        let error = match self.config.reload() {
            Ok(Reload {
                writes,
                needs_restart,
                refused,
            }) => {
                self.switch(writes);
                // What a refused file would change is not known.
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
                self.refuse(&error);
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

    /// Tells of a refused file; the leader's Event is the one that is written.
    fn refuse(&self, error: &ConfigError) {
        tracing::warn!(%error, "the changed configuration is refused, the old one stays");
        let Some(queue) = &self.queue else {
            return;
        };
        let note = format!("the configuration in force stays: {error}");
        let event = Event {
            purpose: Purpose::Configuration,
            severity: Severity::Warning,
            reason: "ConfigurationRefused",
            action: "Keep",
            note: &note,
        };
        let regarding = Regarding {
            kind: Kind::ConfigMap,
            namespace: Some(self.replica.namespace.clone()),
            name: CONFIGURATION.to_owned(),
            uid: String::new(),
        };
        let reporter = &self.replica.identity;
        queue.put(event.at(&regarding, reporter, clock::now()));
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Sources;
    use crate::controller::fake_api::{FakeApi, eventually};
    use crate::controller::{self, Leadership, Writer, writer};
    use crate::telemetry;

    const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/keel/events";

    fn write(path: &Path, fields: &str) {
        let head = "apiVersion: config.evenkeel.dev/v1alpha1\nkind: EvenkeelConfiguration\n";
        std::fs::write(path, format!("{head}{fields}")).unwrap();
    }

    fn watch(path: &Path, api: &FakeApi) -> Watch {
        let sources = Sources {
            file: Some(path.to_owned()),
            ..Sources::default()
        };
        let config = Config::load(&sources).unwrap();
        let switch = WriteSwitch::new(config.writes);
        let (writer, queue) = Writer::new(
            api.client(),
            writer::Settings::default(),
            Leadership::leading(),
            WriteSwitch::new(Writes::Enabled),
            controller::Metrics::default(),
        );
        tokio::spawn(writer.run(CancellationToken::new()));
        Watch {
            config,
            switch,
            metrics: Metrics::default(),
            queue: Some(queue),
            replica: Replica {
                namespace: "keel".to_owned(),
                identity: "evenkeel-0".to_owned(),
            },
        }
    }

    fn refused(watch: &Watch) -> i64 {
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
        let (watch, mut told) = (watch(&path, &api), Told::default());
        watch.look(&mut told);
        assert_eq!((watch.switch.get(), refused(&watch)), (Writes::Disabled, 0));
        // What would switch writes on stands beside a value that is not accepted.
        write(&path, "writes: enabled\nscheduling: {headroom: 7}\n");
        for _ in 0..3 {
            watch.look(&mut told);
        }
        assert_eq!((watch.switch.get(), refused(&watch)), (Writes::Disabled, 1));
        eventually("an Event", || !api.writes().is_empty()).await;
        tokio::time::sleep(LOOK * 5).await;
        let writes = api.writes();
        assert_eq!(writes.len(), 1, "it is told once");
        assert_eq!(writes[0].1, EVENTS);
        write(&path, "writes: enabled\n");
        watch.look(&mut told);
        assert_eq!((watch.switch.get(), refused(&watch)), (Writes::Enabled, 0));
        // The kill switch is obeyed in a file that is refused, which is told of all the same.
        write(&path, "writes: disabled\nscheduling: {headroom: 7}\n");
        watch.look(&mut told);
        assert_eq!((watch.switch.get(), refused(&watch)), (Writes::Disabled, 1));
        std::fs::remove_file(&path).unwrap();
        watch.look(&mut told);
        assert_eq!((watch.switch.get(), refused(&watch)), (Writes::Disabled, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn the_event_names_the_field_and_the_configmap() {
        let (api, folder) = (FakeApi::default(), tempfile::tempdir().unwrap());
        let path = folder.path().join("config.yaml");
        write(&path, "");
        let (watch, mut told) = (watch(&path, &api), Told::default());
        write(&path, "scheduling: {headroom: 7}\n");
        watch.look(&mut told);
        eventually("an Event", || !api.writes().is_empty()).await;
        let event = api.only_under(EVENTS);
        assert_eq!(event["reason"], "ConfigurationRefused");
        assert_eq!(event["type"], "Warning");
        assert_eq!(event["regarding"]["kind"], "ConfigMap");
        assert_eq!(event["regarding"]["name"], "evenkeel");
        let note = event["note"].as_str().unwrap();
        assert!(note.contains("scheduling.headroom"), "{note}");
        assert!(note.contains("stays"), "{note}");
    }
}
