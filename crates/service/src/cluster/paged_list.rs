//! Lists of the API server, read page by page and object by object. All lists of the service use
//! this module. It holds only the text of one object at a time, and an unreadable object does not
//! affect the others.

mod list_text;

use std::marker::PhantomData;
use std::pin::Pin;

use evenkeel_objects::lenient_object::{LenientObject, UnreadableItems};
use futures::io::{AsyncBufRead, AsyncBufReadExt as _};
use kube::api::{ListMeta, ListParams};
use kube::core::Request;
use kube::{Api, Client, Error, Resource};
use serde::de::DeserializeOwned;

use self::list_text::ListText;

/// The most objects in one answer, where nothing else is asked for.
const PAGE: u32 = 500;

/// All objects of a list that can be read, and what is known of the others.
pub async fn list<K>(
    api: &Api<impl Resource + Clone>,
    params: ListParams,
) -> kube::Result<(Vec<K>, UnreadableItems)>
where
    K: DeserializeOwned,
{
    let mut all = Vec::new();
    let unreadable = for_each_readable(api, params, |object| all.push(object)).await?;
    Ok((all, unreadable))
}

/// Hands on the objects of a list that can be read; what is known of the others.
pub async fn for_each_readable<K>(
    api: &Api<impl Resource + Clone>,
    params: ListParams,
    mut take: impl FnMut(K),
) -> kube::Result<UnreadableItems>
where
    K: DeserializeOwned,
{
    let mut unreadable = UnreadableItems::default();
    for_each(Listing::of(api, params), |object| {
        unreadable.readable(object).map(&mut take);
    })
    .await?;
    Ok(unreadable)
}

/// Hands on all objects of a list. The first page that fails ends it.
pub async fn for_each<K>(
    mut listing: Listing<K>,
    mut take: impl FnMut(LenientObject<K>),
) -> kube::Result<()>
where
    K: DeserializeOwned,
{
    while listing.has_more() {
        listing.page(&mut take).await?;
    }
    Ok(())
}

/// A list that is read object by object.
pub struct Listing<K> {
    client: Client,
    request: Request,
    is_whole: bool,
    /// The parameters of the next page; `None` after the last one.
    next: Option<ListParams>,
    page: Option<ListPage>,
    version: Option<String>,
    object: PhantomData<fn() -> K>,
}

/// An answer of which a part has been read.
struct ListPage {
    body: Pin<Box<dyn AsyncBufRead + Send>>,
    text: ListText,
}

impl<K: DeserializeOwned> Listing<K> {
    /// The list of the objects of `api`, in pages of 500 where `params` have no limit.
    pub fn of(api: &Api<impl Resource + Clone>, mut params: ListParams) -> Self {
        params.limit.get_or_insert(PAGE);
        Self {
            request: Request::new(api.resource_url()),
            client: api.clone().into_client(),
            is_whole: true,
            next: Some(params),
            page: None,
            version: None,
            object: PhantomData,
        }
    }

    pub(crate) fn of_metadata(api: &Api<impl Resource + Clone>, params: ListParams) -> Self {
        Self {
            is_whole: false,
            ..Self::of(api, params)
        }
    }

    /// True while objects may come.
    pub(crate) const fn has_more(&self) -> bool {
        self.next.is_some()
    }

    /// The version of what has been listed, by which a watch goes on.
    pub(crate) fn into_version(self) -> Option<String> {
        self.version
    }

    /// Hands on the objects of the next page, for callers that give each page its own deadline.
    pub async fn page(&mut self, take: &mut impl FnMut(LenientObject<K>)) -> kube::Result<()> {
        while let Some(object) = self.next_of_page().await? {
            take(object);
        }
        Ok(())
    }

    pub(crate) async fn next(&mut self) -> kube::Result<Option<LenientObject<K>>> {
        while self.has_more() {
            if let Some(object) = self.next_of_page().await? {
                return Ok(Some(object));
            }
        }
        Ok(None)
    }

    /// The next object of a page; nothing at its end.
    async fn next_of_page(&mut self) -> kube::Result<Option<LenientObject<K>>> {
        let Some(params) = &self.next else {
            return Ok(None);
        };
        if self.page.is_none() {
            let request = if self.is_whole {
                self.request.list(params)
            } else {
                self.request.list_metadata(params)
            };
            let request = request.map_err(Error::BuildRequest)?;
            self.page = Some(ListPage {
                body: Box::pin(self.client.request_stream(request).await?),
                text: ListText::default(),
            });
        }
        let Some(page) = &mut self.page else {
            return Ok(None);
        };
        if let Some(item) = page.next_item().await? {
            return Ok(Some(
                serde_json::from_slice(&item).map_err(Error::SerdeError)?,
            ));
        }
        let text = self.page.take().map(|page| page.text).unwrap_or_default();
        self.turn(text.finish().map_err(Error::SerdeError)?);
        Ok(None)
    }

    /// Takes note of the end of a page.
    fn turn(&mut self, list: ListMeta) {
        let more = list.continue_.filter(|more| !more.is_empty());
        let params = self.next.take();
        self.next = more.and_then(|more| Some(params?.continue_token(&more)));
        self.version = list.resource_version.filter(|version| !version.is_empty());
    }
}

impl ListPage {
    async fn next_item(&mut self) -> kube::Result<Option<Vec<u8>>> {
        loop {
            let arrived = self.body.fill_buf().await.map_err(Error::ReadEvents)?;
            let mut rest = arrived;
            let item = self.text.next_item(&mut rest);
            let (read, is_end) = (arrived.len() - rest.len(), arrived.is_empty());
            self.body.consume_unpin(read);
            if item.is_some() || is_end {
                return Ok(item);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::convert::Infallible;
    use std::sync::{Arc, Mutex};

    use axum::body::Body;
    use axum::http::{Request, Response};
    use evenkeel_objects::kinds::Kind;
    use evenkeel_objects::meta::Meta;
    use kube::api::DynamicObject;
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct NamedObject {
        metadata: Meta,
        #[serde(default)]
        spec: BTreeMap<String, String>,
    }

    /// An API server with these pages: the answers, by what each is asked for with.
    fn api(
        pages: Vec<(&'static str, &'static str)>,
        asked: &Arc<Mutex<Vec<String>>>,
    ) -> Api<DynamicObject> {
        let asked = Arc::clone(asked);
        let service = tower::service_fn(move |request: Request<kube::client::Body>| {
            let query = request.uri().query().unwrap_or_default().to_owned();
            let page = pages.iter().find(|(token, _)| query.ends_with(token));
            let (status, text) = page.map_or((410, "gone"), |(_, text)| (200, *text));
            let answer = Response::builder().status(status).body(Body::from(text));
            asked.lock().unwrap().push(query);
            async move { Ok::<_, Infallible>(answer.unwrap()) }
        });
        let client = Client::new(service, "default");
        Api::all_with(client, &Kind::Pod.api_resource())
    }

    const FIRST: &str = r#"{"metadata": {"continue": "second", "resourceVersion": "7"},
        "items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}, "spec": 5}]}"#;
    const SECOND: &str =
        r#"{"metadata": {"resourceVersion": "7"}, "items": [{"metadata": {"name": "c"}}]}"#;

    #[tokio::test]
    async fn each_page_is_asked_for_by_what_the_one_before_names() {
        let asked = Arc::default();
        let pages = vec![("limit=500", FIRST), ("continue=second", SECOND)];
        let api = api(pages, &asked);
        let (objects, unreadable) = list::<NamedObject>(&api, ListParams::default())
            .await
            .unwrap();
        assert!(objects.iter().all(|one| one.spec.is_empty()));
        let names = objects.into_iter().map(|one| one.metadata.name.unwrap());
        assert_eq!(names.collect::<Vec<_>>(), ["a", "c"]);
        assert_eq!(unreadable.count, 1);
        let first = unreadable.first.unwrap();
        assert_eq!(first.metadata.name.as_deref(), Some("b"));
        let asked = asked.lock().unwrap().clone();
        assert_eq!(asked, ["&limit=500", "&limit=500&continue=second"]);
    }

    #[tokio::test]
    async fn a_page_that_fails_ends_the_list_after_what_came_before() {
        for pages in [
            vec![("limit=500", FIRST)],
            vec![("limit=500", FIRST), ("continue=second", &SECOND[..60])],
        ] {
            let api = api(pages, &Arc::default());
            let mut taken = 0;
            let listing = Listing::<NamedObject>::of(&api, ListParams::default());
            let listed = for_each(listing, |_| taken += 1).await;
            assert!(listed.is_err());
            assert!(taken >= 2);
        }
    }
}
