//! The composition root of the signer: makes and publishes certificates, and serves only probes and
//! Prometheus.

use anyhow::Context as _;
use tokio_util::sync::CancellationToken;

use super::components::{Tasks, lasting};
use super::{client, failure, file_limits, led, listeners};
use crate::certificates::{ServingCertificateSource, Signer, signer};
use crate::config::Config;
use crate::server::{Drain, Readiness, signals};
use crate::telemetry;

/// Runs the signer until a signal.
///
/// # Errors
/// A configuration by which there is nothing to sign, an address that cannot be bound, or a
/// kubeconfig that cannot be used.
pub async fn sign(mut config: Config) -> anyhow::Result<()> {
    telemetry::init(&config.log)?;
    file_limits::provide(&mut config);
    let signals = signals().context("signals cannot be received")?;
    let metrics = signer::SignerMetrics::default();
    let readiness = Readiness::default();
    let placed = readiness.condition("certificates in place");
    let signer = signer(&config, metrics.clone()).await?;
    let drain = Drain::new(config.server.drain);
    let mut tasks = Tasks::new();
    let mut registry = telemetry::registry();
    metrics.register(&mut registry);
    listeners::alone(&config, registry, readiness, &drain, &mut tasks)?;
    let cancel = CancellationToken::new();
    let signing = signer.run(move || placed.met(), cancel.clone());
    lasting(&mut tasks, "signer", &cancel, signing);
    let ended = tokio::select! {
        drained = drain.run(signals) => {
            tracing::info!(?drained, "ended");
            Ok(())
        }
        error = failure(&mut tasks) => Err(error),
    };
    // A round that is under way is dropped between two writes at most, and each stands by itself.
    cancel.cancel();
    while tasks.join_next().await.is_some() {}
    ended
}

/// The signer by the configuration, with its own way to the API server.
///
/// # Errors
/// A configuration by which there is nothing to sign, or a kubeconfig that cannot be used.
pub async fn signer(config: &Config, metrics: signer::SignerMetrics) -> anyhow::Result<Signer> {
    let ServingCertificateSource::SelfManaged(settings) = &config.certificates.serving else {
        anyhow::bail!(
            "certificates.mode is files: there is nothing to sign; accepted: self-managed"
        );
    };
    let mut kubernetes = client::kubernetes(&config.connection).await?;
    // The API server's audit log tells the signer from replicas with the same kubeconfig.
    let agent = hyper::header::HeaderValue::from_static(signer::NAME);
    kubernetes.headers.push((hyper::header::USER_AGENT, agent));
    let given = config.connection.namespace.clone();
    let namespace = given.unwrap_or_else(|| kubernetes.default_namespace.clone());
    let client = client::connect(kubernetes)?;
    let led = led(config).into_iter().map(|(name, _)| name).collect();
    let settings = settings.clone();
    Ok(Signer::new(client, namespace, settings, led, metrics))
}
