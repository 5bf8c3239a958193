//! Sockets that listen, for the machine's address families. `[::]` takes IPv4 as well, whatever the
//! system's default. Without IPv6, all addresses are those of IPv4.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;

/// Connections that wait to be accepted; the system has a bound of its own, usually this.
const BACKLOG: i32 = 4096;

/// Listens at `address`, or at all IPv4 addresses if all of both families are asked for and there
/// is no IPv6.
pub(super) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    listen_by(address, bound)
}

fn listen_by<T>(address: SocketAddr, bound: impl Fn(SocketAddr) -> io::Result<T>) -> io::Result<T> {
    match bound(address) {
        Err(error) if is_all(address) && lacks_ipv6(&error) => {
            let all = SocketAddr::from((Ipv4Addr::UNSPECIFIED, address.port()));
            tracing::info!(%address, bound = %all, "this machine has no IPv6");
            bound(all)
        }
        bound => bound,
    }
}

fn bound(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    if is_all(address) {
        socket.set_only_v6(false)?;
    }
    // A replica that starts anew need not wait for the connections of the last one to be forgotten.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

fn is_all(address: SocketAddr) -> bool {
    address.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED)
}

/// The kernel is built without it, or it is switched off.
fn lacks_ipv6(error: &io::Error) -> bool {
    let error = Errno::from_io_error(error);
    error == Some(Errno::AFNOSUPPORT) || error == Some(Errno::ADDRNOTAVAIL)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn without_ipv6_all_addresses_are_those_of_ipv4() {
        let ipv4_only = |error: Errno| {
            move |address: SocketAddr| match address {
                SocketAddr::V4(_) => Ok(address),
                SocketAddr::V6(_) => Err(io::Error::from(error)),
            }
        };
        for error in [Errno::AFNOSUPPORT, Errno::ADDRNOTAVAIL] {
            let bound = listen_by(all("[::]:8443"), ipv4_only(error));
            assert_eq!(bound.unwrap(), all("0.0.0.0:8443"));
            let one = listen_by(all("[fd00::1]:8443"), ipv4_only(error));
            assert!(one.is_err(), "one address is not another");
        }
        let taken = listen_by(all("[::]:8443"), ipv4_only(Errno::ADDRINUSE));
        assert_eq!(taken.unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }

    #[tokio::test]
    async fn all_addresses_take_callers_of_each_family_that_there_is() {
        let socket = listen(all("[::]:0")).unwrap();
        let address = socket.local_addr().unwrap();
        let mut callers = vec![IpAddr::from(Ipv4Addr::LOCALHOST)];
        if address.is_ipv6() {
            callers.push(Ipv6Addr::LOCALHOST.into());
        }
        for caller in callers {
            let calling = tokio::net::TcpStream::connect((caller, address.port()));
            let (called, accepted) = tokio::join!(calling, socket.accept());
            called.unwrap();
            assert_eq!(accepted.unwrap().1.ip().to_canonical(), caller);
        }
    }
}
