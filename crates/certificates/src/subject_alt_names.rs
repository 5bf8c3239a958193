//! The names and addresses that the server's certificate stands for.

use core::net::IpAddr;
use std::collections::BTreeSet;

use rustls::pki_types::DnsName;

use super::error::CertificateError;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names {
    dns: BTreeSet<String>,
    addresses: BTreeSet<IpAddr>,
}

impl Names {
    /// The given DNS names and addresses.
    ///
    /// # Errors
    /// A name is no DNS name.
    pub fn new(
        dns: impl IntoIterator<Item = String>,
        addresses: impl IntoIterator<Item = IpAddr>,
    ) -> Result<Self, CertificateError> {
        let mut names = Self {
            dns: BTreeSet::new(),
            addresses: addresses.into_iter().collect(),
        };
        for name in dns {
            names.insert(name)?;
        }
        Ok(names)
    }

    /// Adds the four names of a Service inside a cluster: plain, with its namespace, with `svc`
    /// (the one that the API server uses), and in full.
    ///
    /// # Errors
    /// These are no DNS names.
    pub fn with_service(mut self, name: &str, namespace: &str) -> Result<Self, CertificateError> {
        for form in [
            name.to_owned(),
            format!("{name}.{namespace}"),
            format!("{name}.{namespace}.svc"),
            format!("{name}.{namespace}.svc.cluster.local"),
        ] {
            self.insert(form)?;
        }
        Ok(self)
    }

    pub fn with_address(mut self, address: IpAddr) -> Self {
        self.addresses.insert(address);
        self
    }

    pub fn dns(&self) -> impl Iterator<Item = &str> {
        self.dns.iter().map(String::as_str)
    }

    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.addresses.iter().copied()
    }

    fn insert(&mut self, name: String) -> Result<(), CertificateError> {
        if DnsName::try_from(name.as_str()).is_err() {
            return Err(CertificateError::Name(name));
        }
        self.dns.insert(name);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_has_four_names() {
        let names = Names::default()
            .with_service("keel", "boats")
            .unwrap()
            .with_address([10, 0, 0, 9].into());
        assert_eq!(
            names.dns().collect::<Vec<_>>(),
            [
                "keel",
                "keel.boats",
                "keel.boats.svc",
                "keel.boats.svc.cluster.local"
            ]
        );
        assert_eq!(
            names.addresses().collect::<Vec<_>>(),
            [IpAddr::from([10, 0, 0, 9])]
        );
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for name in ["", "keel boats", "keel..svc", "käel"] {
            let error = Names::new([name.to_owned()], []).unwrap_err();
            assert_eq!(error.reason(), "InvalidName", "{name:?}");
        }
    }
}
