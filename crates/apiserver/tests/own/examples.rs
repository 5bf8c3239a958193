//! The examples run and hold what they assert.

use tokio::runtime::Runtime;

#[path = "../../examples/controller.rs"]
mod controller;
#[path = "../../examples/webhook.rs"]
mod webhook;

fn controllers_are_tested() {
    let runtime = Runtime::new().expect("a runtime starts");
    let ended = runtime.block_on(controller::test());
    ended.expect("the example runs");
}

fn webhooks_are_tested() {
    let runtime = Runtime::new().expect("a runtime starts");
    let ended = runtime.block_on(webhook::test());
    ended.expect("the example runs");
}

crate::support::trial::suite!([] => [
    controllers_are_tested,
    webhooks_are_tested,
]);
