//! Where the service listens on loopback, and where it is called: a fault may stand in between.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpSocket;
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

/// Keeps ports from other programs until it is dropped. On Linux the service can listen on them meanwhile, because
/// both sides reuse addresses and these sockets do not listen. Elsewhere that is not allowed, so they are given up.
#[derive(Debug)]
pub(super) struct ReservedPorts(
    #[expect(dead_code, reason = "the sockets are held, not used")] Vec<TcpSocket>,
);

impl LoopbackAddresses {
    /// Four free ports that differ.
    pub(super) fn reserve() -> Result<(Self, ReservedPorts), StartError> {
        let failed = |source| StartError::Io {
            what: "no port is free",
            source,
        };
        let mut held = Vec::new();
        for _ in 0..4 {
            held.push(reserved().map_err(failed)?);
        }
        let address = |at: usize| held[at].local_addr().map_err(failed);
        let addresses = Self {
            https: address(0)?,
            http: address(1)?,
            dashboard: address(2)?,
            metrics: address(3)?,
        };
        held.retain(|_| cfg!(target_os = "linux"));
        Ok((addresses, ReservedPorts(held)))
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

fn reserved() -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn only_the_service_can_listen_on_a_reserved_port() {
        let (addresses, reserved) = LoopbackAddresses::reserve().unwrap();
        let stranger = || {
            let socket = TcpSocket::new_v4().unwrap();
            socket.set_reuseaddr(false).unwrap();
            socket.bind(addresses.https)
        };
        assert!(stranger().is_err());
        // Like the service's, it reuses addresses.
        let service = tokio::net::TcpListener::bind(addresses.https)
            .await
            .unwrap();
        let (called, taken) = tokio::join!(
            tokio::net::TcpStream::connect(addresses.https),
            service.accept()
        );
        assert!(called.is_ok() && taken.is_ok());
        drop((service, called, taken, reserved));
        let all = [addresses.http, addresses.dashboard, addresses.metrics];
        assert!(!all.contains(&addresses.https));
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(addresses.http).unwrap();
    }
}
