//! The columns of each built-in resource.

use crate::meta;
use crate::table::cells::{
    budget, completions, count, created, event_message, event_source, external_address, first_seen,
    involved, job_duration, job_status, last_schedule, last_seen, name, node_selector, or_none,
    ready_of_desired, selector, service_ports, size, template_containers, template_images,
};
use crate::table::column::{BuiltinColumn, TableColumns};
use crate::table::{hpa, node, pod};

const NAME: BuiltinColumn = BuiltinColumn::text("Name", name);
const AGE: BuiltinColumn = BuiltinColumn::text("Age", created);
const CONTAINERS: BuiltinColumn = BuiltinColumn::wide("Containers", template_containers);
const IMAGES: BuiltinColumn = BuiltinColumn::wide("Images", template_images);
const SELECTOR: BuiltinColumn =
    BuiltinColumn::wide("Selector", |o, _| selector(o, "/spec/selector"));

/// For kinds without a table of their own, with kubectl's column names.
pub(crate) const NAME_AND_AGE: TableColumns = TableColumns::Builtin(&[
    NAME,
    BuiltinColumn::text("Created At", |o, _| {
        or_none(o, "/metadata/creationTimestamp")
    }),
]);

pub(crate) const NAMESPACE: TableColumns = TableColumns::Builtin(&[
    NAME,
    BuiltinColumn::text("Status", |o, _| or_none(o, "/status/phase")),
    AGE,
]);

pub(crate) const NODE: TableColumns = TableColumns::Builtin(&[
    NAME,
    BuiltinColumn::text("Status", node::status),
    BuiltinColumn::text("Roles", node::roles),
    AGE,
    BuiltinColumn::text("Version", |o, _| node::info(o, "/kubeletVersion")),
    BuiltinColumn::wide("Internal-IP", |o, _| node::address(o, "InternalIP")),
    BuiltinColumn::wide("External-IP", |o, _| node::address(o, "ExternalIP")),
    BuiltinColumn::wide("OS-Image", |o, _| node::info(o, "/osImage")),
    BuiltinColumn::wide("Kernel-Version", |o, _| node::info(o, "/kernelVersion")),
    BuiltinColumn::wide("Container-Runtime", |o, _| {
        node::info(o, "/containerRuntimeVersion")
    }),
]);

pub(crate) const POD: TableColumns = TableColumns::Builtin(&[
    NAME,
    BuiltinColumn::text("Ready", pod::ready),
    BuiltinColumn::text("Status", pod::status),
    BuiltinColumn::text("Restarts", pod::restarts),
    AGE,
    BuiltinColumn::wide("IP", |o, _| or_none(o, "/status/podIP")),
    BuiltinColumn::wide("Node", |o, _| or_none(o, "/spec/nodeName")),
    BuiltinColumn::wide("Nominated Node", |o, _| {
        or_none(o, "/status/nominatedNodeName")
    }),
    BuiltinColumn::wide("Readiness Gates", pod::readiness_gates),
]);

pub(crate) const SERVICE: TableColumns = TableColumns::Builtin(&[
    NAME,
    BuiltinColumn::text("Type", |o, _| or_none(o, "/spec/type")),
    BuiltinColumn::text("Cluster-IP", |o, _| or_none(o, "/spec/clusterIP")),
    BuiltinColumn::text("External-IP", external_address),
    BuiltinColumn::text("Port(s)", service_ports),
    AGE,
    SELECTOR,
]);

pub(crate) const CONFIG_MAP: TableColumns = TableColumns::Builtin(&[
    NAME,
    BuiltinColumn::number("Data", |o, _| size(o, "/data")),
    AGE,
]);

pub(crate) const SECRET: TableColumns = TableColumns::Builtin(&[
    NAME,
    BuiltinColumn::text("Type", |o, _| or_none(o, "/type")),
    BuiltinColumn::number("Data", |o, _| size(o, "/data")),
    AGE,
]);

pub(crate) const SERVICE_ACCOUNT: TableColumns = TableColumns::Builtin(&[NAME, AGE]);

pub(crate) const EVENT: TableColumns = TableColumns::Builtin(&[
    BuiltinColumn::text("Last Seen", last_seen),
    BuiltinColumn::text("Type", |o, _| or_none(o, "/type")),
    BuiltinColumn::text("Reason", |o, _| or_none(o, "/reason")),
    BuiltinColumn::text("Object", involved),
    BuiltinColumn::wide("Subobject", |o, _| {
        meta::text(o, "/involvedObject/fieldPath").into()
    }),
    BuiltinColumn::wide("Source", event_source),
    BuiltinColumn::text("Message", event_message),
    BuiltinColumn::wide("First Seen", first_seen),
    BuiltinColumn::wide("Count", |o, _| {
        meta::number(o, "/count").unwrap_or(1).to_string().into()
    }),
    BuiltinColumn::wide("Name", name),
]);

pub(crate) const DEPLOYMENT: TableColumns = TableColumns::Builtin(&[
    NAME,
    BuiltinColumn::text("Ready", ready_of_desired),
    BuiltinColumn::number("Up-to-date", |o, _| count(o, "/status/updatedReplicas")),
    BuiltinColumn::number("Available", |o, _| count(o, "/status/availableReplicas")),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
]);

pub(crate) const REPLICA_SET: TableColumns = TableColumns::Builtin(&[
    NAME,
    BuiltinColumn::number("Desired", |o, _| count(o, "/spec/replicas")),
    BuiltinColumn::number("Current", |o, _| count(o, "/status/replicas")),
    BuiltinColumn::number("Ready", |o, _| count(o, "/status/readyReplicas")),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
]);

pub(crate) const STATEFUL_SET: TableColumns = TableColumns::Builtin(&[
    NAME,
    BuiltinColumn::text("Ready", ready_of_desired),
    AGE,
    CONTAINERS,
    IMAGES,
]);

pub(crate) const DAEMON_SET: TableColumns = TableColumns::Builtin(&[
    NAME,
    BuiltinColumn::number("Desired", |o, _| count(o, "/status/desiredNumberScheduled")),
    BuiltinColumn::number("Current", |o, _| count(o, "/status/currentNumberScheduled")),
    BuiltinColumn::number("Ready", |o, _| count(o, "/status/numberReady")),
    BuiltinColumn::number("Up-to-date", |o, _| {
        count(o, "/status/updatedNumberScheduled")
    }),
    BuiltinColumn::number("Available", |o, _| count(o, "/status/numberAvailable")),
    BuiltinColumn::text("Node Selector", node_selector),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
]);

pub(crate) const JOB: TableColumns = TableColumns::Builtin(&[
    NAME,
    BuiltinColumn::text("Status", job_status),
    BuiltinColumn::text("Completions", completions),
    BuiltinColumn::text("Duration", job_duration),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
]);

pub(crate) const CRON_JOB: TableColumns = TableColumns::Builtin(&[
    NAME,
    BuiltinColumn::text("Schedule", |o, _| or_none(o, "/spec/schedule")),
    BuiltinColumn::text("Timezone", |o, _| or_none(o, "/spec/timeZone")),
    BuiltinColumn::text("Suspend", |o, _| {
        (o["spec"]["suspend"] == true).to_string().into()
    }),
    BuiltinColumn::number("Active", |o, _| size(o, "/status/active")),
    BuiltinColumn::text("Last Schedule", last_schedule),
    AGE,
    BuiltinColumn::wide("Containers", |o, now| {
        template_containers(&o["spec"]["jobTemplate"], now)
    }),
    BuiltinColumn::wide("Images", |o, now| {
        template_images(&o["spec"]["jobTemplate"], now)
    }),
    BuiltinColumn::wide("Selector", |o, _| {
        selector(o, "/spec/jobTemplate/spec/selector")
    }),
]);

pub(crate) const HORIZONTAL_POD_AUTOSCALER: TableColumns = TableColumns::Builtin(&[
    NAME,
    BuiltinColumn::text("Reference", hpa::reference),
    BuiltinColumn::text("Targets", hpa::targets),
    BuiltinColumn::text("MinPods", hpa::minimum),
    BuiltinColumn::number("MaxPods", |o, _| count(o, "/spec/maxReplicas")),
    BuiltinColumn::number("Replicas", |o, _| count(o, "/status/currentReplicas")),
    AGE,
]);

pub(crate) const LEASE: TableColumns = TableColumns::Builtin(&[
    NAME,
    BuiltinColumn::text("Holder", |o, _| or_none(o, "/spec/holderIdentity")),
    AGE,
]);

pub(crate) const POD_DISRUPTION_BUDGET: TableColumns = TableColumns::Builtin(&[
    NAME,
    BuiltinColumn::text("Min Available", |o, _| budget(o, "/spec/minAvailable")),
    BuiltinColumn::text("Max Unavailable", |o, _| budget(o, "/spec/maxUnavailable")),
    BuiltinColumn::number("Allowed Disruptions", |o, _| {
        count(o, "/status/disruptionsAllowed")
    }),
    AGE,
]);

pub(crate) const PRIORITY_CLASS: TableColumns = TableColumns::Builtin(&[
    NAME,
    BuiltinColumn::number("Value", |o, _| count(o, "/value")),
    BuiltinColumn::text("Global-Default", |o, _| {
        (o["globalDefault"] == true).to_string().into()
    }),
    AGE,
]);

pub(crate) const MUTATING_WEBHOOK_CONFIGURATION: TableColumns = TableColumns::Builtin(&[
    NAME,
    BuiltinColumn::number("Webhooks", |o, _| size(o, "/webhooks")),
    AGE,
]);

pub(crate) const CUSTOM_RESOURCE_DEFINITION: TableColumns = NAME_AND_AGE;
