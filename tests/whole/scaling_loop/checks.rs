//! External checks of changes: a Service in the API server with a real server behind it, which has the change rolled
//! back, and then lets it go on.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::HeaderMap;
use axum::routing::post;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::ihpa::{constant, in_stages, install, scale_by, until_replicas, until_told};
use super::world::{MIN, World, with_world};
use crate::support::dev_api::create;

/// Somebody who is asked, with what he was asked last and what he answers.
#[derive(Clone)]
struct Checker {
    port: u16,
    answer: Arc<Mutex<Value>>,
    /// The token and the body.
    asked: Arc<Mutex<Option<(String, Value)>>>,
}

impl Checker {
    async fn start(answer: Value) -> Self {
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

    fn answers(&self, answer: Value) {
        *self.answer.lock().unwrap() = answer;
    }

    /// What he was asked last: the claims of the token, and the body.
    fn asked(&self) -> (Value, Value) {
        let asked = self.asked.lock().unwrap().clone();
        let (token, body) = asked.expect("a question");
        let claims = token.strip_prefix("Bearer ").unwrap().split('.').nth(1);
        let claims = URL_SAFE_NO_PAD.decode(claims.unwrap()).unwrap();
        (serde_json::from_slice(&claims).unwrap(), body)
    }

    /// Makes the Service that leads here, and the account in whose name he is asked.
    async fn serve_in(&self, world: &World<'_>) {
        let service = json!({"metadata": {"name": "smoke"}, "spec": {
            "clusterIP": "127.0.0.1", "ports": [{"port": self.port}]}});
        create(world.client, "/api/v1/namespaces/shop/services", &service).await;
        let account = json!({"metadata": {"name": "evenkeel-checks"}});
        let accounts = "/api/v1/namespaces/evenkeel-system/serviceaccounts";
        create(world.client, accounts, &account).await;
    }
}

#[test]
fn who_is_asked_outside_has_a_change_taken_back_and_lets_it_go_on() {
    with_world(async |world| {
        install(world).await;
        let checker = Checker::start(json!({"verdict": "Fail", "message": "5 % of\norders"})).await;
        checker.serve_in(world).await;
        let checkers = json!([{"type": "External", "stabilizationAction": "Rollback",
            "external": {"name": "smoke", "config": {"suite": "quick"},
                "service": {"name": "smoke", "port": checker.port, "path": "/changes"}}}]);
        let more = json!({"behavior": in_stages(), "stabilityCheckers": checkers});
        scale_by(world, &[constant(1, MIN + 6)], &more).await;
        let service = world.serve(&[]).await;
        until_replicas(world, "the first step is made", |count| count == MIN + 2).await;
        until_told(world, "nobody is asked where it is off", |status| {
            let told = status["stability"]["checkers"][0]["message"].as_str();
            told.is_some_and(|told| told.contains("scaling.checks.external is not on"))
        })
        .await;
        assert!(checker.asked.lock().unwrap().is_none());
        service.stop().await;

        let on = [("scaling.checks.external", "true")];
        let service = world.serve(&on).await;
        until_replicas(world, "the step is taken back", |count| count == MIN).await;
        let note = world.until_event("StabilityCheckFailed").await;
        assert!(note.contains("smoke: 5 % of orders"), "{note}");
        let (claims, body) = checker.asked();
        let audience = format!("http://smoke.shop.svc:{}", checker.port);
        assert_eq!(claims["aud"], json!([audience]));
        let account = "system:serviceaccount:evenkeel-system:evenkeel-checks";
        assert_eq!(claims["sub"], account);
        let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
        for (field, expected) in [
            ("namespace", json!("shop")),
            ("name", json!("web")),
            ("check", json!("smoke")),
            ("target", target),
            ("direction", json!("Up")),
            ("to", json!(MIN + 6)),
            ("config", json!({"suite": "quick"})),
        ] {
            assert_eq!(body[field], expected, "{body}");
        }
        assert_eq!(body["from"]["onlineReplicas"], MIN, "{body}");

        checker.answers(json!({"verdict": "Pass"}));
        until_replicas(world, "the change goes on", |count| count == MIN + 6).await;
        let (_, body) = checker.asked();
        assert!(body["steppedAt"].is_string(), "{body}");
        service.stop().await;
    });
}
