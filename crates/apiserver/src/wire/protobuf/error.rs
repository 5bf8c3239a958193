//! The reasons for which a protobuf body is refused.

/// The reason for which a body cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProtobufError {
    /// It does not begin as it should.
    #[error("the body does not begin with the prefix of Kubernetes' protobuf")]
    Prefix,
    /// It is cut short or not protobuf.
    #[error("the body is no valid protobuf message")]
    Wire,
    /// The kind is not in the table.
    #[error("{0} cannot be read as protobuf here, only as JSON")]
    Kind(String),
}
