//! Kapacity's gRPC service, for its jobs and other clients. Over TLS callers show the token of a
//! ServiceAccount. Kapacity's own client for Python shows no token and speaks no TLS, so it has a
//! listener of its own: there the caller is the Pod with the peer address, and may ask about that
//! Pod's namespace alone ([`PodCallers`]).

pub mod messages;
mod translation;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Request, header};
use axum::response::Response;
use axum::routing::{MethodRouter, post};
use evenkeel_metrics::series_query::{SeriesRefusal, SeriesRequest, words};
use evenkeel_units::Bytes;
use tonic::server::Grpc;
use tonic::{Code, Status};
use tonic_prost::ProstCodec;
use tower::service_fn;

use self::messages::{QueryLatestRequest, QueryLatestResponse, QueryRequest, QueryResponse};
use super::pod_callers::PodCallers;
use super::provider::{HeldSeriesAnswer, MetricsProvider, SeriesQueryTurn};
use super::response_body::until_sent;
use crate::server;
use crate::server::access_reviews::AuthorizationAttributes;
use crate::server::{
    BodyPace, BufferedRequest, GrpcCall, LoadShedDecision, PathLimits, PeerAddress, Reviewer,
    RouteEndpoint, Routes, paths, token,
};

/// The longest message of a question: one with two selectors takes a few kilobytes.
const MESSAGE: Bytes = Bytes(64 * 1024);

/// The memory of all messages that are read at a time.
const MESSAGES: Bytes = Bytes(2 * 1024 * 1024);

const LIMITS: PathLimits = PathLimits {
    body: MESSAGE,
    body_pace: BodyPace {
        grace: Duration::from_secs(2),
        rate: Bytes(64 * 1024),
        longest: Duration::from_secs(5),
    },
    // More than may wait for their turns, which are counted by namespace.
    concurrency: match NonZeroUsize::new(256) {
        Some(most) => most,
        None => NonZeroUsize::MIN,
    },
};

/// How callers are known.
#[derive(Debug)]
pub enum Callers {
    Tokens(Reviewer),
    Addresses(PodCallers),
}

#[derive(Debug)]
pub struct GrpcService {
    pub callers: Callers,
    pub provider: Arc<MetricsProvider>,
}

impl GrpcService {
    /// The service for callers with a token that the API server behind `client` knows.
    pub fn for_tokens(client: kube::Client, provider: Arc<MetricsProvider>) -> Self {
        Self {
            callers: Callers::Tokens(Reviewer::new(client)),
            provider,
        }
    }

    /// Adds the two methods.
    pub fn routes(self, routes: Routes) -> Routes {
        let shared = Arc::new(self);
        let path = |path, handler: MethodRouter<Arc<Self>>| {
            let endpoint = RouteEndpoint {
                path,
                limits: LIMITS,
                // Asked by the handlers, which say in the words of gRPC why a caller is refused.
                authority: None,
            };
            (endpoint, handler.with_state(Arc::clone(&shared)))
        };
        routes.caller(
            "metrics-provider",
            MESSAGES,
            [
                path(paths::QUERY_LATEST, post(latest)),
                path(paths::QUERY, post(past)),
            ],
        )
    }

    async fn answer(
        &self,
        asked: &SeriesRequest,
        caller: &Caller,
    ) -> Result<HeldSeriesAnswer, SeriesRefusal> {
        if caller.is_shed {
            return Err(SeriesRefusal::Busy);
        }
        self.authorise(asked, caller).await?;
        self.provider.answer(asked).await
    }

    async fn authorise(&self, asked: &SeriesRequest, caller: &Caller) -> Result<(), SeriesRefusal> {
        let addresses = match &self.callers {
            Callers::Addresses(addresses) => addresses,
            Callers::Tokens(reviewer) => {
                let rights = asked.query.rights();
                let missing = || {
                    SeriesRefusal::Unauthenticated(
                        server::ScrapeRefusal::Unauthenticated.to_string(),
                    )
                };
                let token = token(&caller.headers).ok_or_else(missing)?;
                let attempts = rights
                    .clone()
                    .map(|right| AuthorizationAttributes::Resource(Box::new(right)));
                let admitted = reviewer.admit(token, &attempts).await;
                return admitted.map_err(|refused| match refused {
                    server::ScrapeRefusal::Unauthenticated => missing(),
                    server::ScrapeRefusal::Forbidden => SeriesRefusal::Forbidden {
                        user: "the token's owner".to_owned(),
                        right: rights.map(|right| words(&right)).join(" and "),
                    },
                    server::ScrapeRefusal::Unavailable => {
                        SeriesRefusal::Unreviewed(refused.to_string())
                    }
                    server::ScrapeRefusal::Busy => SeriesRefusal::Busy,
                });
            }
        };
        let PeerAddress(address) = caller.address.ok_or_else(|| {
            SeriesRefusal::Unauthenticated("the caller has no known address".to_owned())
        })?;
        addresses.authorise(address, &asked.query).await
    }
}

/// The known facts about a caller.
struct Caller {
    headers: HeaderMap,
    address: Option<PeerAddress>,
    is_shed: bool,
    /// The call, which keeps its place among those of its path until it is answered.
    _call: BufferedRequest,
}

type GrpcServiceState = State<Arc<GrpcService>>;
type Address = Option<Extension<PeerAddress>>;

async fn latest(
    State(service): GrpcServiceState,
    address: Address,
    headers: HeaderMap,
    call: GrpcCall,
) -> Response {
    let (caller, request) = framed(address, headers, call);
    let answer = service_fn(|request: tonic::Request<QueryLatestRequest>| async {
        let asked =
            translation::latest(request.into_inner().query).map_err(|refusal| status(&refusal))?;
        let HeldSeriesAnswer { answer, turn } = service
            .answer(&asked, &caller)
            .await
            .map_err(|refusal| status(&refusal))?;
        let mut answer = tonic::Response::new(translation::samples(answer));
        answer.extensions_mut().insert(turn);
        Ok(answer)
    });
    let codec = ProstCodec::<QueryLatestResponse, QueryLatestRequest>::default();
    held(Grpc::new(codec).unary(answer, request).await)
}

async fn past(
    State(service): GrpcServiceState,
    address: Address,
    headers: HeaderMap,
    call: GrpcCall,
) -> Response {
    let (caller, request) = framed(address, headers, call);
    let answer = service_fn(|request: tonic::Request<QueryRequest>| async {
        let limits = service.provider.settings().limits;
        let asked =
            translation::past(request.into_inner(), limits).map_err(|refusal| status(&refusal))?;
        let HeldSeriesAnswer { answer, turn } = service
            .answer(&asked, &caller)
            .await
            .map_err(|refusal| status(&refusal))?;
        let mut answer = tonic::Response::new(translation::series(answer));
        answer.extensions_mut().insert(turn);
        Ok(answer)
    });
    let codec = ProstCodec::<QueryResponse, QueryRequest>::default();
    held(Grpc::new(codec).unary(answer, request).await)
}

/// The caller, and the request after its body has been read within its bounds.
fn framed(
    address: Address,
    headers: HeaderMap,
    GrpcCall(call): GrpcCall,
) -> (Caller, Request<Body>) {
    let mut request = Request::new(Body::from(call.body.clone()));
    for name in [header::CONTENT_TYPE.as_str(), "grpc-encoding"] {
        if let Some(value) = headers.get(name)
            && let Ok(name) = header::HeaderName::try_from(name)
        {
            request.headers_mut().insert(name, value.clone());
        }
    }
    let caller = Caller {
        headers,
        address: address.map(|Extension(address)| address),
        is_shed: call.load == LoadShedDecision::Shed,
        _call: call,
    };
    (caller, request)
}

/// The response, which holds the turn of its question until it has been sent.
fn held(mut response: axum::http::Response<tonic::body::Body>) -> Response {
    let turn = response.extensions_mut().remove::<Arc<SeriesQueryTurn>>();
    response.map(|body| match turn {
        Some(turn) => until_sent(Body::new(body), turn),
        None => Body::new(body),
    })
}

/// A refusal in the words of gRPC.
fn status(refusal: &SeriesRefusal) -> Status {
    let code = match refusal.answer().0 {
        400 => Code::InvalidArgument,
        401 => Code::Unauthenticated,
        403 => Code::PermissionDenied,
        404 => Code::NotFound,
        413 | 429 => Code::ResourceExhausted,
        501 => Code::Unimplemented,
        504 => Code::DeadlineExceeded,
        _ => Code::Unavailable,
    };
    Status::new(code, refusal.to_string())
}
