//! What a decision sees of the cluster: an immutable picture that readers share.
