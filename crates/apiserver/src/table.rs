//! The tables of `kubectl get`: the server makes columns and cells, kubectl aligns them.

mod age;
pub(crate) mod builtin;
mod cells;
pub(crate) mod column;
mod hpa;
pub(crate) mod json_path;
mod node;
mod pod;
