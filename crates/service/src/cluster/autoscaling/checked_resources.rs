//! Custom resources of all namespaces; only those of opted-in namespaces are checked. A check takes
//! up to milliseconds, and any user may write objects of any size. So each spec version is checked
//! once, other objects are kept as outlines, and the kind is listed again when a namespace opts in.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use evenkeel_objects::condition::Condition;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::meta::Meta;
use evenkeel_scaling::specs::cron_hpa::{CheckedCronHpa, CronHpa};
use evenkeel_scaling::specs::horizontal_portrait::{CheckedHorizontalPortrait, HorizontalPortrait};
use evenkeel_scaling::specs::ihpa::{CheckedIhpa, Ihpa};
use evenkeel_scaling::status::opt_in_notice::{UnnoticedObject, lacks_notice};

use super::keys::keys_of;

pub(super) trait CheckedResource: Debug + Sized {
    type Object: Debug;
    /// Checks an object; the rules of the version `before` stand where its spec is the same.
    fn check(object: Arc<Self::Object>, before: Option<&Self>) -> Self;
    fn object(&self) -> &Arc<Self::Object>;
    /// The part of an object that is kept while its namespace has not opted in.
    fn outline(object: &Self::Object) -> Self::Object;
    fn metadata(object: &Self::Object) -> &Meta;
    fn conditions(object: &Self::Object) -> &[Condition];
    const KIND: Kind;
}

macro_rules! checked_resources {
    ($($checked:ident is $object:ident, outlined |$one:ident| $outline:expr;)*) => {$(
        impl CheckedResource for $checked {
            type Object = $object;

            fn check(object: Arc<$object>, before: Option<&Self>) -> Self {
                Self::new(object, before)
            }

            fn object(&self) -> &Arc<$object> {
                &self.object
            }

            fn outline($one: &$object) -> $object {
                $outline
            }

            fn metadata(object: &$object) -> &Meta {
                &object.metadata
            }

            fn conditions(object: &$object) -> &[Condition] {
                let status = object.status.as_ref();
                status.map_or(&[], |status| &status.conditions)
            }

            const KIND: Kind = Kind::$object;
        }
    )*};
}

checked_resources! {
    CheckedCronHpa is CronHpa, outlined |cron| CronHpa {
        metadata: cron.metadata.outline(),
        ..CronHpa::default()
    };
    CheckedIhpa is Ihpa, outlined |ihpa| Ihpa {
        metadata: ihpa.metadata.outline(),
        ..Ihpa::default()
    };
    CheckedHorizontalPortrait is HorizontalPortrait, outlined |portrait| portrait.outline();
}

#[derive(Debug)]
pub(super) struct CheckedObjects<C: CheckedResource> {
    known: BTreeMap<String, RetainedObject<C>>,
    /// True where objects are wanted of which there is but an outline.
    is_unlisted: bool,
}

impl<C: CheckedResource> Default for CheckedObjects<C> {
    fn default() -> Self {
        Self {
            known: BTreeMap::new(),
            is_unlisted: false,
        }
    }
}

/// The opt-in of an object's namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OptInState {
    In,
    Out,
    /// It has not been seen yet.
    Unknown,
}

#[derive(Debug)]
enum RetainedObject<C: CheckedResource> {
    /// One of a namespace that has not been seen yet.
    Unread(Arc<C::Object>),
    /// An object of a namespace without opt-in; `lacks_notice` is true until its status reports
    /// that.
    Outline {
        object: Arc<C::Object>,
        lacks_notice: bool,
    },
    Checked(Arc<C>),
}

impl<C: CheckedResource> RetainedObject<C> {
    fn new(object: &Arc<C::Object>, before: Option<&Self>, opted: OptInState) -> Self {
        let before = match before {
            Some(Self::Checked(before)) => Some(&**before),
            Some(Self::Unread(_) | Self::Outline { .. }) | None => None,
        };
        match opted {
            OptInState::In => Self::Checked(Arc::new(C::check(Arc::clone(object), before))),
            OptInState::Out => Self::Outline {
                object: Arc::new(C::outline(object)),
                lacks_notice: lacks_notice(C::KIND, C::conditions(object)),
            },
            OptInState::Unknown => Self::Unread(Arc::clone(object)),
        }
    }

    fn checked(&self) -> Option<&Arc<C>> {
        match self {
            Self::Checked(checked) => Some(checked),
            Self::Unread(_) | Self::Outline { .. } => None,
        }
    }
}

impl<C: CheckedResource> CheckedObjects<C> {
    /// Takes one as it now is, and checks it where its namespace has opted in.
    pub(super) fn apply(&mut self, key: String, object: &Arc<C::Object>, opted: OptInState) {
        let known = RetainedObject::new(object, self.known.get(&key), opted);
        self.known.insert(key, known);
    }

    /// Checks the objects of a namespace that opted in; keeps only outlines of those of another.
    pub(super) fn check(&mut self, namespace: &str, opted: OptInState) {
        for (_, known) in self.known.range_mut(keys_of(namespace)) {
            let object = match known {
                RetainedObject::Outline { .. } => {
                    self.is_unlisted |= opted == OptInState::In;
                    continue;
                }
                RetainedObject::Unread(object) => Arc::clone(object),
                RetainedObject::Checked(checked) => Arc::clone(checked.object()),
            };
            *known = RetainedObject::new(&object, Some(&*known), opted);
        }
    }

    /// True once where objects are wanted of which there is but an outline.
    pub(super) const fn take_unlisted(&mut self) -> bool {
        std::mem::replace(&mut self.is_unlisted, false)
    }

    pub(super) fn outlines(&self) -> impl Iterator<Item = &Arc<C::Object>> {
        self.known.values().filter_map(|known| match known {
            RetainedObject::Outline { object, .. } => Some(object),
            RetainedObject::Unread(_) | RetainedObject::Checked(_) => None,
        })
    }

    /// The outlined objects with a status that does not report the missing opt-in yet.
    pub(super) fn unnoticed(&self) -> impl Iterator<Item = UnnoticedObject> {
        self.known.values().filter_map(|known| match known {
            RetainedObject::Outline {
                object,
                lacks_notice: true,
            } => Some(UnnoticedObject {
                kind: C::KIND,
                metadata: C::metadata(object).clone(),
            }),
            _ => None,
        })
    }

    /// Forgets the objects with keys for which `gone` returns true.
    pub(super) fn forget(&mut self, gone: impl Fn(&str) -> bool) {
        self.known.retain(|key, _| !gone(key));
    }

    pub(super) fn get(&self, key: &str) -> Option<&Arc<C>> {
        self.known.get(key)?.checked()
    }

    pub(super) fn checked(&self) -> impl Iterator<Item = &Arc<C>> {
        self.known.values().filter_map(RetainedObject::checked)
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

    fn named(crons: &CheckedObjects<CheckedCronHpa>) -> Vec<String> {
        let name = |cron: &Arc<CheckedCronHpa>| cron.object.metadata.name.clone().unwrap();
        crons.checked().map(name).collect()
    }

    #[test]
    fn rules_are_read_where_somebody_follows_them_and_once() {
        let mut crons = CheckedObjects::<CheckedCronHpa>::default();
        for (name, opted) in [("a", OptInState::Unknown), ("b", OptInState::In)] {
            let (key, object) = cron(name);
            crons.apply(key, &object, opted);
        }
        assert_eq!(named(&crons), ["b"], "nobody follows the other");
        crons.check("shop", OptInState::In);
        assert_eq!(named(&crons), ["a", "b"]);
        assert!(!crons.take_unlisted(), "it was kept");
        let rules = |crons: &CheckedObjects<CheckedCronHpa>| {
            std::ptr::from_ref(crons.checked().next().unwrap().rules().unwrap())
        };
        let before = rules(&crons);
        let (key, object) = cron("a");
        crons.apply(key, &object, OptInState::In);
        assert!(std::ptr::eq(rules(&crons), before), "its spec is the same");
        crons.check("shopping", OptInState::Out);
        assert_eq!(named(&crons).len(), 2);
        crons.forget(|key| key == "shop/a");
        assert_eq!(named(&crons), ["b"]);
    }

    /// The harm: objects of any size were kept for namespaces that had not opted in.
    #[test]
    fn an_outline_is_kept_where_nobody_follows_and_the_rest_is_listed_when_somebody_does() {
        let mut crons = CheckedObjects::<CheckedCronHpa>::default();
        let (key, object) = cron("a");
        crons.apply(key.clone(), &object, OptInState::Out);
        let outlines = |crons: &CheckedObjects<CheckedCronHpa>| -> Vec<usize> {
            crons.outlines().map(|one| one.spec.crons.len()).collect()
        };
        assert_eq!(outlines(&crons), [0]);
        crons.check("shop", OptInState::In);
        assert_eq!(named(&crons), [""; 0]);
        assert!(crons.take_unlisted() && !crons.take_unlisted());
        crons.apply(key, &object, OptInState::In);
        assert_eq!(named(&crons), ["a"]);
        crons.check("shop", OptInState::Out);
        assert_eq!((named(&crons).len(), outlines(&crons)), (0, vec![0]));
    }

    /// The harm: an object of a namespace that had not opted in stayed without any status.
    #[test]
    fn an_object_that_nobody_follows_is_unnoticed_until_its_status_says_why() {
        let mut crons = CheckedObjects::<CheckedCronHpa>::default();
        let (key, object) = cron("a");
        let unnoticed = |crons: &CheckedObjects<CheckedCronHpa>| crons.unnoticed().count();
        for (opted, count) in [
            (OptInState::Unknown, 0),
            (OptInState::In, 0),
            (OptInState::Out, 1),
        ] {
            crons.apply(key.clone(), &object, opted);
            assert_eq!(unnoticed(&crons), count, "{opted:?}");
        }
        let mut told = CronHpa::clone(&object);
        let status = json!({"conditions": [{"type": "Ready", "status": "False",
            "reason": "NotOptedIn", "message": "", "lastTransitionTime": "2026-11-22T08:00:00Z"}]});
        told.status = serde_json::from_value(status).unwrap();
        crons.apply(key, &Arc::new(told), OptInState::Out);
        assert_eq!(unnoticed(&crons), 0);
    }
}
