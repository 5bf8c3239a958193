//! Where the service listens on loopback, and where it is called: a fault may stand in between.

use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::{DevClusterOptions, StartError};
use evenkeel_sandbox::blockable_proxy::Gate;
use evenkeel_sandbox::scenario::faults::Fault;
use evenkeel_sandbox::scenario::faults::FaultKind;

#[derive(Debug, Clone, Copy)]
pub(super) struct LoopbackAddresses {
    pub(super) https: SocketAddr,
    pub(super) http: SocketAddr,
    pub(super) metrics: SocketAddr,
    pub(super) dashboard: SocketAddr,
}

impl LoopbackAddresses {
    /// Four free ports, held until all are known so that they differ.
    pub(super) async fn free() -> Result<Self, StartError> {
        let failed = |source| StartError::Io {
            what: "no port is free",
            source,
        };
        let mut held = Vec::new();
        for _ in 0..4 {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
            held.push(listener.map_err(failed)?);
        }
        let address = |at: usize| held[at].local_addr().map_err(failed);
        Ok(Self {
            https: address(0)?,
            http: address(1)?,
            dashboard: address(2)?,
            metrics: address(3)?,
        })
    }

    /// The addresses for callers: a gate in front of webhook and extender if they are to be
    /// blocked.
    pub(super) async fn called(
        self,
        options: &DevClusterOptions,
        gate: &Gate,
        tasks: &mut JoinSet<()>,
    ) -> Result<Self, StartError> {
        let is_hang = |fault: &Fault| fault.kind == FaultKind::Hang;
        if !options.faults.iter().any(is_hang) {
            return Ok(self);
        }
        let opened = gate.open(self.https).await;
        let (https, carrying) = opened.map_err(|source| StartError::Io {
            what: "the gate before the service cannot listen",
            source,
        })?;
        tasks.spawn(carrying);
        Ok(Self { https, ..self })
    }
}
