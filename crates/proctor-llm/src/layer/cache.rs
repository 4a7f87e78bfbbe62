//! Answers kept on disk, by what was asked.
//!
//! One file per question, named by the hash of everything that can change an answer: the request in its
//! canonical form, who is asked and how ([`Identity`]), the repeat and the vote. The mark of a request
//! changes each time and is left out; a kept answer that carries one gets the mark of the new request.
//! Answers that the caller cannot use are not kept: the next request goes to the model.
//!
//! Files are written beside and moved into place, so that any number of processes may use a folder at
//! once and none ever reads half a file. What cannot be read is a miss; what cannot be written is
//! counted, and the answer is given all the same.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proctor_files::limits;
use proctor_redact::Redactor;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::canonical::{canonical_request, request_hash, without_mark};
use crate::error::{ErrorKind, ModelError};
use crate::model::{Identity, Model, ModelFuture};
use crate::request::Request;

/// Of the files; others are misses.
const VERSION: u32 = 2;

/// How a cache did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Answers found.
    pub hits: u64,
    /// Answers that had to be asked for.
    pub misses: u64,
    /// Answers that could not be kept.
    pub failures: u64,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    v: u32,
    key: Value,
    /// The mark that the answer carries.
    #[serde(default)]
    mark: Option<String>,
    answer: Answer,
}

/// A folder of answers.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    redactor: Redactor,
    hits: AtomicU64,
    misses: AtomicU64,
    failures: AtomicU64,
}

impl Cache {
    /// Opens a folder, made if need be for its owner alone.
    pub fn open(folder: impl Into<PathBuf>, redactor: Redactor) -> Result<Self, ModelError> {
        let folder = folder.into();
        make_folder(&folder).map_err(|problem| {
            let message = format!("cannot create the cache folder {}: {problem}", folder.display());
            ModelError::new(ErrorKind::Storage, message)
        })?;
        let zero = || AtomicU64::new(0);
        Ok(Self { folder, redactor, hits: zero(), misses: zero(), failures: zero() })
    }

    /// How it did so far.
    pub fn stats(&self) -> CacheStats {
        CacheStats {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            failures: self.failures.load(Ordering::Relaxed),
        }
    }

    pub(super) fn key(&self, request: &Request, identity: &Identity) -> Value {
        let asked = canonical_request(request, &identity.model);
        let asked = without_mark(asked, request.mark.as_deref().unwrap_or_default());
        json!({
            "backend": identity.backend,
            "fingerprint": identity.fingerprint,
            "purpose": request.purpose,
            "label": request.label,
            "repeat": request.repeat,
            "vote": request.vote,
            "request": self.redactor.redact_value(&asked),
        })
    }

    fn path(&self, key: &Value) -> PathBuf {
        let hash = request_hash(key);
        self.folder.join(&hash[..2]).join(format!("{}.json", &hash[2..]))
    }

    /// The answer under a key, with this mark in place of the one that it was kept with.
    fn read(&self, key: &Value, mark: Option<&str>) -> Option<Answer> {
        let text = proctor_files::read_text(&self.path(key), limits::CACHED_ANSWER).ok()?;
        let entry: Entry = serde_json::from_str(&text).ok()?;
        if entry.v != VERSION || entry.key != *key {
            return None;
        }
        let mut answer = entry.answer;
        match (entry.mark.as_deref(), mark) {
            (None, None) => {}
            (Some(kept), Some(mark)) if !kept.is_empty() => {
                answer.text = answer.text.replace(kept, mark);
            }
            _ => return None,
        }
        Some(answer)
    }

    fn write(&self, key: &Value, mark: Option<&str>, answer: &Answer) -> std::io::Result<()> {
        let path = self.path(key);
        let folder = path.parent().unwrap_or(&self.folder);
        make_folder(folder)?;
        let kept = Answer { raw: String::new(), ..answer.clone() };
        let answer = self.redactor.redact_value(&serde_json::to_value(kept)?);
        let entry = json!({"v": VERSION, "key": key, "mark": mark, "answer": answer});
        // Temporary files are made for their owner alone, and keep that when they are moved.
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
        file.write_all(entry.to_string().as_bytes())?;
        file.persist(&path)?;
        Ok(())
    }
}

fn make_folder(folder: &Path) -> std::io::Result<()> {
    proctor_files::create_private_folder(folder)
}

/// A model that is not asked the same twice.
#[derive(Debug)]
pub struct CachedModel<M> {
    inner: M,
    cache: Arc<Cache>,
}

impl<M: Model> CachedModel<M> {
    /// Puts a cache before a model.
    pub fn new(inner: M, cache: Arc<Cache>) -> Self {
        Self { inner, cache }
    }
}

impl<M: Model> Model for CachedModel<M> {
    fn ask<'a>(&'a self, request: &'a Request) -> ModelFuture<'a> {
        Box::pin(async move {
            let key = Arc::new(self.cache.key(request, self.inner.identity()));
            let (cache, sought) = (Arc::clone(&self.cache), Arc::clone(&key));
            let mark = request.mark.clone();
            let read = move || cache.read(&sought, mark.as_deref());
            let found = tokio::task::spawn_blocking(read).await.ok().flatten();
            if let Some(answer) = found.filter(|answer| request.accepts(answer)) {
                self.cache.hits.fetch_add(1, Ordering::Relaxed);
                return Ok(Answer { cached: true, ..answer });
            }
            self.cache.misses.fetch_add(1, Ordering::Relaxed);
            let answer = self.inner.ask(request).await?;
            if !request.accepts(&answer) {
                return Ok(answer);
            }
            let (cache, kept) = (Arc::clone(&self.cache), answer.clone());
            let mark = request.mark.clone();
            let write = move || cache.write(&key, mark.as_deref(), &kept);
            let written = tokio::task::spawn_blocking(write).await;
            if !matches!(written, Ok(Ok(()))) {
                self.cache.failures.fetch_add(1, Ordering::Relaxed);
            }
            Ok(answer)
        })
    }

    fn identity(&self) -> &Identity {
        self.inner.identity()
    }
}
