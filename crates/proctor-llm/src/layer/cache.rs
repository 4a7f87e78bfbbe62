//! Answers kept on disk, by what was asked.
//!
//! One file per request, named by the hash of its canonical form, the model, the backend and the
//! repeat. Files are written beside and moved into place, so that any number of processes may use
//! a folder at once and none ever reads half a file. What cannot be read is a miss; what cannot be
//! written is counted, and the answer is given all the same.

use std::fs::{DirBuilder, File};
use std::io::{Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::canonical::{canonical_request, request_hash};
use crate::error::{ErrorKind, ModelError};
use crate::model::{Asking, Identity, Model};
use crate::request::Request;
use crate::secret::Redactor;

/// Of the files; others are misses.
const VERSION: u32 = 1;

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
            let message = format!("cannot make the cache folder {}: {problem}", folder.display());
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

    fn key(&self, request: &Request, identity: &Identity) -> Value {
        let asked = self.redactor.value(&canonical_request(request, &identity.model));
        json!({"backend": identity.backend, "repeat": request.repeat, "request": asked})
    }

    fn path(&self, key: &Value) -> PathBuf {
        let hash = request_hash(key);
        self.folder.join(&hash[..2]).join(format!("{}.json", &hash[2..]))
    }

    fn read(&self, key: &Value) -> Option<Answer> {
        let mut text = String::new();
        File::open(self.path(key)).ok()?.read_to_string(&mut text).ok()?;
        let entry: Entry = serde_json::from_str(&text).ok()?;
        (entry.v == VERSION && entry.key == *key).then_some(entry.answer)
    }

    fn write(&self, key: &Value, answer: &Answer) -> std::io::Result<()> {
        let path = self.path(key);
        let folder = path.parent().unwrap_or(&self.folder);
        make_folder(folder)?;
        let kept = Answer { raw: String::new(), ..answer.clone() };
        let answer = self.redactor.value(&serde_json::to_value(kept)?);
        let entry = json!({"v": VERSION, "key": key, "answer": answer});
        // Temporary files are made for their owner alone, and keep that when they are moved.
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
        file.write_all(entry.to_string().as_bytes())?;
        file.persist(&path)?;
        Ok(())
    }
}

fn make_folder(folder: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// A model that is not asked the same twice.
#[derive(Debug)]
pub struct Cached<M> {
    inner: M,
    cache: Arc<Cache>,
}

impl<M: Model> Cached<M> {
    /// Puts a cache before a model.
    pub fn new(inner: M, cache: Arc<Cache>) -> Self {
        Self { inner, cache }
    }
}

impl<M: Model> Model for Cached<M> {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        Box::pin(async move {
            let key = Arc::new(self.cache.key(request, self.inner.identity()));
            let (cache, sought) = (Arc::clone(&self.cache), Arc::clone(&key));
            let found = tokio::task::spawn_blocking(move || cache.read(&sought)).await;
            if let Ok(Some(answer)) = found {
                self.cache.hits.fetch_add(1, Ordering::Relaxed);
                return Ok(Answer { cached: true, ..answer });
            }
            self.cache.misses.fetch_add(1, Ordering::Relaxed);
            let answer = self.inner.ask(request).await?;
            let (cache, kept) = (Arc::clone(&self.cache), answer.clone());
            let written = tokio::task::spawn_blocking(move || cache.write(&key, &kept)).await;
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
