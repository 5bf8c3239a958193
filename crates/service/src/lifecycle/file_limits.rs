//! The limit of open files: high enough for all connections, so that one listener's never keep
//! another from accepting. Container runtimes leave the soft limit at 1,024 and the hard one far
//! above, for programs that raise it themselves.

use rustix::process::{Resource, getrlimit, setrlimit};

use crate::config::Config;
use crate::server::ListenerSettings;

/// Open files beside the listeners' connections: those to the API server and the metrics source,
/// files being read, and the runtime's own.
const OTHERS: usize = 256;

/// Raises the limit as far as the system allows, and lowers the number of webhook and extender
/// connections if that is not enough.
pub(super) fn provide(config: &mut Config) {
    let provider = config.metrics_provider.as_ref();
    let jobs = provider.map(|provider| [provider.grpc, provider.plaintext_grpc]);
    let jobs = jobs.into_iter().flatten().flatten();
    let others: usize = [
        ListenerSettings::for_probes(),
        ListenerSettings::for_metrics(),
        ListenerSettings::for_dashboard(),
    ]
    .into_iter()
    .chain(jobs.map(|_| ListenerSettings::for_jobs("grpc")))
    .map(|listener| listener.connections.all())
    .sum::<usize>()
        + OTHERS;
    let allowed = raised();
    let connections = &mut config.server.webhook.connections;
    let wanted = *connections;
    *connections = wanted.within(allowed.saturating_sub(others));
    if *connections != wanted {
        tracing::warn!(
            open_files = allowed,
            connections = connections.total.get(),
            wanted = wanted.total.get(),
            "the limit of open files allows fewer connections"
        );
    }
}

/// The limit, after it was raised.
fn raised() -> usize {
    let mut limit = getrlimit(Resource::Nofile);
    let before = limit.current;
    limit.current = limit.maximum;
    let current = match setrlimit(Resource::Nofile, limit) {
        Ok(()) => limit.current,
        Err(error) => {
            tracing::warn!(%error, "the limit of open files stays as it is");
            before
        }
    };
    // None means that there is no limit.
    current.map_or(usize::MAX, |limit| {
        usize::try_from(limit).unwrap_or(usize::MAX)
    })
}
