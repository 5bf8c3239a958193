//! The list of served groups, `/apis`: for every caller behind the front proxy, because it says
//! nothing about the cluster.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::on;
use evenkeel_objects::api_status;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroup, APIGroupList};

use super::caller_identity::Introductions;
use super::endpoints::{EVERY, StatusErrorResponse, endpoint, is_read, routes};
use crate::server::{Routes, paths};

#[derive(Debug)]
pub struct Groups {
    pub introductions: Introductions,
    pub groups: Vec<APIGroup>,
}

impl Groups {
    /// Adds the path of the list.
    pub fn routes(self, all: Routes) -> Routes {
        let list = on(EVERY, groups).with_state(Arc::new(self));
        routes(all, [(endpoint(paths::GROUPS), list)])
    }
}

async fn groups(
    State(shared): State<Arc<Groups>>,
    request: Request,
) -> Result<Response, StatusErrorResponse> {
    let (parts, _) = request.into_parts();
    let caller = shared.introductions.caller(&parts);
    caller.map_err(|unknown| api_status::status(401, "Unauthorized", unknown.to_string()))?;
    if !is_read(&parts) {
        let message = "the groups can be read only".to_owned();
        return Err(api_status::status(405, "MethodNotAllowed", message).into());
    }
    let groups = shared.groups.clone();
    Ok(Json(APIGroupList { groups }).into_response())
}
