//! The shared state of all requests.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use crate::identity::Identities;
use crate::network::client::OutboundClient;
use crate::resources::definition;
use crate::resources::registry::Registry;
use crate::settings::{Clock, Settings};
use crate::store::ObjectStore;
use crate::token_access::AllowedCallers;
use crate::usage::{CustomMetrics, ResourceMetrics};

pub(crate) struct Api {
    pub(crate) store: ObjectStore,
    pub(crate) registry: Registry,
    pub(crate) identities: Identities,
    pub(crate) client: OutboundClient,
    pub(crate) metrics: Option<Arc<dyn ResourceMetrics>>,
    pub(crate) custom_metrics: Option<Arc<dyn CustomMetrics>>,
    pub(crate) access: AllowedCallers,
    pub(crate) bookmark_interval: std::time::Duration,
    clock: Clock,
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api")
            .field("version", &self.store.version())
            .finish_non_exhaustive()
    }
}

impl Api {
    pub(crate) fn new(settings: &Settings, store: ObjectStore) -> Self {
        Self {
            store,
            registry: Registry::new(),
            identities: Identities::new(settings.seed),
            client: OutboundClient::default(),
            metrics: settings.metrics.clone(),
            custom_metrics: settings.custom_metrics.clone(),
            access: AllowedCallers::new(settings.token.as_deref()),
            bookmark_interval: settings.bookmark_interval,
            clock: Arc::clone(&settings.clock),
        }
    }

    /// The time for objects.
    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    pub(crate) fn stamp(&self) -> String {
        stamp(self.now())
    }

    /// Serves what the stored definitions define.
    pub(crate) fn refresh_definitions(&self) {
        let (definitions, _) = self.store.list(definition::COLLECTION, None);
        self.registry.refresh(&definitions);
    }
}

/// Whole seconds, UTC.
pub(crate) fn stamp(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
