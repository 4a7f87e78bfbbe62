//! `/mcp`: the mount point of the tools for agents.
//!
//! The caller of [`Server::start`](crate::Server::start) supplies the service; this crate knows neither its protocol nor its tools. Token,
//! Host and Origin are checked before the service gets a request. The limit on request sizes of other routes does not apply to the service.

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
