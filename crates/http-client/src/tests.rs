#![allow(clippy::unwrap_used)]

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

const LIMIT: Duration = Duration::from_mins(1);

/// Reads one head and sends these bytes; then stays silent or breaks off.
async fn server(answer: &'static str, stays: bool) -> Uri {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut [0; 4096]).await.unwrap();
        stream.write_all(answer.as_bytes()).await.unwrap();
        if stays {
            std::future::pending::<()>().await;
        }
    });
    format!("http://{address}/").parse().unwrap()
}

#[tokio::test]
async fn an_answer_is_read_up_to_its_limit() {
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";
    for (most, expected) in [(5, Some("hello")), (4, None)] {
        let response = PooledHttpClient::plain()
            .get(server(answer, true).await, LIMIT)
            .await;
        let text = response.unwrap().text(most).await;
        assert_eq!(text.ok().as_deref(), expected);
    }
}

#[tokio::test]
async fn a_redirect_is_an_answer() {
    let answer = "HTTP/1.1 302 Found\r\nlocation: http://elsewhere\r\ncontent-length: 0\r\n\r\n";
    let response = PooledHttpClient::plain()
        .get(server(answer, true).await, LIMIT)
        .await;
    assert_eq!(response.unwrap().status(), StatusCode::FOUND);
}

#[tokio::test]
async fn each_fault_has_its_reason() {
    let cut = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhe";
    let endless = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n";
    let short = Duration::from_millis(200);
    for (answer, stays, limit, reason) in [
        (cut, false, LIMIT, "Transport"),
        (endless, true, short, "Timeout"),
        (endless, true, LIMIT, "TooLarge"),
    ] {
        let response = PooledHttpClient::plain()
            .get(server(answer, stays).await, limit)
            .await;
        let most = if reason == "TooLarge" { 2 } else { 100 };
        let error = response.unwrap().bytes(most).await.unwrap_err();
        assert_eq!(error.reason(), reason);
    }
    let hangs = PooledHttpClient::plain()
        .get(server("", true).await, short)
        .await;
    assert_eq!(hangs.unwrap_err().reason(), "Timeout");
    let refused = PooledHttpClient::plain()
        .get("http://127.0.0.1:1/", LIMIT)
        .await;
    assert_eq!(refused.unwrap_err().reason(), "Connect");
    let none = PooledHttpClient::plain().get("no address", LIMIT).await;
    assert_eq!(none.unwrap_err().reason(), "Request");
}

#[tokio::test]
async fn a_client_that_is_pinned_connects_to_its_address_whatever_the_host() {
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";
    let port = server(answer, true).await.port_u16().unwrap();
    let client = PooledHttpClient::pinned([127, 0, 0, 1].into(), None).unwrap();
    let address = format!("http://nowhere.invalid:{port}/");
    let text = client.get(address, LIMIT).await.unwrap().text(5).await;
    assert_eq!(text.unwrap(), "hello");
}

#[test]
fn a_base_keeps_its_path() {
    let base: Uri = "https://metrics.example/prefix/".parse().unwrap();
    assert_eq!(
        join(&base, "api/v1/query", &[("a b", "1&2")]).unwrap(),
        "https://metrics.example/prefix/api/v1/query?a+b=1%262"
    );
    let base: Uri = "http://metrics.example?tenant=a".parse().unwrap();
    assert_eq!(
        join(&base, "/api/v1/query", &[]).unwrap(),
        "http://metrics.example/api/v1/query?tenant=a"
    );
}

#[test]
fn a_file_without_certificate_is_refused() {
    for pem in ["", "no certificate"] {
        let client = PooledHttpClient::new(TrustAnchors::Authorities(pem.as_bytes()), None);
        assert!(matches!(client, Err(TlsError::NoAuthority)));
    }
}

#[test]
fn an_address_is_a_scheme_a_host_and_a_port_that_is_one() {
    for good in [
        "http://prom",
        "https://prom:9090/p?q=1",
        "http://[::1]:80",
        "http://10.0.0.1:1/",
    ] {
        assert_eq!(
            server_address(good).map(|uri| uri.to_string().starts_with(good)),
            Ok(true)
        );
    }
    for (bad, why) in [
        ("prom:9090", AddressError::NotHttp),
        ("ftp://prom", AddressError::NotHttp),
        ("http://:9090", AddressError::NotHttp),
        ("http://a b", AddressError::NotHttp),
        ("http://me:secret@prom", AddressError::Credentials),
        ("http://me:p^w@prom", AddressError::Credentials),
        ("http://prom:99999", AddressError::Port),
        ("http://prom:9O90", AddressError::Port),
        ("http://prom:", AddressError::Port),
        ("http://[::1]:0", AddressError::Port),
    ] {
        assert_eq!(server_address(bad), Err(why), "{bad}");
    }
}
