//! A proxy in front of a listener that forwards no bytes while it is blocked. To a client it then
//! looks like a process that hangs: it accepts the connection and does not answer. A run has the
//! proxy only if that fault is planned, so that other runs pay nothing.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Bytes forwarded at once.
const BUFFER: usize = 16 * 1024;

/// Blocks and opens the proxy; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Gate(watch::Sender<bool>);

impl Gate {
    /// While blocked, bytes wait.
    pub fn set_blocked(&self, blocked: bool) {
        self.0.send_replace(blocked);
    }

    /// Listens on a free port of loopback in front of `behind`; the future forwards until it is
    /// dropped.
    ///
    /// # Errors
    /// No port can be bound.
    pub async fn open(
        &self,
        behind: SocketAddr,
    ) -> io::Result<(SocketAddr, impl Future<Output = ()> + use<>)> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let blocked = self.0.subscribe();
        let carrying = async move {
            let mut connections = JoinSet::new();
            // Ends only if the listener is broken, which callers then notice.
            while let Ok((caller, _)) = listener.accept().await {
                connections.spawn(carry(caller, behind, blocked.clone()));
                while connections.try_join_next().is_some() {}
            }
        };
        Ok((address, carrying))
    }
}

/// Forwards one connection both ways until both ends have closed it.
async fn carry(caller: TcpStream, behind: SocketAddr, mut blocked: watch::Receiver<bool>) {
    // An error means that the gate is gone.
    let _ = blocked.wait_for(|blocked| !blocked).await;
    let Ok(listener) = TcpStream::connect(behind).await else {
        return;
    };
    // Small answers must not wait for more.
    let _ = caller.set_nodelay(true);
    let _ = listener.set_nodelay(true);
    let (from_caller, to_caller) = caller.into_split();
    let (from_listener, to_listener) = listener.into_split();
    let there = pump(from_caller, to_listener, blocked.clone());
    let back = pump(from_listener, to_caller, blocked);
    // The two ends notice a broken connection.
    let _ = tokio::join!(there, back);
}

async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut blocked: watch::Receiver<bool>,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let read = from.read(&mut buffer).await?;
        let _ = blocked.wait_for(|blocked| !blocked).await;
        if read == 0 {
            return to.shutdown().await;
        }
        to.write_all(&buffer[..read]).await?;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// `say` comes back within `patience`.
    async fn echoed(caller: &mut TcpStream, say: &[u8; 4], patience: Duration) -> bool {
        caller.write_all(say).await.unwrap();
        let mut back = [0; 4];
        let read = tokio::time::timeout(patience, caller.read_exact(&mut back)).await;
        read.is_ok_and(|read| read.is_ok()) && back == *say
    }

    #[tokio::test]
    async fn bytes_stay_while_it_is_blocked_and_go_on_afterwards() {
        let behind = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let gate = Gate::default();
        let (address, carrying) = gate.open(behind.local_addr().unwrap()).await.unwrap();
        tokio::spawn(carrying);
        tokio::spawn(async move {
            let (mut stream, _) = behind.accept().await.unwrap();
            let (mut read, mut write) = stream.split();
            tokio::io::copy(&mut read, &mut write).await.unwrap();
        });
        let long = Duration::from_mins(1);
        let mut caller = TcpStream::connect(address).await.unwrap();
        assert!(echoed(&mut caller, b"open", long).await);
        gate.set_blocked(true);
        let short = Duration::from_millis(200);
        assert!(!echoed(&mut caller, b"lost", short).await);
        gate.set_blocked(false);
        let mut late = [0; 4];
        let read = tokio::time::timeout(long, caller.read_exact(&mut late));
        read.await.unwrap().unwrap();
        assert_eq!(&late, b"lost");
    }
}
