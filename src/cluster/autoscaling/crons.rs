//! The CronHPAs of all namespaces, of which those of opted-in namespaces are checked.
//!
//! Reading the rules of an object takes up to milliseconds, and anybody may write CronHPAs: so it is
//! done where somebody follows them, and once for each version of a spec.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_kubernetes::cron_hpa::{CheckedCronHpa, CronHpa};

use super::keys::keys_of;

/// The CronHPAs by namespace and name.
#[derive(Debug, Default)]
pub(super) struct Crons(BTreeMap<String, Known>);

#[derive(Debug)]
enum Known {
    /// One that nobody follows.
    Unread(Arc<CronHpa>),
    Checked(Arc<CheckedCronHpa>),
}

impl Known {
    fn new(object: Arc<CronHpa>, before: Option<&Self>, has_opted_in: bool) -> Self {
        if !has_opted_in {
            return Self::Unread(object);
        }
        let before = match before {
            Some(Self::Checked(before)) => Some(&**before),
            Some(Self::Unread(_)) | None => None,
        };
        Self::Checked(Arc::new(CheckedCronHpa::new(object, before)))
    }

    fn object(&self) -> &Arc<CronHpa> {
        match self {
            Self::Unread(object) => object,
            Self::Checked(cron) => &cron.object,
        }
    }
}

impl Crons {
    /// Takes one as it now is, and checks it where its namespace has opted in.
    pub(super) fn apply(&mut self, key: String, object: Arc<CronHpa>, has_opted_in: bool) {
        let known = Known::new(object, self.0.get(&key), has_opted_in);
        self.0.insert(key, known);
    }

    /// Checks those of a namespace that has opted in, and forgets the rules of one that has opted out.
    pub(super) fn check(&mut self, namespace: &str, has_opted_in: bool) {
        for (_, known) in self.0.range_mut(keys_of(namespace)) {
            *known = Known::new(Arc::clone(known.object()), Some(&*known), has_opted_in);
        }
    }

    /// Forgets those whose keys are gone.
    pub(super) fn forget(&mut self, gone: impl Fn(&str) -> bool) {
        self.0.retain(|key, _| !gone(key));
    }

    /// Those that are checked, in the order of their keys.
    pub(super) fn checked(&self) -> impl Iterator<Item = &Arc<CheckedCronHpa>> {
        self.0.values().filter_map(|known| match known {
            Known::Checked(cron) => Some(cron),
            Known::Unread(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cron(name: &str) -> (String, Arc<CronHpa>) {
        let object = json!({"metadata": {"name": name, "namespace": "shop", "uid": name,
            "generation": 1}, "spec": {"crons": [{"schedule": "0 8 * * *", "target": 3}]}});
        (
            format!("shop/{name}"),
            Arc::new(serde_json::from_value(object).unwrap()),
        )
    }

    #[test]
    fn rules_are_read_where_somebody_follows_them_and_once() {
        let mut crons = Crons::default();
        for (name, has_opted_in) in [("a", false), ("b", true)] {
            let (key, object) = cron(name);
            crons.apply(key, object, has_opted_in);
        }
        let named = |crons: &Crons| -> Vec<String> {
            let name = |cron: &Arc<CheckedCronHpa>| cron.object.metadata.name.clone().unwrap();
            crons.checked().map(name).collect()
        };
        assert_eq!(named(&crons), ["b"], "nobody follows the other");
        crons.check("shop", true);
        assert_eq!(named(&crons), ["a", "b"]);
        let rules =
            |crons: &Crons| std::ptr::from_ref(crons.checked().next().unwrap().rules().unwrap());
        let before = rules(&crons);
        let (key, object) = cron("a");
        crons.apply(key, object, true);
        assert!(std::ptr::eq(rules(&crons), before), "its spec is the same");
        crons.check("shopping", false);
        assert_eq!(named(&crons).len(), 2);
        crons.check("shop", false);
        assert_eq!(named(&crons), [""; 0]);
        crons.forget(|key| key == "shop/a");
        crons.check("shop", true);
        assert_eq!(named(&crons), ["b"]);
    }
}
