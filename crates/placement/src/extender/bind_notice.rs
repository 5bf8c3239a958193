//! The notice of kube-scheduler's choice: its call to bind a Pod, which Evenkeel answers with an
//! error. An extender that binds owns every failure of binding. kube-scheduler ignores the error of
//! an `ignorable` extender and binds by itself. The call names the node some 50 ms before a watch
//! shows the binding, in time for the next Pod; nothing waits.

use std::borrow::Cow;

use serde::Deserialize;

use super::wire::WireError;

/// The answer to every notice; kube-scheduler ignores it, and logs that it did.
pub const NOTED: &[u8] = br#"{"Error":"evenkeel: noted, kube-scheduler binds"}"#;

/// A Pod and the node that kube-scheduler is about to bind it to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BindNotice<'a> {
    pub namespace: Cow<'a, str>,
    pub name: Cow<'a, str>,
    pub uid: Cow<'a, str>,
    pub node: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Args<'a> {
    #[serde(borrow, default, rename = "PodNamespace", alias = "podNamespace")]
    namespace: Cow<'a, str>,
    #[serde(borrow, default, rename = "PodName", alias = "podName")]
    name: Cow<'a, str>,
    #[serde(borrow, rename = "PodUID", alias = "podUID", alias = "poduid")]
    uid: Cow<'a, str>,
    #[serde(borrow, rename = "Node", alias = "node")]
    node: Cow<'a, str>,
}

impl<'a> BindNotice<'a> {
    /// Reads the body of a call.
    ///
    /// # Errors
    /// A body that is no `ExtenderBindingArgs`.
    pub fn parse(body: &'a [u8]) -> Result<Self, WireError> {
        let Args {
            namespace,
            name,
            uid,
            node,
        } = serde_json::from_slice(body).map_err(WireError::Binding)?;
        Ok(Self {
            namespace,
            name,
            uid,
            node,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pod_and_its_node_are_read() {
        let body = br#"{"PodName":"p","PodNamespace":"d","PodUID":"1-2","Node":"a"}"#;
        let notice = BindNotice::parse(body).unwrap();
        assert_eq!((&*notice.uid, &*notice.node), ("1-2", "a"));
        for body in [
            &b""[..],
            b"{}",
            br#"{"PodUID":"1"}"#,
            br#"{"PodUID":1,"Node":"a"}"#,
        ] {
            assert_eq!(BindNotice::parse(body).unwrap_err().reason(), "malformed");
        }
    }

    #[test]
    fn the_answer_is_an_error_as_kube_scheduler_reads_it() {
        let answer: serde_json::Value = serde_json::from_slice(NOTED).unwrap();
        assert!(
            answer["Error"]
                .as_str()
                .is_some_and(|error| !error.contains('%'))
        );
    }
}
