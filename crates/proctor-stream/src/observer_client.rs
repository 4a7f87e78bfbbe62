//! One client of the observer: the handshake, and the connection that its [`Session`] sends over.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::StatusCode;
use tokio_tungstenite::tungstenite::http::header::{AUTHORIZATION, HOST, ORIGIN};
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::feed::FeedCursor;
use crate::handshake::{self, Refused, StreamRequest};
use crate::observer::Service;
use crate::session::{Connection, Session};
use crate::write_progress::ProgressStream;

const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// The largest message that a client may send; messages of clients are ignored.
const MAX_INCOMING_BYTES: usize = 1 << 16;

pub(crate) async fn serve(stream: TcpStream, service: Service) {
    // Small messages must not wait for each other.
    let _ = stream.set_nodelay(true);
    let stream = ProgressStream::new(stream);
    let progress = stream.progress();
    let token = service.token.clone();
    let accepted = timeout(HANDSHAKE_TIMEOUT, accept(stream, token.as_deref())).await;
    let Ok(Some((socket, request))) = accepted else { return };
    let mut session = Session::new(ObserverSocket(socket), progress, service.limits, service.stop);
    let mut cursor = FeedCursor::new(Arc::clone(&service.feed), request.since);
    let end = session.stream(&mut cursor, request.messages, request.since).await;
    session.close(end).await;
}

type Socket = WebSocketStream<ProgressStream<TcpStream>>;

async fn accept(
    stream: ProgressStream<TcpStream>,
    token: Option<&str>,
) -> Option<(Socket, StreamRequest)> {
    let mut asked = None;
    let config = WebSocketConfig::default()
        .max_message_size(Some(MAX_INCOMING_BYTES))
        .max_frame_size(Some(MAX_INCOMING_BYTES));
    #[expect(clippy::result_large_err, reason = "the shape of the callback is tungstenite's")]
    let callback = |request: &Request, response: Response| match check_request(request, token) {
        Ok(request) => {
            asked = Some(request);
            Ok(response)
        }
        Err(refused) => Err(refusal(refused)),
    };
    let socket = tokio_tungstenite::accept_hdr_async_with_config(stream, callback, Some(config))
        .await
        .ok()?;
    asked.map(|asked| (socket, asked))
}

fn check_request(request: &Request, token: Option<&str>) -> Result<StreamRequest, Refused> {
    let header = |name| {
        let mut values = request.headers().get_all(name).iter();
        let value = values.next();
        if values.next().is_some() {
            return Err(Refused::repeated_header());
        }
        Ok(value.map(|value| value.to_str().unwrap_or("?")))
    };
    let request = handshake::Request {
        query: request.uri().query(),
        host: header(HOST)?,
        origin: header(ORIGIN)?,
        authorization: header(AUTHORIZATION)?,
    };
    handshake::check(&request, token)
}

fn refusal(refused: Refused) -> ErrorResponse {
    let mut response = ErrorResponse::new(Some(refused.reason.into_owned()));
    *response.status_mut() = StatusCode::from_u16(refused.status).unwrap_or(StatusCode::FORBIDDEN);
    response
}

struct ObserverSocket(Socket);

impl Connection for ObserverSocket {
    type Error = Error;

    async fn feed(&mut self, text: &str) -> Result<(), Error> {
        self.0.feed(Message::text(text)).await
    }

    async fn flush(&mut self) -> Result<(), Error> {
        self.0.flush().await
    }

    /// Answers pings.
    async fn receive(&mut self) -> bool {
        match self.0.next().await {
            Some(Ok(Message::Close(_)) | Err(_)) | None => false,
            Some(Ok(_)) => self.0.flush().await.is_ok(),
        }
    }

    async fn close(&mut self, code: u16, reason: &str) {
        let frame = CloseFrame { code: code.into(), reason: reason.into() };
        // The close frame of the client is not awaited: the kernel delivers written bytes even after the process ends.
        let _ = self.0.close(Some(frame)).await;
    }
}
