//! Resolves hosts by the system, or all to one address.

use std::future::ready;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use tower_service::Service;

/// The source of hosts' addresses. The port is that of the URI.
#[derive(Debug, Clone)]
pub(crate) enum Hosts {
    System(GaiResolver),
    /// For every host.
    At(IpAddr),
}

impl Service<Name> for Hosts {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::System(system) => system.poll_ready(context),
            Self::At(_) => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, name: Name) -> Self::Future {
        match self {
            Self::System(system) => {
                let asked = system.call(name);
                Box::pin(async move { Ok(asked.await?.collect::<Vec<_>>().into_iter()) })
            }
            Self::At(address) => {
                let found = vec![SocketAddr::new(*address, 0)];
                Box::pin(ready(Ok(found.into_iter())))
            }
        }
    }
}
