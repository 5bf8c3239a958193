//! The messages of Kapacity's `io.kapacitystack.metric.ProviderService`, written as types, so that
//! a build needs no protobuf compiler. Its field numbers are a contract with jobs that Evenkeel
//! does not control.

use std::collections::HashMap;

use prost_types::{Duration, Timestamp};

#[derive(Clone, PartialEq, prost::Message)]
pub struct QueryLatestRequest {
    #[prost(message, optional, tag = "1")]
    pub query: Option<KapacityQuery>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct QueryLatestResponse {
    #[prost(message, repeated, tag = "1")]
    pub samples: Vec<KapacitySample>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct QueryRequest {
    #[prost(message, optional, tag = "1")]
    pub query: Option<KapacityQuery>,
    #[prost(message, optional, tag = "2")]
    pub start: Option<Timestamp>,
    #[prost(message, optional, tag = "3")]
    pub end: Option<Timestamp>,
    #[prost(message, optional, tag = "4")]
    pub step: Option<Duration>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct QueryResponse {
    #[prost(message, repeated, tag = "1")]
    pub series: Vec<KapacitySeries>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct KapacitySeries {
    #[prost(message, repeated, tag = "1")]
    pub points: Vec<KapacityPoint>,
    #[prost(map = "string, string", tag = "2")]
    pub labels: HashMap<String, String>,
    #[prost(message, optional, tag = "3")]
    pub window: Option<Duration>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct KapacitySample {
    #[prost(message, optional, tag = "1")]
    pub point: Option<KapacityPoint>,
    #[prost(map = "string, string", tag = "2")]
    pub labels: HashMap<String, String>,
    #[prost(message, optional, tag = "3")]
    pub window: Option<Duration>,
}

/// A value at a time in milliseconds since 1970.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct KapacityPoint {
    #[prost(int64, tag = "1")]
    pub timestamp: i64,
    #[prost(double, tag = "2")]
    pub value: f64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct KapacityQuery {
    #[prost(enumeration = "QueryType", tag = "1")]
    pub r#type: i32,
    #[prost(oneof = "KapacityQuerySubject", tags = "2, 3, 4, 5, 6, 7, 8")]
    pub query: Option<KapacityQuerySubject>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum QueryType {
    PodResource = 0,
    ContainerResource = 1,
    WorkloadResource = 2,
    WorkloadContainerResource = 3,
    Object = 4,
    External = 5,
    WorkloadExternal = 6,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum KapacityQuerySubject {
    #[prost(message, tag = "2")]
    PodResource(PodResourceQuery),
    #[prost(message, tag = "3")]
    ContainerResource(ContainerResourceQuery),
    #[prost(message, tag = "4")]
    WorkloadResource(WorkloadResourceQuery),
    #[prost(message, tag = "5")]
    WorkloadContainerResource(WorkloadContainerResourceQuery),
    #[prost(message, tag = "6")]
    Object(ObjectQuery),
    #[prost(message, tag = "7")]
    External(ExternalQuery),
    #[prost(message, tag = "8")]
    WorkloadExternal(WorkloadExternalQuery),
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PodResourceQuery {
    #[prost(string, tag = "1")]
    pub namespace: String,
    #[prost(oneof = "PodIdentifier", tags = "2, 3")]
    pub pod_identifier: Option<PodIdentifier>,
    #[prost(string, tag = "4")]
    pub resource_name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainerResourceQuery {
    #[prost(string, tag = "1")]
    pub namespace: String,
    #[prost(oneof = "PodIdentifier", tags = "2, 3")]
    pub pod_identifier: Option<PodIdentifier>,
    #[prost(string, tag = "4")]
    pub resource_name: String,
    #[prost(string, tag = "5")]
    pub container_name: String,
}

#[derive(Clone, PartialEq, Eq, prost::Oneof)]
pub enum PodIdentifier {
    #[prost(string, tag = "2")]
    Name(String),
    #[prost(string, tag = "3")]
    Selector(String),
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct WorkloadResourceQuery {
    #[prost(message, optional, tag = "1")]
    pub group_kind: Option<GroupKind>,
    #[prost(string, tag = "2")]
    pub namespace: String,
    #[prost(string, tag = "3")]
    pub name: String,
    #[prost(string, tag = "4")]
    pub resource_name: String,
    #[prost(bool, tag = "5")]
    pub ready_pods_only: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct WorkloadContainerResourceQuery {
    #[prost(message, optional, tag = "1")]
    pub group_kind: Option<GroupKind>,
    #[prost(string, tag = "2")]
    pub namespace: String,
    #[prost(string, tag = "3")]
    pub name: String,
    #[prost(string, tag = "4")]
    pub resource_name: String,
    #[prost(string, tag = "5")]
    pub container_name: String,
    #[prost(bool, tag = "6")]
    pub ready_pods_only: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ObjectQuery {
    #[prost(message, optional, tag = "1")]
    pub group_kind: Option<GroupKind>,
    #[prost(string, optional, tag = "2")]
    pub namespace: Option<String>,
    #[prost(oneof = "ObjectIdentifier", tags = "3, 4")]
    pub object_identifier: Option<ObjectIdentifier>,
    #[prost(message, optional, tag = "5")]
    pub metric: Option<MetricIdentifier>,
}

#[derive(Clone, PartialEq, Eq, prost::Oneof)]
pub enum ObjectIdentifier {
    #[prost(string, tag = "3")]
    Name(String),
    #[prost(string, tag = "4")]
    Selector(String),
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ExternalQuery {
    #[prost(string, optional, tag = "1")]
    pub namespace: Option<String>,
    #[prost(message, optional, tag = "2")]
    pub metric: Option<MetricIdentifier>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct WorkloadExternalQuery {
    #[prost(message, optional, tag = "1")]
    pub group_kind: Option<GroupKind>,
    #[prost(string, tag = "2")]
    pub namespace: String,
    #[prost(string, tag = "3")]
    pub name: String,
    #[prost(message, optional, tag = "4")]
    pub metric: Option<MetricIdentifier>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct GroupKind {
    #[prost(string, tag = "1")]
    pub group: String,
    #[prost(string, tag = "2")]
    pub kind: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct MetricIdentifier {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, optional, tag = "2")]
    pub selector: Option<String>,
}
