//! External checks of changes: a Service in the API server with a real server behind it, which has the change rolled
//! back, and then lets it go on.

use serde_json::json;

use super::ihpa::{constant, in_stages, install, scale_by, until_replicas, until_told};
use super::world::{MIN, World, with_world};
use crate::support::checker::Checker;
use crate::support::dev_api::create;

/// Makes the Service that leads to the endpoint, and the account of the tokens for it.
async fn serve(world: &World<'_>, checker: &Checker) {
    let service = json!({"metadata": {"name": "smoke"}, "spec": {
        "clusterIP": "127.0.0.1", "ports": [{"port": checker.port}]}});
    create(world.client, "/api/v1/namespaces/shop/services", &service).await;
    let account = json!({"metadata": {"name": "evenkeel-checks"}});
    let accounts = "/api/v1/namespaces/evenkeel-system/serviceaccounts";
    create(world.client, accounts, &account).await;
}

#[test]
fn who_is_asked_outside_has_a_change_taken_back_and_lets_it_go_on() {
    with_world(async |world| {
        install(world).await;
        let checker = Checker::start(json!({"verdict": "Fail", "message": "5 % of\norders"})).await;
        serve(world, &checker).await;
        let checkers = json!([{"type": "External", "stabilizationAction": "Rollback",
            "external": {"name": "smoke", "config": {"suite": "quick"},
                "service": {"name": "smoke", "port": checker.port, "path": "/changes"}}}]);
        let more = json!({"behavior": in_stages(), "stabilityCheckers": checkers});
        scale_by(world, &[constant(1, MIN + 6)], &more).await;
        let service = world.serve(&[]).await;
        until_replicas(world, "the first step is made", |count| count == MIN + 2).await;
        until_told(world, "nobody is asked where it is off", |status| {
            let told = status["stability"]["checkers"][0]["message"].as_str();
            told.is_some_and(|told| told.contains("scaling.checks.external is off"))
        })
        .await;
        assert!(!checker.was_asked());
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
