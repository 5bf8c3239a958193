//! Objects and bodies as Kubernetes writes them, held against what Kubernetes itself makes of them.

#[path = "wire/pod_requests.rs"]
mod pod_requests;
