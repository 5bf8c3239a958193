//! A wire to a server on loopback that a test can cut: what goes over it stays open and says nothing,
//! as where a switch has failed, until it is mended.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A wire; it ends when it is dropped.
pub(crate) struct Link {
    /// The loopback port of its near end.
    pub port: u16,
    whole: Arc<watch::Sender<bool>>,
    accepting: JoinHandle<()>,
}

impl Link {
    /// A wire to a port of loopback.
    pub(crate) async fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let near = listener.local_addr().expect("it is bound").port();
        let whole = Arc::new(watch::Sender::new(true));
        let states = Arc::clone(&whole);
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(pass(stream, port, states.subscribe()));
            }
        });
        Self {
            port: near,
            whole,
            accepting,
        }
    }

    /// From now on nothing passes.
    pub(crate) fn cut(&self) {
        self.whole.send_replace(false);
    }

    /// From now on all passes again, what has waited first.
    pub(crate) fn mend(&self) {
        self.whole.send_replace(true);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn pass(near: TcpStream, port: u16, whole: watch::Receiver<bool>) {
    let Ok(far) = TcpStream::connect(("127.0.0.1", port)).await else {
        return;
    };
    let (near_read, near_write) = near.into_split();
    let (far_read, far_write) = far.into_split();
    tokio::join!(
        copy(near_read, far_write, whole.clone()),
        copy(far_read, near_write, whole)
    );
}

async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut whole: watch::Receiver<bool>,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        let bytes = buffer.get(..read).unwrap_or_default();
        if whole.wait_for(|whole| *whole).await.is_err() || to.write_all(bytes).await.is_err() {
            break;
        }
    }
    // Fails only where the other end has gone already.
    let _ = to.shutdown().await;
}
