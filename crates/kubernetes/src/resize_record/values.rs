//! Requests and limits by container, as a record and a decision name them.

use std::collections::BTreeMap;

use evenkeel_core::tuning::{CpuMemory, RequestAndLimit};

pub type ContainerValues = BTreeMap<Box<str>, CpuMemory<RequestAndLimit>>;
