//! The sessions of MCP over HTTP, limited in number.
//!
//! `rmcp` keeps the sessions themselves and ends those that are silent for long; this module owns the count. A client that crashes
//! leaves its session behind, so at the limit the one that nobody has used for the longest time makes room. One that is being
//! answered, or listens, is never ended for another: where all are in use, a new client is refused.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use futures_util::{Stream, StreamExt as _};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};
use rmcp::transport::streamable_http_server::session::{
    RestoreOutcome, ServerSseMessage, SessionId, SessionManager,
};

/// Why a session cannot be had.
#[derive(Debug)]
pub enum SessionError {
    /// There are as many as there may be, and all are in use.
    Full(usize),
    /// The keeper of sessions refuses.
    Refused(LocalSessionManagerError),
}

impl std::fmt::Display for SessionError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Full(limit) => write!(
                f,
                "{limit} MCP sessions are in use, and there may be no more; close one, or use a version of the protocol without sessions"
            ),
            Self::Refused(problem) => write!(f, "{problem}"),
        }
    }
}

impl std::error::Error for SessionError {}

impl From<LocalSessionManagerError> for SessionError {
    fn from(problem: LocalSessionManagerError) -> Self {
        Self::Refused(problem)
    }
}

/// The sessions there are.
#[derive(Debug)]
pub struct Sessions {
    inner: LocalSessionManager,
    uses: Arc<Mutex<SessionUses>>,
}

/// When each session was last used; pure, times are arguments.
#[derive(Debug)]
struct SessionUses {
    limit: usize,
    /// Sessions that are being created.
    starting: usize,
    known: HashMap<SessionId, SessionUse>,
}

#[derive(Debug, Clone, Copy)]
struct SessionUse {
    last: Instant,
    /// Pending replies and open streams.
    streams: usize,
}

impl SessionUses {
    fn new(limit: usize) -> Self {
        Self { limit, starting: 0, known: HashMap::new() }
    }

    /// Admits one more session; returns the idle one to close for it at the limit.
    fn admit(&mut self) -> Result<Option<SessionId>, SessionError> {
        let mut leaving = None;
        if self.known.len() + self.starting >= self.limit {
            let idle = self.known.iter().filter(|(_, used)| used.streams == 0);
            let oldest = idle.min_by_key(|(_, used)| used.last).map(|(id, _)| Arc::clone(id));
            let oldest = oldest.ok_or(SessionError::Full(self.limit))?;
            self.known.remove(&oldest);
            leaving = Some(oldest);
        }
        self.starting += 1;
        Ok(leaving)
    }

    fn finish_start(&mut self, id: Option<&SessionId>, now: Instant) {
        self.starting -= 1;
        if let Some(id) = id {
            self.known.insert(Arc::clone(id), SessionUse { last: now, streams: 0 });
        }
    }

    fn touch(&mut self, id: &SessionId, now: Instant) {
        if let Some(used) = self.known.get_mut(id) {
            used.last = now;
        }
    }

    fn stream(&mut self, id: &SessionId, opened: bool, now: Instant) {
        if let Some(used) = self.known.get_mut(id) {
            used.last = now;
            used.streams = if opened { used.streams + 1 } else { used.streams.saturating_sub(1) };
        }
    }
}

/// Counts a stream of a session until it is dropped.
struct StreamUse {
    uses: Arc<Mutex<SessionUses>>,
    id: SessionId,
}

impl StreamUse {
    fn new(uses: &Arc<Mutex<SessionUses>>, id: &SessionId) -> Self {
        locked(uses).stream(id, true, Instant::now());
        Self { uses: Arc::clone(uses), id: Arc::clone(id) }
    }

    /// Ties this count to the life of the stream.
    fn attach_to<S: Stream>(self, stream: S) -> impl Stream<Item = S::Item> {
        stream.map(move |item| {
            let _held = &self;
            item
        })
    }
}

impl Drop for StreamUse {
    fn drop(&mut self) {
        locked(&self.uses).stream(&self.id, false, Instant::now());
    }
}

fn locked(uses: &Mutex<SessionUses>) -> MutexGuard<'_, SessionUses> {
    uses.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sessions {
    pub(crate) fn new(inner: LocalSessionManager, limit: usize) -> Self {
        Self { inner, uses: Arc::new(Mutex::new(SessionUses::new(limit))) }
    }
}

impl SessionManager for Sessions {
    type Error = SessionError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionError> {
        let leaving = locked(&self.uses).admit()?;
        if let Some(idle) = leaving {
            // It may have ended by itself meanwhile.
            let _ = self.inner.close_session(&idle).await;
        }
        let made = self.inner.create_session().await;
        locked(&self.uses).finish_start(made.as_ref().ok().map(|(id, _)| id), Instant::now());
        Ok(made?)
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionError> {
        Ok(self.inner.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionError> {
        locked(&self.uses).touch(id, Instant::now());
        Ok(self.inner.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionError> {
        locked(&self.uses).known.remove(id);
        Ok(self.inner.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let listening = StreamUse::new(&self.uses, id);
        Ok(listening.attach_to(self.inner.create_stream(id, message).await?))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionError> {
        locked(&self.uses).touch(id, Instant::now());
        Ok(self.inner.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let listening = StreamUse::new(&self.uses, id);
        Ok(listening.attach_to(self.inner.create_standalone_stream(id).await?))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let listening = StreamUse::new(&self.uses, id);
        Ok(listening.attach_to(self.inner.resume(id, last_event_id).await?))
    }

    /// Nothing is kept outside this process, so there is nothing to restore from.
    async fn restore_session(
        &self,
        _id: SessionId,
    ) -> Result<RestoreOutcome<Self::Transport>, SessionError> {
        Ok(RestoreOutcome::NotSupported)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> SessionId {
        Arc::from(name)
    }

    fn enter(uses: &mut SessionUses, name: &str) -> Result<Option<SessionId>, SessionError> {
        let leaving = uses.admit()?;
        uses.finish_start(Some(&id(name)), Instant::now());
        Ok(leaving)
    }

    #[test]
    fn the_one_unused_for_longest_makes_room_unless_somebody_listens() {
        let mut uses = SessionUses::new(3);
        for name in ["a", "b", "c"] {
            assert_eq!(enter(&mut uses, name).unwrap(), None);
        }
        uses.touch(&id("a"), Instant::now());
        assert_eq!(enter(&mut uses, "d").unwrap(), Some(id("b")), "a was used since");
        for name in ["a", "c"] {
            uses.stream(&id(name), true, Instant::now());
        }
        assert_eq!(enter(&mut uses, "e").unwrap(), Some(id("d")));
        uses.stream(&id("e"), true, Instant::now());
        let full = enter(&mut uses, "f").unwrap_err().to_string();
        assert!(full.starts_with("3 MCP sessions are in use"), "{full}");
        uses.stream(&id("c"), false, Instant::now());
        assert_eq!(enter(&mut uses, "f").unwrap(), Some(id("c")));
        assert_eq!(uses.known.len(), 3);
    }

    #[test]
    fn those_who_come_at_once_share_the_places() {
        let mut uses = SessionUses::new(2);
        assert_eq!(uses.admit().unwrap(), None);
        assert_eq!(uses.admit().unwrap(), None);
        assert!(uses.admit().is_err(), "both places are promised");
        uses.finish_start(None, Instant::now());
        assert_eq!(uses.admit().unwrap(), None, "one of them did not come");
    }

    #[tokio::test]
    async fn sessions_never_exceed_the_limit() {
        let sessions = Sessions::new(LocalSessionManager::default(), 4);
        let mut made = Vec::new();
        for _ in 0..20 {
            made.push(sessions.create_session().await.unwrap());
            assert!(sessions.inner.sessions.read().await.len() <= 4);
        }
        let (first, last) = (&made[0].0, &made[19].0);
        assert!(!sessions.has_session(first).await.unwrap());
        assert!(sessions.has_session(last).await.unwrap());
        sessions.close_session(last).await.unwrap();
        assert_eq!(locked(&sessions.uses).known.len(), 3);
    }
}
