//! Requests to the API server, each with a deadline, so that a hanging answer delays no withdrawal
//! or restoration.

use std::time::Duration;

use evenkeel_objects::lenient_object::LenientObject;
use kube::api::ListParams;
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

use crate::cluster::paged_list::Listing;

/// The longest wait for an answer: a page of five hundred Pods takes a second or two.
const DEADLINE: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub(super) enum TimedRequestError {
    #[error(transparent)]
    Failed(#[from] kube::Error),
    #[error("no answer within {} s", DEADLINE.as_secs())]
    Late,
}

pub(super) async fn in_time<T>(
    asked: impl Future<Output = kube::Result<T>>,
) -> Result<T, TimedRequestError> {
    let answered = tokio::time::timeout(DEADLINE, asked).await;
    Ok(answered.map_err(|_| TimedRequestError::Late)??)
}

/// Hands on the objects of a list, each page of which comes in time.
pub(super) async fn for_each_in_time<K: DeserializeOwned>(
    api: &Api<impl Resource + Clone>,
    mut take: impl FnMut(LenientObject<K>),
) -> Result<(), TimedRequestError> {
    let mut listing = Listing::of(api, ListParams::default());
    while listing.has_more() {
        in_time(listing.page(&mut take)).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_hangs_is_given_up() {
        let hangs = std::future::pending::<kube::Result<()>>();
        assert!(matches!(in_time(hangs).await, Err(TimedRequestError::Late)));
        assert!(in_time(async { Ok(1) }).await.is_ok_and(|one| one == 1));
    }
}
