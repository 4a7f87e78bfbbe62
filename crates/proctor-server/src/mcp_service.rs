//! A place for the tools of agents: `/mcp`.
//!
//! Whoever starts the server brings the service that answers there; this crate knows neither its protocol nor its tools. It stands
//! behind the same gate as everything else: token, Host and Origin are checked before it hears of a request. What a service
//! may take in is its own concern: the limit on the size of other requests is for what is read here.

use std::convert::Infallible;

use axum::Router;
use axum::extract::Request;
use axum::response::IntoResponse;
use tower_service::Service;

/// A service that answers at `/mcp`.
#[derive(Debug, Clone)]
pub struct McpService(Router);

impl McpService {
    /// Wraps a service.
    pub fn new<S>(service: S) -> Self
    where
        S: Service<Request, Error = Infallible> + Clone + Send + Sync + 'static,
        S::Response: IntoResponse + 'static,
        S::Future: Send + 'static,
    {
        Self(Router::new().route_service("/mcp", service))
    }

    /// Its routes, to be put behind the gate.
    pub(crate) fn routes(self) -> Router {
        self.0
    }
}
