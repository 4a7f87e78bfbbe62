//! The database file: opening, detecting damage, setting a damaged file aside.
//!
//! Opening and replacing happen under a lock beside the file, so that of several processes that find it damaged one replaces
//! it and the others use the new one. Reading and writing need no lock of ours: SQLite's own (write-ahead log, busy
//! timeout) is enough, since every run is taken in by one transaction.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proctor_files::NotReadable;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::error::{HistoryError, is_damage};

/// The version of the tables. Another version of the same file is made anew; a newer one is left alone.
const VERSION: i64 = 2;

/// How long to wait for others that write.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

const TABLES: &str = "
CREATE TABLE runs (
    name TEXT PRIMARY KEY,
    stamp TEXT NOT NULL,
    problem TEXT,
    run_id TEXT,
    started_at TEXT,
    finished_at TEXT,
    duration_ms REAL,
    exit_code INTEGER,
    git_commit TEXT,
    dirty INTEGER,
    fingerprint TEXT,
    argv TEXT NOT NULL,
    tags TEXT NOT NULL,
    counts TEXT NOT NULL,
    cost_usd REAL,
    state TEXT,
    verdict TEXT
);
CREATE TABLE samples (
    run TEXT NOT NULL REFERENCES runs(name) ON DELETE CASCADE,
    example_id TEXT NOT NULL,
    title TEXT NOT NULL,
    file TEXT,
    status TEXT NOT NULL,
    passed INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    mixed INTEGER NOT NULL,
    duration_ms REAL,
    cost_usd REAL,
    tags TEXT NOT NULL,
    PRIMARY KEY (run, example_id)
) WITHOUT ROWID;
CREATE INDEX samples_by_example ON samples (example_id, run);
";

/// An open database.
#[derive(Debug)]
pub(crate) struct Database {
    path: PathBuf,
    connection: Connection,
    notes: Vec<String>,
}

enum Opened {
    Good(Connection),
    Damaged(String),
    Newer(i64),
}

impl Database {
    /// Opens the file, making it where there is none. Where that cannot be done the index is kept in memory.
    pub(crate) fn open(path: &Path) -> Result<Self, HistoryError> {
        Self::with_lock(path, Self::open_or_replace)
    }

    /// Replaces the file by an empty database.
    pub(crate) fn recreate(path: &Path) -> Result<Self, HistoryError> {
        Self::with_lock(path, |database| {
            if let Opened::Newer(found) = database.probe()? {
                return database.use_memory(&newer_version_text(found));
            }
            for part in database_files(&database.path) {
                remove(&part)?;
            }
            database.open_or_replace()
        })
    }

    fn with_lock(
        path: &Path,
        settle: impl FnOnce(&mut Self) -> Result<(), HistoryError>,
    ) -> Result<Self, HistoryError> {
        let mut database =
            Self { path: path.to_owned(), connection: open_in_memory(path)?, notes: Vec::new() };
        // Without recordings there is nothing to keep.
        if !path.parent().is_some_and(Path::is_dir) {
            return Ok(database);
        }
        match lock(path) {
            Ok(_held) => settle(&mut database)?,
            Err(error) => database.use_memory(&error.to_string())?,
        }
        Ok(database)
    }

    /// Replaces a damaged file, unless another process has done so.
    pub(crate) fn replace_damaged(&mut self, why: &str) -> Result<(), HistoryError> {
        self.connection = open_in_memory(&self.path)?;
        let _held = lock(&self.path).map_err(|source| self.io("lock", source))?;
        let sound = match self.probe()? {
            Opened::Good(connection) => quick_check(&connection),
            _ => false,
        };
        if !sound {
            self.set_aside(why)?;
        }
        self.open_or_replace()
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// A transaction that has the right to write from its start.
    pub(crate) fn write_transaction(&mut self) -> Result<Transaction<'_>, HistoryError> {
        let path = self.path.clone();
        self.connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|source| HistoryError::Database { path, source })
    }

    pub(crate) fn sqlite_error(&self) -> impl Fn(rusqlite::Error) -> HistoryError + use<> {
        let path = self.path.clone();
        move |source| HistoryError::Database { path: path.clone(), source }
    }

    /// Opens the database; a damaged one is set aside first.
    fn open_or_replace(&mut self) -> Result<(), HistoryError> {
        match self.probe()? {
            Opened::Good(connection) => self.connection = connection,
            Opened::Newer(found) => self.use_memory(&newer_version_text(found))?,
            Opened::Damaged(why) => {
                self.set_aside(&why)?;
                match self.probe()? {
                    Opened::Good(connection) => self.connection = connection,
                    Opened::Damaged(why) => self.use_memory(&why)?,
                    Opened::Newer(found) => self.use_memory(&newer_version_text(found))?,
                }
            }
        }
        Ok(())
    }

    fn probe(&self) -> Result<Opened, HistoryError> {
        match self.try_open() {
            Ok(opened) => Ok(opened),
            Err(source) if is_damage(&source) => Ok(Opened::Damaged(source.to_string())),
            Err(source) => Err(HistoryError::Database { path: self.path.clone(), source }),
        }
    }

    fn try_open(&self) -> rusqlite::Result<Opened> {
        if let Err(problem) = self.prepare_file() {
            return Ok(Opened::Damaged(problem.to_string()));
        }
        let mut connection = Connection::open(&self.path)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        // Answers with the mode it has; a file system without shared memory keeps the older journal.
        connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
        connection.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;")?;
        let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        let tables: i64 =
            connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
        match (version, tables) {
            (VERSION, _) => {
                // Fails where a table of ours is missing.
                connection.prepare("SELECT name, stamp, cost_usd FROM runs LIMIT 1")?;
                connection.prepare("SELECT run, mixed, tags FROM samples LIMIT 1")?;
            }
            (0, 0) => create(&mut connection)?,
            (found, _) if found > VERSION => return Ok(Opened::Newer(found)),
            _ => return Ok(Opened::Damaged("it holds something else".to_owned())),
        }
        Ok(Opened::Good(connection))
    }

    /// Makes the file for its owner only, before SQLite makes it by the umask; the files beside it get its mode. What is no file is in the way.
    fn prepare_file(&self) -> Result<(), NotReadable> {
        let opened = proctor_files::append_private(&self.path);
        let file = match opened.map_err(|error| error.downcast::<NotReadable>()) {
            Ok(file) => file,
            Err(Ok(problem)) => return Err(problem),
            // SQLite meets the same error and reports it.
            Err(Err(_)) => return Ok(()),
        };
        // Earlier versions left it to the umask. A file of another user keeps its mode.
        let _ = file.set_permissions(Permissions::from_mode(0o600));
        Ok(())
    }

    fn use_memory(&mut self, why: &str) -> Result<(), HistoryError> {
        self.connection = open_in_memory(&self.path)?;
        self.notes.push(format!("{} is not used: {why}", self.path.display()));
        Ok(())
    }

    fn set_aside(&mut self, why: &str) -> Result<(), HistoryError> {
        let aside = free_name(&self.path);
        fs::rename(&self.path, &aside).map_err(|source| self.io("set aside", source))?;
        for part in database_files(&self.path).into_iter().skip(1) {
            remove(&part)?;
        }
        self.notes.push(format!(
            "{} was damaged ({why}); it is kept as {} and was made anew from the recordings",
            self.path.display(),
            aside.file_name().unwrap_or_default().display()
        ));
        Ok(())
    }

    fn io(&self, action: &'static str, source: std::io::Error) -> HistoryError {
        HistoryError::Io { action, path: self.path.clone(), source }
    }
}

fn newer_version_text(found: i64) -> String {
    format!("its version is {found}, newer than {VERSION}; upgrade proctor")
}

fn create(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(TABLES)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}

fn open_in_memory(path: &Path) -> Result<Connection, HistoryError> {
    let open = || {
        let mut connection = Connection::open_in_memory()?;
        connection.execute_batch("PRAGMA foreign_keys = ON")?;
        create(&mut connection)?;
        Ok(connection)
    };
    open().map_err(|source| HistoryError::Database { path: path.to_owned(), source })
}

fn quick_check(connection: &Connection) -> bool {
    connection
        .query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0))
        .is_ok_and(|answer| answer == "ok")
}

/// The lock beside the file; held until the handle is dropped.
fn lock(path: &Path) -> std::io::Result<File> {
    let beside = path.with_extension("lock");
    let file = proctor_files::open_lock_file(&beside)?;
    file.lock()?;
    Ok(file)
}

/// The file and what SQLite keeps beside it.
fn database_files(path: &Path) -> [PathBuf; 3] {
    ["", "-wal", "-shm"].map(|suffix| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    })
}

fn remove(path: &Path) -> Result<(), HistoryError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(HistoryError::Io { action: "remove", path: path.to_owned(), source: error })
        }
        _ => Ok(()),
    }
}

/// `history.db.damaged-1`, `-2`, …
fn free_name(path: &Path) -> PathBuf {
    let name = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".damaged-{number}"));
        PathBuf::from(name)
    };
    (1..u32::MAX).map(name).find(|candidate| !candidate.exists()).unwrap_or_else(|| name(0))
}
