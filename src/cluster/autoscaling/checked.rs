//! Custom resources of all namespaces, of which those of opted-in namespaces are checked.
//!
//! Reading the rules of an object takes up to milliseconds, and anybody may write one: so it is done where somebody
//! follows them, and once for each version of a spec.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use evenkeel_kubernetes::cron_hpa::{CheckedCronHpa, CronHpa};
use evenkeel_kubernetes::horizontal_portrait::{CheckedHorizontalPortrait, HorizontalPortrait};
use evenkeel_kubernetes::ihpa::{CheckedIhpa, Ihpa};

use super::keys::keys_of;

/// An object with its rules checked.
pub(super) trait Checked: Debug + Sized {
    /// The object as it is watched.
    type Object: Debug;
    /// Checks an object; the rules of the version `before` stand where its spec is the same.
    fn check(object: Arc<Self::Object>, before: Option<&Self>) -> Self;
    fn object(&self) -> &Arc<Self::Object>;
}

impl Checked for CheckedCronHpa {
    type Object = CronHpa;

    fn check(object: Arc<CronHpa>, before: Option<&Self>) -> Self {
        Self::new(object, before)
    }

    fn object(&self) -> &Arc<CronHpa> {
        &self.object
    }
}

impl Checked for CheckedIhpa {
    type Object = Ihpa;

    fn check(object: Arc<Ihpa>, before: Option<&Self>) -> Self {
        Self::new(object, before)
    }

    fn object(&self) -> &Arc<Ihpa> {
        &self.object
    }
}

impl Checked for CheckedHorizontalPortrait {
    type Object = HorizontalPortrait;

    fn check(object: Arc<HorizontalPortrait>, before: Option<&Self>) -> Self {
        Self::new(object, before)
    }

    fn object(&self) -> &Arc<HorizontalPortrait> {
        &self.object
    }
}

/// The objects of one kind by namespace and name.
#[derive(Debug)]
pub(super) struct CheckedObjects<C: Checked>(BTreeMap<String, Known<C>>);

impl<C: Checked> Default for CheckedObjects<C> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

#[derive(Debug)]
enum Known<C: Checked> {
    /// One that nobody follows.
    Unread(Arc<C::Object>),
    Checked(Arc<C>),
}

impl<C: Checked> Known<C> {
    fn new(object: Arc<C::Object>, before: Option<&Self>, has_opted_in: bool) -> Self {
        if !has_opted_in {
            return Self::Unread(object);
        }
        let before = match before {
            Some(Self::Checked(before)) => Some(&**before),
            Some(Self::Unread(_)) | None => None,
        };
        Self::Checked(Arc::new(C::check(object, before)))
    }

    fn object(&self) -> &Arc<C::Object> {
        match self {
            Self::Unread(object) => object,
            Self::Checked(checked) => checked.object(),
        }
    }
}

impl<C: Checked> CheckedObjects<C> {
    /// Takes one as it now is, and checks it where its namespace has opted in.
    pub(super) fn apply(&mut self, key: String, object: Arc<C::Object>, has_opted_in: bool) {
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

    /// The one of a key, where it is checked.
    pub(super) fn get(&self, key: &str) -> Option<&Arc<C>> {
        match self.0.get(key)? {
            Known::Checked(checked) => Some(checked),
            Known::Unread(_) => None,
        }
    }

    /// Those that are checked, in the order of their keys.
    pub(super) fn checked(&self) -> impl Iterator<Item = &Arc<C>> {
        self.0.values().filter_map(|known| match known {
            Known::Checked(checked) => Some(checked),
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
        let mut crons = CheckedObjects::<CheckedCronHpa>::default();
        for (name, has_opted_in) in [("a", false), ("b", true)] {
            let (key, object) = cron(name);
            crons.apply(key, object, has_opted_in);
        }
        let named = |crons: &CheckedObjects<CheckedCronHpa>| -> Vec<String> {
            let name = |cron: &Arc<CheckedCronHpa>| cron.object.metadata.name.clone().unwrap();
            crons.checked().map(name).collect()
        };
        assert_eq!(named(&crons), ["b"], "nobody follows the other");
        crons.check("shop", true);
        assert_eq!(named(&crons), ["a", "b"]);
        let rules = |crons: &CheckedObjects<CheckedCronHpa>| {
            std::ptr::from_ref(crons.checked().next().unwrap().rules().unwrap())
        };
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
