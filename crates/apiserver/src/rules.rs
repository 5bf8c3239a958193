//! The particulars of each kind: defaults and refused mistakes, as far as clients rely on them.
//! Each rule is that of kube-apiserver, with its words.

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

/// Pure functions of decoded objects.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KindRules {
    /// Fills in what is missing.
    pub(crate) defaults: fn(&mut Value),
    /// Completes a new object that has its name and UID.
    pub(crate) complete: fn(&mut Value),
    /// Finds mistakes in one object.
    pub(crate) validate: fn(&Value, &mut Vec<Cause>),
    /// Finds mistakes in the change from the first to the second.
    pub(crate) validate_update: fn(&Value, &Value, &mut Vec<Cause>),
}

impl KindRules {
    /// The object is stored as received.
    pub(crate) const NONE: Self = Self {
        defaults: |_| (),
        complete: |_| (),
        validate: |_, _| (),
        validate_update: |_, _, _| (),
    };
}

pub(crate) const NAMESPACE: KindRules = KindRules {
    defaults: namespace::defaults,
    ..KindRules::NONE
};
pub(crate) const NODE: KindRules = KindRules::NONE;
pub(crate) const POD: KindRules = KindRules {
    defaults: pod::defaults,
    complete: pod::complete,
    validate: pod::validate,
    validate_update: pod_update::validate,
};
pub(crate) const SERVICE: KindRules = KindRules {
    defaults: service::defaults,
    validate: service::validate,
    ..KindRules::NONE
};
pub(crate) const CONFIG: KindRules = KindRules {
    validate_update: configuration::validate_update,
    ..KindRules::NONE
};
pub(crate) const SECRET: KindRules = KindRules {
    defaults: configuration::secret_defaults,
    ..CONFIG
};
pub(crate) const REPLICATION_CONTROLLER: KindRules = KindRules {
    defaults: workload::replica_set_defaults,
    ..KindRules::NONE
};
pub(crate) const DEPLOYMENT: KindRules = KindRules {
    defaults: workload::deployment_defaults,
    ..WORKLOAD
};
pub(crate) const REPLICA_SET: KindRules = KindRules {
    defaults: workload::replica_set_defaults,
    ..WORKLOAD
};
pub(crate) const STATEFUL_SET: KindRules = KindRules {
    defaults: workload::stateful_set_defaults,
    ..WORKLOAD
};
pub(crate) const DAEMON_SET: KindRules = KindRules {
    defaults: workload::daemon_set_defaults,
    ..WORKLOAD
};
const WORKLOAD: KindRules = KindRules {
    validate: workload::validate,
    validate_update: workload::validate_update,
    ..KindRules::NONE
};
pub(crate) const JOB: KindRules = KindRules {
    defaults: workload::job_defaults,
    complete: workload::job_complete,
    validate: workload::validate_job,
    ..KindRules::NONE
};
pub(crate) const CRON_JOB: KindRules = KindRules {
    defaults: workload::cron_job_defaults,
    ..KindRules::NONE
};
pub(crate) const HORIZONTAL_POD_AUTOSCALER: KindRules = KindRules {
    defaults: autoscaler::defaults,
    validate: autoscaler::validate,
    ..KindRules::NONE
};
pub(crate) const MUTATING_WEBHOOK_CONFIGURATION: KindRules = KindRules {
    defaults: webhook::defaults,
    validate: webhook::validate,
    ..KindRules::NONE
};
pub(crate) const CUSTOM_RESOURCE_DEFINITION: KindRules = KindRules {
    defaults: definition::defaults,
    complete: definition::complete,
    validate: definition::validate,
    ..KindRules::NONE
};
