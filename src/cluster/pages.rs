//! Lists of the API server, page by page: the one loop over them.

use std::fmt::Debug;

use kube::Api;
use kube::api::{ListParams, ObjectList};
use serde::de::DeserializeOwned;

/// The most objects in one answer.
const PAGE: u32 = 500;

/// All objects of a list.
pub(crate) async fn list<K>(api: &Api<K>, params: ListParams) -> kube::Result<Vec<K>>
where
    K: Clone + Debug + DeserializeOwned,
{
    let mut all = Vec::new();
    for_each(api, params, |object| all.push(object)).await?;
    Ok(all)
}

/// Hands on the objects of all pages, of which no more than one is held at a time.
pub(crate) async fn for_each<K>(
    api: &Api<K>,
    params: ListParams,
    take: impl FnMut(K),
) -> kube::Result<()>
where
    K: Clone + Debug + DeserializeOwned,
{
    let ask = |params: ListParams| async move { api.list(&params).await };
    for_each_asked(params, ask, take).await
}

/// Hands on the objects of all pages that `ask` has, for those who give each page a deadline of its own, or ask
/// for a part of each object. The first page that fails ends it.
pub(crate) async fn for_each_asked<K, E, F>(
    params: ListParams,
    ask: impl Fn(ListParams) -> F,
    mut take: impl FnMut(K),
) -> Result<(), E>
where
    K: Clone,
    F: Future<Output = Result<ObjectList<K>, E>>,
{
    let mut params = params.limit(PAGE);
    loop {
        let page = ask(params.clone()).await?;
        page.items.into_iter().for_each(&mut take);
        match page.metadata.continue_.filter(|more| !more.is_empty()) {
            Some(more) => params = params.continue_token(&more),
            None => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use kube::api::{ListMeta, TypeMeta};

    use super::*;

    fn page(items: &[u32], more: &str) -> ObjectList<u32> {
        ObjectList {
            types: TypeMeta::default(),
            metadata: ListMeta {
                continue_: Some(more.to_owned()),
                ..ListMeta::default()
            },
            items: items.to_vec(),
        }
    }

    #[tokio::test]
    async fn each_page_is_asked_for_by_what_the_one_before_names() {
        for (last, expected) in [(Ok(page(&[3], "")), Ok(())), (Err("gone"), Err("gone"))] {
            let ask = |params: ListParams| {
                assert_eq!(params.limit, Some(PAGE));
                ready(match params.continue_token.as_deref() {
                    None => Ok(page(&[1, 2], "second")),
                    Some("second") => last.clone(),
                    other => panic!("{other:?}"),
                })
            };
            let mut taken = Vec::new();
            let asked = for_each_asked(ListParams::default(), ask, |one| taken.push(one)).await;
            assert_eq!(asked, expected);
            assert_eq!(taken.len(), if expected.is_ok() { 3 } else { 2 });
        }
    }
}
