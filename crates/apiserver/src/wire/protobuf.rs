//! Bodies in Kubernetes' protobuf, which `kubectl create` and other typed Go clients send for
//! built-in kinds even to servers that answer JSON.

mod decode;
mod error;
mod messages;
mod reader;

pub(crate) use self::decode::to_json;
pub(crate) use self::messages::{Shape, fields, message_name};

/// The media type of such bodies.
pub(crate) const MEDIA: &str = "application/vnd.kubernetes.protobuf";
