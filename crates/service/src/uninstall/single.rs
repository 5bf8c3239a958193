//! Single objects of one kind, read and changed without what nests too deep in them.

use evenkeel_objects::kinds::Kind;
use kube::api::{DynamicObject, GetParams, Patch};
use kube::core::{Request, Status};
use kube::{Api, Client, Error};
use serde::Serialize;

use super::shallow_object::ShallowObject;
use crate::controller::writer::{by_us, is_lost_race};

/// The objects of a kind in a namespace, or of the cluster.
pub(super) struct SingleObjects {
    client: Client,
    request: Request,
}

impl SingleObjects {
    pub(super) fn new(client: &Client, kind: Kind, namespace: Option<&str>) -> Self {
        let (client, resource) = (client.clone(), kind.api_resource());
        let api: Api<DynamicObject> = match namespace {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
            None => Api::all_with(client.clone(), &resource),
        };
        let request = Request::new(api.resource_url());
        Self { client, request }
    }

    pub(super) async fn get(&self, name: &str) -> kube::Result<ShallowObject> {
        let request = self.request.get(name, &GetParams::default());
        let request = request.map_err(Error::BuildRequest)?;
        self.client.request(request).await
    }

    pub(super) async fn patch<P>(&self, name: &str, patch: &Patch<P>) -> kube::Result<ShallowObject>
    where
        P: Serialize + std::fmt::Debug,
    {
        let request = self.request.patch(name, &by_us(), patch);
        self.client
            .request(request.map_err(Error::BuildRequest)?)
            .await
    }

    pub(super) async fn patch_status<P>(&self, name: &str, patch: &Patch<P>) -> kube::Result<()>
    where
        P: Serialize + std::fmt::Debug,
    {
        let request = self
            .request
            .patch_subresource("status", name, &by_us(), patch);
        let request = request.map_err(Error::BuildRequest)?;
        self.client.request_text(request).await.map(drop)
    }
}

/// True for an answer about one object alone, which may hold for ever: a user with write access to
/// the object, or to its namespace's rules, can cause it. Other objects may be written.
pub(super) fn is_about_the_object(status: &Status) -> bool {
    is_lost_race(status) || matches!(status.code, 400 | 403 | 413 | 422)
}
