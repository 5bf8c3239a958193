//! The examples run and hold what they assert.

#[path = "../../examples/controller.rs"]
mod controller;
#[path = "../../examples/webhook.rs"]
mod webhook;

#[tokio::test]
async fn controllers_are_tested() {
    controller::test().await.expect("the example runs");
}

#[tokio::test]
async fn webhooks_are_tested() {
    webhook::test().await.expect("the example runs");
}
