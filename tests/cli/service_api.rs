//! `explain` at addresses that are no service.

use std::net::SocketAddr;

use super::{Called, evenkeel};

/// Serves a router until the test ends.
fn serve(router: axum::Router) -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            axum::serve(listener, router).await
        })
    });
    address
}

fn explain(address: SocketAddr) -> Called {
    let url = format!("http://{address}");
    evenkeel(&["explain", "shop/web-1", "--url", &url])
}

#[test]
fn an_address_that_is_no_service_is_named_with_the_way_to_one() {
    let nowhere = serve(axum::Router::new());
    explain(nowhere).is_refused(1, &["/api/v1/explain", "answers 404"]);
    let other = axum::Router::new().fallback(async || "[]");
    explain(serve(other)).is_refused(1, &["cannot be read"]);
    evenkeel(&["explain", "shop/web-1", "--url", "localhost"])
        .is_refused(2, &["--url", "http://127.0.0.1:8081"]);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = listener.local_addr().unwrap();
    drop(listener);
    explain(closed).is_refused(
        1,
        &[
            "does not answer",
            "kubectl -n evenkeel-system port-forward deploy/evenkeel 8081",
        ],
    );
}
