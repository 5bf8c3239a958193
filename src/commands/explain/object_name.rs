//! The name of an object with its namespace, as an argument.

#[derive(Debug, Clone)]
pub(super) struct NamespacedName {
    pub(super) namespace: String,
    pub(super) name: String,
}

pub(super) fn parse_name(text: &str) -> Result<NamespacedName, String> {
    let (namespace, name) = text.split_once('/').unwrap_or_default();
    if namespace.is_empty() || name.is_empty() || name.contains('/') {
        return Err("accepted: NAMESPACE/NAME".to_owned());
    }
    Ok(NamespacedName {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_named_with_its_namespace() {
        let named = parse_name("shop/web-0").unwrap();
        assert_eq!((&*named.namespace, &*named.name), ("shop", "web-0"));
        for text in ["web-0", "/web-0", "shop/", "a/b/c", ""] {
            assert!(parse_name(text).is_err(), "{text}");
        }
    }
}
