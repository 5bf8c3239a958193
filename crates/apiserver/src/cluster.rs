//! The parts of kube-controller-manager that every client relies on, and the first objects.

pub(crate) mod garbage_collector;
pub(crate) mod initial_objects;
