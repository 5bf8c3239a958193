//! The options of one installation, and the resulting objects.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{
    CHECKSUM, COMPONENTS, CONFIGURATION, IMAGE, Manifests, NAMESPACE, READERS, SCHEDULER_IMAGE,
};

/// Enabled components, by the names of [`COMPONENTS`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ComponentSelection(BTreeSet<&'static str>);

impl ComponentSelection {
    /// # Errors
    /// The first name that is none of [`COMPONENTS`].
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, &'a str> {
        let names = names.into_iter().map(|name| {
            let mut known = COMPONENTS.iter().map(|component| component.name);
            known.find(|known| *known == name).ok_or(name)
        });
        Ok(Self(names.collect::<Result<_, _>>()?))
    }
}

#[derive(Debug, Clone)]
pub struct InstallOptions {
    pub components: ComponentSelection,
    pub namespace: String,
    pub image: String,
    /// Image of the component `second-scheduler` with its tag; `None` keeps that of the files.
    pub scheduler_image: Option<String>,
    /// `None` keeps the number of the files.
    pub replicas: Option<u32>,
    /// TCP ports that the service may call, beside those of the files.
    pub egress_ports: Vec<u16>,
    /// `None` keeps the file of the manifests.
    pub configuration: Option<String>,
}

impl Default for InstallOptions {
    fn default() -> Self {
        Self {
            components: ComponentSelection::default(),
            namespace: NAMESPACE.to_owned(),
            image: IMAGE.to_owned(),
            scheduler_image: None,
            replicas: None,
            egress_ports: Vec::new(),
            configuration: None,
        }
    }
}

fn egress_rule(ports: &[u16]) -> Value {
    let ports = ports
        .iter()
        .map(|port| json!({"port": port, "protocol": "TCP"}));
    json!({"ports": ports.collect::<Vec<_>>()})
}

impl Manifests {
    /// In the order of application.
    pub fn objects(&self, options: &InstallOptions) -> Vec<Value> {
        let chosen = &options.components.0;
        let folders = chosen.iter().filter_map(|name| self.overlays.get(name));
        let on: BTreeSet<&'static str> = folders.flatten().copied().collect();
        let objects = self.objects.iter();
        let objects = objects.filter(|object| object.choice.when.holds(&on));
        objects
            .map(|object| {
                let mut value = object.choice.part.with(&on);
                options.set(&mut value);
                value
            })
            .collect()
    }
}

impl InstallOptions {
    fn set(&self, object: &mut Value) {
        let is_own = object["metadata"]["name"] == "evenkeel";
        let kind = object["kind"]
            .as_str()
            .filter(|_| is_own)
            .map(str::to_owned);
        // First, because it must not change the user's text.
        self.set_texts(object);
        match (kind.as_deref(), &self.configuration, self.replicas) {
            (Some("Deployment"), _, Some(replicas)) => object["spec"]["replicas"] = json!(replicas),
            (Some("ConfigMap"), Some(text), _) => {
                let (_, key) = CONFIGURATION;
                object["data"][key] = Value::from(text.as_str());
            }
            (Some("NetworkPolicy"), ..) if !self.egress_ports.is_empty() => {
                let rules = object["spec"]["egress"].as_array_mut();
                rules
                    .expect("it bounds egress")
                    .push(egress_rule(&self.egress_ports));
            }
            _ => {}
        }
        let reads = |(kind, name): &(&str, &str)| {
            object["kind"] == *kind && object["metadata"]["name"] == *name
        };
        if let Some(text) = &self.configuration
            && READERS.iter().any(reads)
        {
            let hash = format!("{:x}", Sha256::digest(text));
            object["spec"]["template"]["metadata"]["annotations"][CHECKSUM] = Value::from(hash);
        }
    }

    /// Sets namespace and images wherever they stand.
    fn set_texts(&self, value: &mut Value) {
        match value {
            Value::String(text) if text == IMAGE => text.clone_from(&self.image),
            Value::String(text) if text.starts_with(SCHEDULER_IMAGE) => {
                if let Some(image) = &self.scheduler_image {
                    text.clone_from(image);
                }
            }
            Value::String(text) if text.contains(NAMESPACE) => {
                *text = text.replace(NAMESPACE, &self.namespace);
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.set_texts(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.set_texts(field)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The harm: a changed configuration was applied, and the old Pods went on with the old one.
    #[test]
    fn a_changed_configuration_changes_each_pod_that_reads_it() {
        let manifests = Manifests::read().unwrap();
        // All but cert-manager, with which there is no signer.
        let names = COMPONENTS.iter().map(|component| component.name);
        let names = names.filter(|name| *name != "cert-manager");
        let components = ComponentSelection::of(names).unwrap();
        let of = |text: &str| {
            let configuration = Some(text.to_owned());
            manifests.objects(&InstallOptions {
                components: components.clone(),
                configuration,
                ..InstallOptions::default()
            })
        };
        let (one, other) = (of("writes: disabled"), of("writes: enabled"));
        let mut readers = 0;
        for (one, other) in one.iter().zip(&other) {
            let (template, changed) = (&one["spec"]["template"], &other["spec"]["template"]);
            let (name, _) = CONFIGURATION;
            let volumes = template["spec"]["volumes"].as_array();
            let mut volumes = volumes.into_iter().flatten();
            let reads = volumes.any(|volume| volume["configMap"]["name"] == name);
            assert_eq!(template != changed, reads, "{}", one["metadata"]);
            readers += usize::from(reads);
        }
        assert_eq!(readers, READERS.len());
    }
}
