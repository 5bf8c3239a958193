//! Requests and limits by container, as a record and a decision name them.

use std::collections::BTreeMap;

use evenkeel_units::cpu_memory::CpuMemory;
use evenkeel_units::request_and_limit::RequestAndLimit;

pub type ContainerValues = BTreeMap<Box<str>, CpuMemory<RequestAndLimit>>;
