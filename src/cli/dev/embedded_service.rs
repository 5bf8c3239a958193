//! Service and signer inside the program of `dev`: as in a cluster, but without signals and own
//! log.

use futures::stream;
use tokio_util::sync::CancellationToken;

use super::cluster::ServiceWiring;
use crate::certificates::signer;
use crate::config::{ClusterConnection, Config, ConfigSources, Override};

/// Runs both until it has drained after `wiring.stop`.
///
/// # Errors
/// As [`run`](crate::service::run).
pub async fn run(wiring: ServiceWiring) -> anyhow::Result<()> {
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
    let signer = crate::service::signer(&config, signer::SignerMetrics::default()).await?;
    // Boxed, because the future is large and the caller holds it among others.
    let serving = Box::pin(crate::service::serve(
        config,
        clock,
        stream::once(stop.cancelled_owned()),
    ));
    tokio::select! {
        served = serving => served,
        () = signer.run(|| (), CancellationToken::new()) => anyhow::bail!("the signer ended"),
    }
}
