//! The dashboard's listener: a page for operators, read-only JSON about scaling and placement, and a
//! list of its paths. It reads the states that the loops and handlers leave behind, and waits for
//! neither; only explanations of HPAs read the API server. It does not authenticate callers, so it listens on loopback, and answers to [`Hosts`]
//! only.

mod calendar;
mod explain;
mod foreign_pages;
mod hosts;
mod hpas;
mod index;
mod json_answer;
mod nodes;
mod page;
mod placements;
mod query;
mod replay_board;
mod scaling;
mod score_label_levels;
mod stream;

use axum::Router;
use kube::Client;

pub use hosts::Hosts;
pub use replay_board::ReplayBoard;
pub use scaling::DashboardScalingState;

use self::calendar::CalendarSource;
use self::hpas::HpaSource;
use self::stream::StreamSource;
use crate::server::handlers::Handlers;

/// All paths of the dashboard but those of the metrics. `client` reads what explains an HPA.
pub fn routes(handlers: &Handlers, scaling: &DashboardScalingState, client: Client) -> Router {
    let calendar = CalendarSource::new(handlers.cluster.clone());
    let stream = StreamSource::new(handlers.clone(), scaling.clone(), calendar.clone());
    let hpas = HpaSource::new(handlers.cluster.clone(), client);
    let api = explain::explanations(handlers)
        .merge(scaling.routes())
        .merge(nodes::routes(handlers))
        .merge(placements::routes(handlers))
        .merge(calendar.routes())
        .merge(hpas.routes())
        .merge(stream.routes());
    foreign_pages::refuse(api)
        .merge(page::routes())
        .merge(index::index())
}
