//! The address of a check, and the audience of its token.

use std::net::IpAddr;

use evenkeel_http_client::{Uri, server_address};
use evenkeel_objects::truncate::excerpt;
use k8s_openapi::api::core::v1::{Service, ServiceSpec};

use super::Settings;
use super::allowed_urls::{AllowedUrl, origin};
use super::error::CheckError;

/// The characters of an address that an error repeats.
const TOLD: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CheckAddress {
    pub(super) uri: Uri,
    /// Its origin, which no other server has.
    pub(super) audience: String,
}

impl CheckAddress {
    /// That of a URL.
    ///
    /// # Errors
    /// It is none, or not allowed.
    pub(super) fn of_url(url: &str, settings: &Settings) -> Result<Self, CheckError> {
        let uri = server_address(url);
        let uri = uri.map_err(|_| CheckError::Address("not an http or https URL"))?;
        let allows = |allowed: &AllowedUrl| allowed.allows(&uri);
        if !settings.allowed.iter().any(allows) {
            let url = excerpt(url, TOLD);
            return Err(CheckError::NotAllowed { url });
        }
        let audience = origin(&uri);
        Ok(Self { uri, audience })
    }

    /// That of a Service by its cluster name, always with the port: it is no API server's.
    ///
    /// # Errors
    /// The path cannot be one.
    pub(super) fn of_service(
        scheme: &str,
        namespace: &str,
        name: &str,
        port: u16,
        path: &str,
    ) -> Result<Self, CheckError> {
        let audience = format!("{scheme}://{name}.{namespace}.svc:{port}");
        let uri = Uri::try_from(format!("{audience}{path}"));
        let uri = uri.map_err(|_| CheckError::Address("the path cannot be part of one"))?;
        Ok(Self { uri, audience })
    }
}

/// The address of a Service in the cluster, where it serves a port.
///
/// # Errors
/// In words, why it is not asked.
pub(super) fn cluster_ip(service: &Service, port: u16) -> Result<IpAddr, &'static str> {
    let spec = service.spec.as_ref().ok_or("has no spec")?;
    let ServiceSpec {
        type_, cluster_ip, ..
    } = spec;
    if type_.as_deref() == Some("ExternalName") {
        return Err("is of type ExternalName, which is not called");
    }
    let address = match cluster_ip.as_deref() {
        None | Some("" | "None") => return Err("is headless, which is not called"),
        Some(address) => address.parse().map_err(|_| "has an invalid ClusterIP")?,
    };
    let mut ports = spec.ports.iter().flatten();
    let serves = ports.any(|one| {
        let is_tcp = matches!(one.protocol.as_deref(), None | Some("TCP"));
        is_tcp && one.port == i32::from(port)
    });
    if serves {
        Ok(address)
    } else {
        Err("has no such port")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_service_is_asked_by_the_address_that_the_cluster_gave_it() {
        let spec = |edit: fn(&mut Value)| {
            let mut spec = json!({"type": "ClusterIP", "clusterIP": "10.0.0.7", "ports": [
                {"port": 53, "protocol": "UDP"}, {"port": 8080, "targetPort": 80}]});
            edit(&mut spec);
            let service = serde_json::from_value(json!({"spec": spec})).unwrap();
            cluster_ip(&service, 8080)
        };
        let address: IpAddr = "10.0.0.7".parse().unwrap();
        assert_eq!(spec(|_| {}), Ok(address));
        for (edit, why) in [
            (
                (|spec: &mut Value| spec["type"] = "ExternalName".into()) as fn(&mut Value),
                "is of type ExternalName, which is not called",
            ),
            (
                |spec| spec["clusterIP"] = "None".into(),
                "is headless, which is not called",
            ),
            (
                |spec| spec["clusterIP"] = Value::Null,
                "is headless, which is not called",
            ),
            (
                |spec| spec["clusterIP"] = "a.example".into(),
                "has an invalid ClusterIP",
            ),
            (|spec| spec["ports"] = json!([]), "has no such port"),
            (
                |spec| spec["ports"][1]["protocol"] = "UDP".into(),
                "has no such port",
            ),
        ] {
            assert_eq!(spec(edit), Err(why));
        }
    }

    #[test]
    fn the_audience_is_the_origin_that_is_asked() {
        let service = CheckAddress::of_service("http", "shop", "smoke", 8080, "/web?quick");
        let service = service.unwrap();
        assert_eq!(service.uri, "http://smoke.shop.svc:8080/web?quick");
        assert_eq!(service.audience, "http://smoke.shop.svc:8080");
        let api = CheckAddress::of_service("https", "default", "kubernetes", 443, "/");
        assert_eq!(
            api.unwrap().audience,
            "https://kubernetes.default.svc:443",
            "not that of the API server's own tokens"
        );
        let settings = Settings {
            allowed: vec![AllowedUrl::parse("https://a.example/x").unwrap()],
        };
        let url = CheckAddress::of_url("https://a.example:443/x/y", &settings).unwrap();
        assert_eq!(url.audience, "https://a.example");
        for (url, settings, reason) in [
            ("https://a.example/y", &settings, "NotAllowed"),
            ("https://a.example/x", &Settings::default(), "NotAllowed"),
            ("https://a.example@evil/x", &settings, "InvalidName"),
        ] {
            let error = CheckAddress::of_url(url, settings).unwrap_err();
            assert_eq!(error.reason(), reason);
        }
    }
}
