//! Refusals of the APIs that Evenkeel serves itself, in the form of the Kubernetes API.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;

/// The object that says that a request failed, with its code, its reason and a text for people.
pub fn status(code: u16, reason: &str, message: String) -> Status {
    Status {
        code: Some(i32::from(code)),
        message: Some(message),
        reason: Some(reason.to_owned()),
        status: Some("Failure".to_owned()),
        ..Status::default()
    }
}
