//! A connection to a server that was found fit to be an engine.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::context::ContextBuilder;
use async_nats::jetstream::{Context, kv};
use async_nats::{Client, ConnectErrorKind, ConnectOptions, Event};
use futures_util::TryStreamExt;
use tokio::sync::watch;

use crate::address::{Access, EngineAddress};
use crate::controller::ControllerPort;
use crate::error::EngineError;
use crate::machine::MachinePort;
use crate::names;

/// The first version of the server that has all that is needed.
const MINIMUM_VERSION: (i64, i64, i64) = (2, 10, 0);
/// How long a server may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// What the bucket of leases says of itself, so that one of somebody else is told apart.
const BUCKET_DESCRIPTION: &str = "proctor: leases of runs and machines";
/// How long a lease lives that is not renewed, where the bucket does not exist yet.
const DEFAULT_LEASE: Duration = Duration::from_secs(2);

/// A server in use. Clones share the connection.
#[derive(Clone)]
pub struct Engine {
    pub(crate) address: EngineAddress,
    pub(crate) client: Client,
    pub(crate) context: Context,
    pub(crate) leases: kv::Store,
    /// How long a lease lives that is not renewed.
    pub(crate) lease: Duration,
    /// Counts how often the connection was made; changes tell that requests in flight are lost.
    pub(crate) connections: watch::Receiver<u64>,
}

/// What a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineFacts {
    /// Its version.
    pub version: String,
    /// The largest message it takes, in bytes.
    pub max_payload: usize,
    /// How long a lease lives that is not renewed.
    pub lease: Duration,
}

/// A run that wants machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnnouncedRun {
    /// Its id.
    pub run: String,
    /// What its controller says about it.
    pub announcement: String,
}

impl Engine {
    /// Connects to a server and finds out whether it can be used. `lease` is taken where this is the first to come.
    pub async fn connect(
        address: &EngineAddress,
        access: &Access,
        lease: Option<Duration>,
    ) -> Result<Self, EngineError> {
        let place = address.to_string();
        if !address.is_loopback() && (!address.is_tls || access.credentials.is_none()) {
            return Err(EngineError::Unprotected { address: place });
        }
        let (connected, connections) = watch::channel(0);
        let client = options(access, address.is_tls)?
            .event_callback(counting(connected))
            .connect(address.url())
            .await
            .map_err(|error| connect_error(place.clone(), &error))?;
        let info = client.server_info();
        let (major, minor, patch) = MINIMUM_VERSION;
        if !client.is_server_compatible(major, minor, patch) {
            return Err(EngineError::TooOld { address: place, version: info.version });
        }
        let context = ContextBuilder::new()
            .timeout(ANSWER_WITHIN)
            .ack_timeout(ANSWER_WITHIN)
            .build(client.clone());
        if !info.jetstream || context.query_account().await.is_err() {
            return Err(EngineError::NoJetStream { address: place });
        }
        let leases = open_bucket(&context, &address.namespace, lease).await?;
        let status = leases.status().await;
        let lease = status.map_err(|error| EngineError::request("read the bucket", error))?;
        let lease = lease.max_age();
        Ok(Self { address: address.clone(), client, context, leases, lease, connections })
    }

    /// Where it is.
    pub fn address(&self) -> &EngineAddress {
        &self.address
    }

    /// What the server says of itself.
    pub fn facts(&self) -> EngineFacts {
        let info = self.client.server_info();
        EngineFacts { version: info.version, max_payload: info.max_payload, lease: self.lease }
    }

    /// The runs of this namespace that have a controller, in the order of their ids.
    pub async fn runs(&self) -> Result<Vec<AnnouncedRun>, EngineError> {
        let failed = |error: &dyn std::fmt::Display| EngineError::request("list the runs", error);
        let filter = format!("$KV.{}.run.*", names::bucket(&self.address.namespace));
        let listing = self.leases.stream.info_with_subjects(filter).await;
        let listing = listing.map_err(|error| failed(&error))?;
        let subjects: Vec<(String, usize)> =
            listing.try_collect().await.map_err(|error| failed(&error))?;
        let prefix = format!("$KV.{}.", names::bucket(&self.address.namespace));
        let mut runs = Vec::new();
        for (subject, _) in subjects {
            let key = subject.strip_prefix(&prefix).unwrap_or_default();
            let Some(run) = names::run_of_key(key) else { continue };
            let value = self.leases.get(key).await.map_err(|error| failed(&error))?;
            // It may have ended since it was listed.
            if let Some(value) = value {
                let announcement = String::from_utf8_lossy(&value).into_owned();
                runs.push(AnnouncedRun { run: run.to_owned(), announcement });
            }
        }
        runs.sort_by(|a, b| a.run.cmp(&b.run));
        Ok(runs)
    }

    /// Takes control of a run and announces it.
    pub async fn control(
        &self,
        run: &str,
        announcement: String,
    ) -> Result<ControllerPort, EngineError> {
        ControllerPort::open(self.clone(), run, announcement).await
    }

    /// Joins a run with a boot of its own, under a lease.
    pub async fn join(&self, run: &str) -> Result<MachinePort, EngineError> {
        MachinePort::open(self.clone(), run).await
    }
}

fn options(access: &Access, is_tls: bool) -> Result<ConnectOptions, EngineError> {
    let mut options = ConnectOptions::new()
        .name("proctor")
        .require_tls(is_tls)
        .connection_timeout(ANSWER_WITHIN)
        .request_timeout(Some(ANSWER_WITHIN))
        // Often and for ever: who uses the engine decides when to give up.
        .reconnect_delay_callback(|attempts| {
            Duration::from_millis(20 << u32::try_from(attempts.min(4)).unwrap_or(4))
        })
        .ignore_discovered_servers()
        .ping_interval(Duration::from_secs(1));
    if let Some(path) = &access.certificates {
        options = options.add_root_certificates(path.clone());
    }
    let Some(path) = &access.credentials else { return Ok(options) };
    let unusable = |cause: String| EngineError::Credentials { path: path.clone(), cause };
    let text = std::fs::read_to_string(path).map_err(|error| unusable(error.to_string()))?;
    let text = text.trim();
    if text.starts_with("SU") && !text.contains(char::is_whitespace) {
        return Ok(options.nkey(text.to_owned()));
    }
    options.credentials(text).map_err(|error| unusable(error.to_string()))
}

/// Counts connections.
fn counting(
    connected: watch::Sender<u64>,
) -> impl Fn(Event) -> std::future::Ready<()> + Send + Sync + 'static {
    let connected = Arc::new(connected);
    move |event| {
        if matches!(event, Event::Connected) {
            connected.send_modify(|count| *count += 1);
        }
        std::future::ready(())
    }
}

fn connect_error(address: String, error: &async_nats::ConnectError) -> EngineError {
    match error.kind() {
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
            EngineError::Refused { address }
        }
        _ => EngineError::NoServer { address, cause: error.to_string() },
    }
}

/// The bucket of the leases; made by whoever comes first.
async fn open_bucket(
    context: &Context,
    namespace: &str,
    lease: Option<Duration>,
) -> Result<kv::Store, EngineError> {
    let bucket = names::bucket(namespace);
    let foreign = || EngineError::Foreign { name: format!("KV_{bucket}") };
    let config = kv::Config {
        bucket: bucket.clone(),
        description: BUCKET_DESCRIPTION.to_owned(),
        max_age: lease.unwrap_or(DEFAULT_LEASE),
        history: 1,
        ..kv::Config::default()
    };
    let store = match context.get_key_value(&bucket).await {
        Ok(store) => store,
        Err(missing) => match context.create_key_value(config).await {
            Ok(store) => store,
            // Somebody else may have made it at the same moment.
            Err(refused) => context.get_key_value(&bucket).await.map_err(|_| {
                EngineError::request(
                    "make the bucket of leases",
                    format_args!("{refused} ({missing})"),
                )
            })?,
        },
    };
    let described = store.stream.cached_info().config.description.as_deref();
    if described != Some(BUCKET_DESCRIPTION) {
        return Err(foreign());
    }
    Ok(store)
}
