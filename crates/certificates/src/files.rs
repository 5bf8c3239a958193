//! Names of the files in the Secret.

pub const AUTHORITIES: &str = "ca.crt";
/// The keys of these authorities.
pub const AUTHORITY_KEYS: &str = "ca.key";
pub const SERVER_CERTIFICATE: &str = "tls.crt";
pub const SERVER_KEY: &str = "tls.key";
pub const SCHEDULER_AUTHORITIES: &str = "scheduler-ca.crt";
/// The keys of these authorities.
pub const SCHEDULER_AUTHORITY_KEYS: &str = "scheduler-ca.key";
