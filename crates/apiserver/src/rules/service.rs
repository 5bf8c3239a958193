//! Services: defaults of ports and families. The server gives addresses, because it knows those in
//! use.

use serde_json::{Value, json};

use crate::error::Cause;
use crate::meta;

pub(super) fn defaults(service: &mut Value) {
    let spec = meta::child(service, "spec");
    meta::default(spec, "type", "ClusterIP");
    meta::default(spec, "sessionAffinity", "None");
    for port in meta::each_mut(spec, "ports") {
        let number = port["port"].clone();
        meta::default(port, "protocol", "TCP");
        meta::default(port, "targetPort", number);
    }
    if spec["type"] != "ExternalName" {
        meta::default(spec, "internalTrafficPolicy", "Cluster");
        meta::default(spec, "ipFamilyPolicy", "SingleStack");
        meta::default(spec, "ipFamilies", json!(["IPv4"]));
    }
}

pub(super) fn validate(service: &Value, causes: &mut Vec<Cause>) {
    let spec = &service["spec"];
    match meta::text(spec, "/type") {
        "ExternalName" if meta::text(spec, "/externalName").is_empty() => {
            causes.push(Cause::required("spec.externalName", ""));
        }
        "ExternalName" => {}
        _ if meta::list(spec, "/ports").is_empty() && spec["clusterIP"] != "None" => {
            causes.push(Cause::required("spec.ports", ""));
        }
        _ => {}
    }
    for (index, port) in meta::list(spec, "/ports").iter().enumerate() {
        let number = meta::number(port, "/port").unwrap_or_default();
        if !(1..=65_535).contains(&number) {
            causes.push(Cause::invalid(
                format!("spec.ports[{index}].port"),
                &number.into(),
                "must be between 1 and 65535, inclusive",
            ));
        }
    }
}
