//! The routes, and the access check before them.

mod examples;
mod history;
mod journal;
mod runs;
mod specs;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, COOKIE,
    HOST, LOCATION, ORIGIN, REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::StreamExt as _;
use proctor_redact::Redactor;

use crate::access::{Admission, Refused, RequestHeaders, without_token};
use crate::error::ApiError;
use crate::mcp_service::McpService;
use crate::server::Shared;
use crate::{assets, event_stream};

/// How large a request may be.
const BODY: usize = 64 << 10;

/// Scripts and styles of this server only, so that text of agents is never executed.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

type Context = State<Arc<Shared>>;

pub(crate) fn router(shared: Arc<Shared>, mcp: Option<McpService>) -> Router {
    let api = Router::new()
        .route("/runs", get(runs::list))
        .route("/runs/{run}", get(runs::one))
        .route("/runs/{run}/cancel", post(runs::cancel))
        .route("/runs/{run}/examples", get(examples::list))
        .route("/runs/{run}/examples/{example}", get(examples::one))
        .route("/runs/{run}/events", get(examples::events))
        .route("/compare", get(history::compare))
        .route("/baselines", get(history::baselines))
        .route("/history", get(history::history))
        .route("/flaky", get(history::flaky))
        .route("/search", get(history::search))
        .route("/journal/entries", get(journal::list))
        .route("/journal/entries/{entry}", get(journal::one))
        .route("/journal/stats", get(journal::stats))
        .route("/openapi.json", get(openapi));
    let router = Router::new()
        .route("/", get(assets::page))
        .route("/assets/{name}", get(assets::file))
        .route("/ws", get(event_stream::upgrade))
        .route("/specs/run", post(specs::run))
        .route("/specs/progress", get(specs::progress))
        .route("/specs/cancel", post(specs::cancel))
        .nest("/api", api);
    let router = match mcp {
        Some(mcp) => router.merge(mcp.routes().with_state(())),
        None => router,
    };
    router
        .fallback(unknown_route)
        .method_not_allowed_fallback(wrong_method)
        .layer(DefaultBodyLimit::max(BODY))
        .layer(middleware::from_fn_with_state(Arc::clone(&shared), check_access))
        .with_state(shared)
}

async fn openapi() -> Response {
    ([("content-type", "application/json")], crate::OPENAPI).into_response()
}

async fn unknown_route() -> ApiError {
    ApiError::not_found("no such route; /api/openapi.json lists all routes")
}

async fn wrong_method() -> ApiError {
    ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "this route does not support the method; see /api/openapi.json",
    )
}

/// A JSON response without secrets: recordings of other people and of older versions may hold some. Pages and assets are our own,
/// and streams filter message by message.
async fn without_secrets(response: Response, redactor: &Redactor) -> Response {
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if !content_type.is_some_and(|value| value.starts_with("application/json")) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(bytes) = axum::body::to_bytes(body, usize::MAX).await else {
        return ApiError::internal("the response could not be put together").into_response();
    };
    if let Cow::Owned(clean) = redactor.redact_json_line(&bytes) {
        parts.headers.remove(CONTENT_LENGTH);
        return Response::from_parts(parts, clean.into());
    }
    Response::from_parts(parts, bytes.into())
}

/// Checks access, filters secrets, and sets the security headers of every response.
async fn check_access(State(shared): Context, request: Request, next: Next) -> Response {
    let query = request.uri().query().map(ToOwned::to_owned);
    let admission = access_headers(request.headers(), query.as_deref())
        .and_then(|headers| shared.access_rules.check(&headers));
    let mut response = match admission {
        Ok(Admission::ByQuery) if is_page(&request) => exchange_token_for_cookie(
            &shared,
            request.uri().path(),
            query.as_deref().unwrap_or_default(),
        ),
        Ok(_) => {
            let response = next.run(with_body_timeout(request, shared.limits.body)).await;
            without_secrets(response, &shared.redactor).await
        }
        Err(refused) => refusal_response(refused),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    for (name, value) in [
        ("cross-origin-resource-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

fn access_headers<'a>(
    headers: &'a HeaderMap,
    query: Option<&'a str>,
) -> Result<RequestHeaders<'a>, Refused> {
    let single = |name: HeaderName| {
        let mut values = headers.get_all(name).iter();
        let value = values.next();
        if values.next().is_some() {
            return Err(Refused::RepeatedHeader);
        }
        Ok(value.map(|value| value.to_str().unwrap_or("?")))
    };
    Ok(RequestHeaders {
        host: single(HOST)?,
        origin: single(ORIGIN)?,
        fetch_site: single(HeaderName::from_static("sec-fetch-site"))?,
        fetch_mode: single(HeaderName::from_static("sec-fetch-mode"))?,
        authorization: single(AUTHORIZATION)?,
        cookies: single(COOKIE)?,
        query,
    })
}

/// The request with a body that fails when it has not arrived within the limit, so that a client that stalls holds no connection.
fn with_body_timeout(request: Request, limit: Duration) -> Request {
    let deadline = tokio::time::Instant::now() + limit;
    request.map(|body| {
        let frames =
            futures_util::stream::unfold(Some(body.into_data_stream()), move |body| async move {
                let mut body = body?;
                match tokio::time::timeout_at(deadline, body.next()).await {
                    Ok(frame) => frame.map(|frame| (frame, Some(body))),
                    Err(_) => Some((Err(axum::Error::new(BodyTimeout)), None)),
                }
            });
        Body::from_stream(frames)
    })
}

/// The body of a request did not arrive in time.
#[derive(Debug, thiserror::Error)]
#[error("the body of the request did not arrive in time")]
struct BodyTimeout;

fn is_page(request: &Request<Body>) -> bool {
    request.method() == Method::GET && request.uri().path() == "/"
}

/// Exchanges the token in the address for a cookie, so that it stays in no history and no link.
fn exchange_token_for_cookie(shared: &Shared, path: &str, query: &str) -> Response {
    let rest = without_token(query);
    let location = if rest.is_empty() { path.to_owned() } else { format!("{path}?{rest}") };
    let cookie = format!(
        "{}={}; Path=/; HttpOnly; SameSite=Strict",
        shared.access_rules.cookie, shared.access_rules.session
    );
    (StatusCode::SEE_OTHER, [(LOCATION, location), (SET_COOKIE, cookie)]).into_response()
}

fn refusal_response(refused: Refused) -> Response {
    match refused {
        Refused::RepeatedHeader => ApiError::bad_request(
            "Host, Origin, Sec-Fetch-Site, Sec-Fetch-Mode, Authorization and Cookie may be sent once each",
        ),
        Refused::ForeignHost => {
            ApiError::new(StatusCode::FORBIDDEN, "the Host header does not name this server")
        }
        Refused::ForeignOrigin => {
            ApiError::new(StatusCode::FORBIDDEN, "requests from other origins are not allowed")
        }
        Refused::NoToken => ApiError::new(
            StatusCode::UNAUTHORIZED,
            "a token is needed: open the address that `proctor serve` printed, or send `Authorization: Bearer TOKEN`",
        ),
    }
    .into_response()
}

/// Runs blocking work on another thread.
async fn blocking<T: Send + 'static>(
    shared: &Arc<Shared>,
    work: impl FnOnce(&Shared) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let shared = Arc::clone(shared);
    tokio::task::spawn_blocking(move || work(&shared)).await.map_err(ApiError::internal)?
}

/// Query parameters; unknown ones are refused by name.
#[derive(Debug)]
pub(crate) struct Query<T>(pub(crate) T);

impl<T, S> axum::extract::FromRequestParts<S> for Query<T>
where
    T: serde::de::DeserializeOwned,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request_parts(
        parts: &mut axum::http::request::Parts,
        _: &S,
    ) -> Result<Self, ApiError> {
        let axum::extract::Query(value) = axum::extract::Query::try_from_uri(&parts.uri)
            .map_err(|problem| ApiError::bad_request(problem.body_text()))?;
        Ok(Self(value))
    }
}

/// Path parameters; malformed ones are refused with an [`ApiError`].
#[derive(Debug)]
pub(crate) struct Path<T>(pub(crate) T);

impl<T, S> axum::extract::FromRequestParts<S> for Path<T>
where
    T: serde::de::DeserializeOwned + Send,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request_parts(
        parts: &mut axum::http::request::Parts,
        state: &S,
    ) -> Result<Self, ApiError> {
        let axum::extract::Path(value) = axum::extract::Path::from_request_parts(parts, state)
            .await
            .map_err(|problem| ApiError::bad_request(problem.body_text()))?;
        Ok(Self(value))
    }
}

/// An optional number with bounds.
fn within(
    name: &str,
    given: Option<usize>,
    otherwise: usize,
    range: std::ops::RangeInclusive<usize>,
) -> Result<usize, ApiError> {
    let value = given.unwrap_or(otherwise);
    if range.contains(&value) {
        return Ok(value);
    }
    let (least, most) = (range.start(), range.end());
    Err(ApiError::bad_request(format_args!("`{name}` is a number from {least} to {most}")))
}

/// Words separated by commas.
pub(crate) fn listed(text: Option<&str>) -> Vec<String> {
    let words = text.unwrap_or_default().split(',').map(str::trim);
    words.filter(|word| !word.is_empty()).map(ToOwned::to_owned).collect()
}
