//! The custom resources of evenkeel.dev, with the schemas that are derived from them.

pub mod cron_hpa;
pub mod custom_resources;
pub mod horizontal_portrait;
pub mod ihpa;
pub mod portrait_data;
pub mod portrait_spec;
pub mod replica_counts;
pub mod replica_profile;
