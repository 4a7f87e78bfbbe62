//! Accepting connections: a bounded number, each with a header-read timeout and a graceful shutdown.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use hyper::service::Service as _;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use proctor_stream::ProgressStream;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

/// The header-read timeout.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// The largest size of a request's headers.
const MAX_HEADER_BYTES: usize = 32 << 10;
/// How long open connections may take to close after the stop. Without open connections there is no wait.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// Serves up to `connections` connections at once until the stop signal.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    connections: usize,
    mut stop: watch::Receiver<bool>,
    watching: &AtomicUsize,
) {
    let permits = Arc::new(Semaphore::new(connections));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|stop| *stop) => break,
        };
        let Ok((stream, _)) = accepted else {
            // Most likely out of descriptors: a pause avoids a busy loop.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        // Beyond the limit a connection is closed at once, so that established ones stay responsive.
        let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else { continue };
        let _ = stream.set_nodelay(true);
        let stream = ProgressStream::new(stream);
        let (progress, service) = (stream.progress(), TowerToHyperService::new(router.clone()));
        // Sessions detect stalled clients by this counter.
        let service = hyper::service::service_fn(move |mut request: hyper::Request<_>| {
            request.extensions_mut().insert(progress.clone());
            service.call(request)
        });
        let mut stop = stop.clone();
        tokio::spawn(async move {
            let connection = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEADER_TIMEOUT)
                .max_buf_size(MAX_HEADER_BYTES)
                .serve_connection(TokioIo::new(stream), service)
                .with_upgrades();
            tokio::pin!(connection);
            let ended = tokio::select! {
                _ = &mut connection => true,
                _ = stop.wait_for(|stop| *stop) => false,
            };
            if !ended {
                // An idle connection ends at once, a busy one after its response.
                connection.as_mut().graceful_shutdown();
                let _ = connection.await;
            }
            drop(permit);
        });
    }
    drop(listener);
    let _ =
        tokio::time::timeout(SHUTDOWN_TIMEOUT, wait_until_closed(&permits, connections, watching))
            .await;
}

/// Waits until every connection and every stream has ended.
async fn wait_until_closed(permits: &Semaphore, connections: usize, watching: &AtomicUsize) {
    let all = u32::try_from(connections).unwrap_or(u32::MAX);
    let _ = permits.acquire_many(all).await;
    while watching.load(Ordering::SeqCst) > 0 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
