//! The particulars of each kind: the values that the server fills in, and the mistakes that it refuses.
//!
//! Only what clients rely on is here; each rule is that of kube-apiserver, with its words.

mod autoscaler;
mod configuration;
mod definition;
pub(crate) mod names;
mod namespace;
pub(crate) mod pod;
pub(crate) mod pod_spec;
mod pod_update;
mod service;
mod webhook;
mod workload;

use serde_json::Value;

use crate::error::Cause;

pub(crate) use crate::rules::pod_update::resize;

/// The rules of a kind; each is a pure function of objects that were decoded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// Fills in what is missing.
    pub(crate) defaults: fn(&mut Value),
    /// Completes a new object that has its name and UID.
    pub(crate) complete: fn(&mut Value),
    /// Finds mistakes in the object by itself.
    pub(crate) validate: fn(&Value, &mut Vec<Cause>),
    /// Finds mistakes in the change from the first to the second.
    pub(crate) validate_update: fn(&Value, &Value, &mut Vec<Cause>),
}

impl Rules {
    /// A kind that is stored as it comes.
    pub(crate) const NONE: Self = Self {
        defaults: |_| (),
        complete: |_| (),
        validate: |_, _| (),
        validate_update: |_, _, _| (),
    };
}

pub(crate) const NAMESPACE: Rules = Rules {
    defaults: namespace::defaults,
    ..Rules::NONE
};
pub(crate) const NODE: Rules = Rules::NONE;
pub(crate) const POD: Rules = Rules {
    defaults: pod::defaults,
    complete: pod::complete,
    validate: pod::validate,
    validate_update: pod_update::validate,
};
pub(crate) const SERVICE: Rules = Rules {
    defaults: service::defaults,
    validate: service::validate,
    ..Rules::NONE
};
pub(crate) const CONFIG: Rules = Rules {
    validate_update: configuration::validate_update,
    ..Rules::NONE
};
pub(crate) const SECRET: Rules = Rules {
    defaults: configuration::secret_defaults,
    ..CONFIG
};
pub(crate) const REPLICATION_CONTROLLER: Rules = Rules {
    defaults: workload::replica_set_defaults,
    ..Rules::NONE
};
pub(crate) const DEPLOYMENT: Rules = Rules {
    defaults: workload::deployment_defaults,
    ..WORKLOAD
};
pub(crate) const REPLICA_SET: Rules = Rules {
    defaults: workload::replica_set_defaults,
    ..WORKLOAD
};
pub(crate) const STATEFUL_SET: Rules = Rules {
    defaults: workload::stateful_set_defaults,
    ..WORKLOAD
};
pub(crate) const DAEMON_SET: Rules = Rules {
    defaults: workload::daemon_set_defaults,
    ..WORKLOAD
};
const WORKLOAD: Rules = Rules {
    validate: workload::validate,
    validate_update: workload::validate_update,
    ..Rules::NONE
};
pub(crate) const JOB: Rules = Rules {
    defaults: workload::job_defaults,
    complete: workload::job_complete,
    validate: workload::validate_job,
    ..Rules::NONE
};
pub(crate) const CRON_JOB: Rules = Rules {
    defaults: workload::cron_job_defaults,
    ..Rules::NONE
};
pub(crate) const HORIZONTAL_POD_AUTOSCALER: Rules = Rules {
    defaults: autoscaler::defaults,
    validate: autoscaler::validate,
    ..Rules::NONE
};
pub(crate) const MUTATING_WEBHOOK_CONFIGURATION: Rules = Rules {
    defaults: webhook::defaults,
    validate: webhook::validate,
    ..Rules::NONE
};
pub(crate) const CUSTOM_RESOURCE_DEFINITION: Rules = Rules {
    defaults: definition::defaults,
    complete: definition::complete,
    validate: definition::validate,
    ..Rules::NONE
};
