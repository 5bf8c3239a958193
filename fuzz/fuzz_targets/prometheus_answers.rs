//! Answers of a Prometheus that lies, in every way in which they are read: times, nodes, Pods and
//! workloads of the past; and the metrics pages of replicas.

#![no_main]

use evenkeel_service::metrics::exposition::Exposition;
use evenkeel_service::metrics::prometheus::fuzzing;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    fuzzing::read(body);
    if let Ok(text) = std::str::from_utf8(body) {
        let page = Exposition::parse(text);
        let _ = page.sum("up", &[]);
    }
});
