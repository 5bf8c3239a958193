//! An endpoint on loopback that external checks call.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::HeaderMap;
use axum::routing::post;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use tokio::net::TcpListener;

/// An endpoint, with the last question it received and the answer it gives.
#[derive(Clone)]
pub(crate) struct Checker {
    pub(crate) port: u16,
    answer: Arc<Mutex<Value>>,
    /// The token and the body.
    asked: Arc<Mutex<Option<(String, Value)>>>,
}

impl Checker {
    pub(crate) async fn start(answer: Value) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let checker = Self {
            port: listener.local_addr().unwrap().port(),
            answer: Arc::new(Mutex::new(answer)),
            asked: Arc::default(),
        };
        let known = checker.clone();
        let answer = move |headers: HeaderMap, body: String| async move {
            let token = headers["authorization"].to_str().unwrap().to_owned();
            let body = serde_json::from_str(&body).unwrap();
            *known.asked.lock().unwrap() = Some((token, body));
            known.answer.lock().unwrap().to_string()
        };
        let router = Router::new().route("/changes", post(answer));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        checker
    }

    pub(crate) fn answers(&self, answer: Value) {
        *self.answer.lock().unwrap() = answer;
    }

    pub(crate) fn was_asked(&self) -> bool {
        self.asked.lock().unwrap().is_some()
    }

    /// The last question: the claims of the token, and the body.
    pub(crate) fn asked(&self) -> (Value, Value) {
        let asked = self.asked.lock().unwrap().clone();
        let (token, body) = asked.expect("a question");
        let claims = token.strip_prefix("Bearer ").unwrap().split('.').nth(1);
        let claims = URL_SAFE_NO_PAD.decode(claims.unwrap()).unwrap();
        (serde_json::from_slice(&claims).unwrap(), body)
    }
}
