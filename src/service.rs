//! Under construction.

/// Runs the service until it is told to stop.
#[allow(missing_docs, clippy::missing_errors_doc)]
pub async fn run(_config: crate::config::Config) -> anyhow::Result<()> {
    anyhow::bail!("under construction")
}
