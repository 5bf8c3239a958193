//! The service's edges, in one process: recorded calls answered by the real routers, TLS and
//! certificates that change, overload and broken clients, and measurements that lie or hang.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test

#[allow(dead_code)] // each module uses a part
mod support {
    pub(crate) mod answering;
    pub(crate) mod collector;
    pub(crate) mod hostile;
    pub(crate) mod metrics_stand_in;
    pub(crate) mod recorded;
    pub(crate) mod server_client;
    pub(crate) mod server_fixture;
}

mod edges {
    mod admission;
    mod doctor;
    mod extender;
    mod external_metrics;
    mod hpa_reader;
    mod kubelets;
    mod list_memory;
    mod metrics_faults;
    mod metrics_provider;
    mod score_label_safety;
    mod score_terms;
    mod scrapes;
    mod server_abuse;
    mod server_faults;
    mod spans;
    mod supply_chain;
    mod tls_reload;
}
