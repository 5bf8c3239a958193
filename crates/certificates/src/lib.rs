//! Certificates of the service: authorities, leaves, rotation, the Secret that replicas share, and the
//! caBundle of webhooks and APIService.

pub mod api_service;
pub mod authority;
pub mod bundle;
pub mod ca_bundle;
pub mod certificate_secret;
pub mod error;
pub mod files;
pub mod key_rotation;
pub mod leaf;
pub mod parse;
pub mod pem;
pub mod rotation;
pub mod rotation_plan;
pub mod secret;
pub mod signer_secret;
pub mod subject_alt_names;
