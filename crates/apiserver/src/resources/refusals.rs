//! Refusals for an object of a resource, in the words of kube-apiserver.

use serde_json::{Value, json};

use crate::error::{ApiError, Cause, StatusReason};
use crate::resources::resource::Resource;

impl Resource {
    pub(crate) fn not_found(&self, name: &str) -> ApiError {
        let message = format!("{} {name:?} not found", self.qualified());
        self.refusal(StatusReason::NotFound, name, message)
    }

    pub(crate) fn already_exists(&self, name: &str) -> ApiError {
        let message = format!("{} {name:?} already exists", self.qualified());
        self.refusal(StatusReason::AlreadyExists, name, message)
    }

    /// 409: the object does not fit the request.
    pub(crate) fn conflict(&self, name: &str, why: &str) -> ApiError {
        let qualified = self.qualified();
        let message = format!("Operation cannot be fulfilled on {qualified} {name:?}: {why}");
        self.refusal(StatusReason::Conflict, name, message)
    }

    /// 409: the object changed since the client read it.
    pub(crate) fn modified(&self, name: &str) -> ApiError {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        self.conflict(name, why)
    }

    pub(crate) fn forbidden(&self, name: &str, why: &str) -> ApiError {
        let message = format!("{} {name:?} is forbidden: {why}", self.qualified());
        self.refusal(StatusReason::Forbidden, name, message)
    }

    pub(crate) fn invalid(&self, name: &str, causes: &[Cause]) -> ApiError {
        let lines: Vec<String> = causes
            .iter()
            .map(|cause| format!("{}: {}", cause.field, cause.message))
            .collect();
        let list = match lines.as_slice() {
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        let kind = match self.group.as_str() {
            "" => self.kind.clone(),
            group => format!("{}.{group}", self.kind),
        };
        let causes: Vec<Value> = causes.iter().map(Cause::to_value).collect();
        let details = json!({
            "name": name, "group": self.group, "kind": self.kind, "causes": causes,
        });
        let message = format!("{kind} {name:?} is invalid: {list}");
        ApiError::about(StatusReason::Invalid, details, message)
    }

    fn refusal(&self, why: StatusReason, name: &str, message: String) -> ApiError {
        let details = json!({"name": name, "group": self.group, "kind": self.plural});
        ApiError::about(why, details, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::catalog;

    #[test]
    fn messages_are_those_that_kubectl_users_know() {
        let deployments = catalog::find("apps", "deployments");
        let pods = catalog::find("", "pods");
        let cause = Cause::required("spec.selector", "");
        for (error, message, code) in [
            (pods.not_found("web"), "pods \"web\" not found", 404),
            (
                deployments.already_exists("web"),
                "deployments.apps \"web\" already exists",
                409,
            ),
            (
                deployments.invalid("web", &[cause]),
                "Deployment.apps \"web\" is invalid: spec.selector: Required value",
                422,
            ),
        ] {
            assert_eq!(error.body()["message"], message);
            assert_eq!(error.body()["code"], code);
            assert_eq!(error.body()["kind"], "Status");
        }
    }
}
