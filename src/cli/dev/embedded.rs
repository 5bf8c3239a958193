//! The service inside the program of `dev`: the same as in a cluster, with a configuration that
//! says where that cluster is, and without signals and a log of its own.

use futures::stream;

use super::cluster::Wiring;
use crate::config::{Config, Connection, Override, Sources};

/// Runs the service until it has drained after `wiring.stop`.
///
/// # Errors
/// As [`run`](crate::service::run).
pub async fn run(wiring: Wiring) -> anyhow::Result<()> {
    let Wiring {
        kubeconfig,
        namespace,
        fields,
        clock,
        stop,
    } = wiring;
    let flag = |(path, value)| Override {
        flag: "dev".to_owned(),
        path,
        value,
    };
    let mut config = Config::load(&Sources {
        flags: fields.into_iter().map(flag).collect(),
        ..Sources::default()
    })?;
    config.connection = Connection {
        kubeconfig: Some(kubeconfig),
        namespace: Some(namespace.to_owned()),
    };
    // Boxed, being large: who starts a cluster holds this future among others.
    Box::pin(crate::service::serve(
        config,
        clock,
        stream::once(stop.cancelled_owned()),
    ))
    .await
}
