//! Admission: the rules of kube-apiserver that look at other objects, and webhooks.

pub(crate) mod plugins;
pub(crate) mod webhooks;
