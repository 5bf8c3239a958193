//! Service and signer inside the program of `dev`: as in a cluster, but without signals and own
//! log.

use evenkeel_service::certificates::signer;
use evenkeel_service::config::{ClusterConnection, Config, ConfigSources, Override};
use evenkeel_service::dashboard::ReplayBoard;
use futures::stream;
use tokio_util::sync::CancellationToken;

use super::cluster::ServiceWiring;

/// Runs both until it has drained after `wiring.stop`. The page shows what `replay` holds.
///
/// # Errors
/// As [`run`](evenkeel_service::lifecycle::run).
pub async fn run(wiring: ServiceWiring, replay: ReplayBoard) -> anyhow::Result<()> {
    let ServiceWiring {
        kubeconfig,
        namespace,
        file,
        fields,
        clock,
        stop,
    } = wiring;
    let flag = |(path, value)| Override {
        flag: "dev".to_owned(),
        path,
        value,
    };
    let mut config = Config::load(&ConfigSources {
        file,
        flags: fields.into_iter().map(flag).collect(),
        ..ConfigSources::default()
    })?;
    config.connection = ClusterConnection {
        kubeconfig: Some(kubeconfig),
        context: None,
        namespace: Some(namespace.to_owned()),
    };
    let signer =
        evenkeel_service::lifecycle::signer(&config, signer::SignerMetrics::default()).await?;
    // Boxed, because the future is large and the caller holds it among others.
    let serving = Box::pin(evenkeel_service::lifecycle::serve(
        config,
        clock,
        replay,
        stream::once(stop.cancelled_owned()),
    ));
    tokio::select! {
        served = serving => served,
        () = signer.run(|| (), CancellationToken::new()) => anyhow::bail!("the signer ended"),
    }
}
