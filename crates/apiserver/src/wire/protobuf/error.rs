//! Why a protobuf body is refused.

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProtobufError {
    #[error("the body does not begin with the prefix of Kubernetes' protobuf")]
    Prefix,
    /// Cut short or not protobuf.
    #[error("the body is no valid protobuf message")]
    Wire,
    #[error("{0} cannot be read as protobuf here, only as JSON")]
    Kind(String),
}
