//! The keys by which objects are kept, in the order of their namespaces.

use std::ops::Range;

/// The keys of all objects of one namespace; `/` stands in no name, and `0` comes right after it.
pub(super) fn keys_of(namespace: &str) -> Range<String> {
    format!("{namespace}/")..format!("{namespace}0")
}
