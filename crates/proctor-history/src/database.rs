//! The database file: opening, noticing damage, setting a damaged file aside, doing without it.
//!
//! Every access happens under a lock beside the file (`history.lock`: shared to read, exclusive to write) and begins by comparing
//! the file with its seal ([`seal`](crate::seal)). So SQLite never reads a byte that this program did not write. The lock is held
//! for one query or one transaction; it is waited for [`LOCK_TIMEOUT`]. There is no journal: a write that was cut off leaves a file that
//! does not match its seal.
//!
//! | found in place of the database | done |
//! |---|---|
//! | nothing | made |
//! | file and seal agree | used |
//! | file of an earlier version | removed and made anew |
//! | file and seal of a later version | left alone; memory, with a note |
//! | no database, another program's, changed, truncated, garbage; seal damaged; `-wal`, `-shm`, `-journal` beside it | set aside as `history.db.damaged-N` and made anew, with a note |
//! | intact by its times, but SQLite finds it damaged during any query | the same, once; memory after the second time |
//! | replaced by another process | opened again |
//! | folder, FIFO, link, device | left alone; memory, with a note |
//! | cannot be read, written, locked or set aside: rights, full disk, too many files, held by another program | memory, with a note |
//!
//! After each of these the index is brought up to date from the recordings ([`sync`](crate::sync)) before the question is asked again.
//! Memory means a database that is made from the recordings for this process alone.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use crate::error::{HistoryError, Remedy};
use crate::seal::{Sealed, check_seal, seal_path, write_seal};

/// The version of the tables. An earlier version of the file is made anew; a later one is left alone.
const VERSION: i64 = 4;

/// How long to wait for other processes. They hold the lock for one query or one transaction.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// How often a lock that is held is tried.
const LOCK_INTERVAL: Duration = Duration::from_millis(5);

/// The number of damaged files that are kept; the last one is replaced.
const MAX_SET_ASIDE: u32 = 5;

/// How an SQLite file begins, and where its `user_version` is.
const MAGIC: &[u8] = b"SQLite format 3\0";
const VERSION_OFFSET: usize = 60;

/// The indexes hold what is asked for often, so that the tables, which are much larger, need not be read for it: the results of one
/// example, and which runs are known in which state.
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
CREATE INDEX samples_by_example ON samples (example_id, run, passed, attempts, status, duration_ms, cost_usd);
CREATE INDEX runs_by_name ON runs (name, stamp, problem, started_at, git_commit, dirty);
";

/// An open database.
#[derive(Debug)]
pub(crate) struct Database {
    path: PathBuf,
    connection: Connection,
    /// Device and inode of the file that is open; `None` for a database in memory.
    identity: Option<(u64, u64)>,
    notes: Vec<String>,
}

/// What is in place of the database file.
#[derive(Debug)]
enum Found {
    Nothing,
    Intact,
    Earlier,
    Later(i64),
    Damaged(String),
    NotAFile(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

impl Database {
    /// Opens the file, making it where there is none. Where that cannot be done the index is kept in memory.
    pub(crate) fn open(path: &Path) -> Result<Self, HistoryError> {
        Self::open_with(path, Self::open_or_replace)
    }

    /// Replaces the file by an empty database.
    pub(crate) fn recreate(path: &Path) -> Result<Self, HistoryError> {
        Self::open_with(path, |database| {
            if let Found::Earlier | Found::Intact | Found::Damaged(_) = database.look()? {
                database.remove_files()?;
            }
            database.open_or_replace()
        })
    }

    fn open_with(
        path: &Path,
        settle: impl FnOnce(&mut Self) -> Result<(), HistoryError>,
    ) -> Result<Self, HistoryError> {
        let mut database = Self {
            path: path.to_owned(),
            connection: open_in_memory(path)?,
            identity: None,
            notes: Vec::new(),
        };
        // Without recordings there is nothing to keep.
        if !path.parent().is_some_and(Path::is_dir) {
            return Ok(database);
        }
        let settled = database.lock(Access::Write).and_then(|_held| settle(&mut database));
        if let Err(error) = settled {
            database.use_memory(&error.reason())?;
        }
        Ok(database)
    }

    /// Does what can be done about this error; afterwards the database may be empty. False where nothing can be done.
    pub(crate) fn recover(
        &mut self,
        error: &HistoryError,
        may_rebuild: bool,
    ) -> Result<bool, HistoryError> {
        let Some(remedy) = error.remedy().filter(|_| self.identity.is_some()) else {
            return Ok(false);
        };
        if remedy == Remedy::Memory || !may_rebuild {
            self.use_memory(&error.reason())?;
            return Ok(true);
        }
        let reopened = self.lock(Access::Write).and_then(|_held| {
            if remedy == Remedy::Rebuild && identity_at(&self.path) == self.identity {
                self.set_aside(&error.reason())?;
            }
            self.open_or_replace()
        });
        if let Err(error) = reopened {
            self.use_memory(&error.reason())?;
        }
        Ok(true)
    }

    /// Reads from a file that is known to be intact, and that nobody writes meanwhile.
    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, HistoryError> {
        let _held = self.lock_intact(Access::Read)?;
        work(&self.connection).map_err(|source| self.sqlite_error(source))
    }

    /// Writes in one transaction.
    pub(crate) fn write<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, HistoryError> {
        let _held = self.lock_intact(Access::Write)?;
        let write = || {
            let transaction =
                self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let result = work(&transaction)?;
            transaction.commit()?;
            Ok(result)
        };
        let result = write().map_err(|source| self.sqlite_error(source))?;
        if self.identity.is_some() {
            self.seal()?;
        }
        Ok(result)
    }

    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The lock for one access; `None` for a database in memory. An error where the file is not the one that was opened and sealed.
    fn lock_intact(&self, access: Access) -> Result<Option<File>, HistoryError> {
        if self.identity.is_none() {
            return Ok(None);
        }
        let held = self.lock(access)?;
        if identity_at(&self.path) != self.identity {
            return Err(HistoryError::Replaced { path: self.path.clone() });
        }
        match self.look()? {
            Found::Intact => Ok(Some(held)),
            Found::Damaged(why) => Err(HistoryError::Changed { path: self.path.clone(), why }),
            _ => Err(HistoryError::Replaced { path: self.path.clone() }),
        }
    }

    /// Opens what is there; what is damaged is set aside first. The lock must be held.
    fn open_or_replace(&mut self) -> Result<(), HistoryError> {
        match self.look()? {
            Found::Nothing => {}
            Found::Intact => match open_file(&self.path) {
                Ok(connection) => return self.use_file(connection),
                Err(source) => {
                    let error = self.sqlite_error(source);
                    if error.remedy() != Some(Remedy::Rebuild) {
                        return Err(error);
                    }
                    self.set_aside(&error.reason())?;
                }
            },
            Found::Earlier => self.remove_files()?,
            Found::Damaged(why) => self.set_aside(&why)?,
            Found::Later(version) => return self.use_memory(&later_version_text(version)),
            Found::NotAFile(kind) => {
                return self.use_memory(&format!("it is {kind}, not a file"));
            }
        }
        self.create()
    }

    fn create(&mut self) -> Result<(), HistoryError> {
        let made = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&self.path);
        made.map_err(|source| self.io("make", source))?;
        let make = || {
            let mut connection = open_file(&self.path)?;
            create_tables(&mut connection)?;
            Ok(connection)
        };
        let connection = make().map_err(|source| self.sqlite_error(source))?;
        self.seal()?;
        self.use_file(connection)
    }

    fn seal(&self) -> Result<(), HistoryError> {
        write_seal(&self.path, VERSION).map_err(|source| HistoryError::Io {
            action: "write",
            path: seal_path(&self.path),
            source,
        })
    }

    /// Looks at the file, its seal and what is beside it. The lock must be held.
    fn look(&self) -> Result<Found, HistoryError> {
        match fs::symlink_metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
            Err(source) => return Err(self.io("read", source)),
            Ok(metadata) if !metadata.is_file() => {
                return Ok(Found::NotAFile(file_kind(metadata.file_type())));
            }
            Ok(_) => {}
        }
        let sealed = check_seal(&self.path, VERSION).map_err(|source| self.io("read", source))?;
        if sealed != Sealed::Intact {
            let version = header_version(&self.path).map_err(|source| self.io("read", source))?;
            return Ok(match (version, sealed) {
                (Some(later), Sealed::Missing) if later > VERSION => Found::Later(later),
                (Some(later), Sealed::OtherVersion(sealed))
                    if later > VERSION && sealed == later =>
                {
                    Found::Later(later)
                }
                (Some(1..=VERSION), Sealed::Missing) => Found::Earlier,
                (Some(found), Sealed::OtherVersion(_)) if (1..VERSION).contains(&found) => {
                    Found::Earlier
                }
                (_, Sealed::Missing) => Found::Damaged("it holds something else".to_owned()),
                _ => Found::Damaged("it is not as it was written".to_owned()),
            });
        }
        let beside = companions(&self.path).into_iter().find(|path| is_there(path));
        Ok(match beside.as_ref().and_then(|path| path.file_name()) {
            Some(name) => Found::Damaged(format!("another program left {}", name.display())),
            None => Found::Intact,
        })
    }

    fn use_file(&mut self, connection: Connection) -> Result<(), HistoryError> {
        self.connection = connection;
        self.identity = identity_at(&self.path);
        if self.identity.is_none() {
            return Err(HistoryError::Replaced { path: self.path.clone() });
        }
        Ok(())
    }

    fn use_memory(&mut self, why: &str) -> Result<(), HistoryError> {
        self.connection = open_in_memory(&self.path)?;
        self.identity = None;
        let path = self.path.display();
        self.notes.push(format!(
            "{path} is not used: {why}; the answer was made from the recordings in memory"
        ));
        Ok(())
    }

    fn set_aside(&mut self, why: &str) -> Result<(), HistoryError> {
        let aside = name_for_damaged(&self.path);
        fs::rename(&self.path, &aside).map_err(|source| self.io("set aside", source))?;
        self.remove_files()?;
        self.notes.push(format!(
            "{} was damaged ({why}); it is kept as {} and was made anew from the recordings",
            self.path.display(),
            aside.file_name().unwrap_or_default().display()
        ));
        Ok(())
    }

    /// Removes the file, its seal and what SQLite keeps beside it.
    fn remove_files(&self) -> Result<(), HistoryError> {
        remove(&self.path)?;
        remove(&seal_path(&self.path))?;
        companions(&self.path).iter().try_for_each(|path| remove(path))
    }

    /// The lock beside the file; held until the handle is dropped.
    fn lock(&self, access: Access) -> Result<File, HistoryError> {
        let path = self.path.with_extension("lock");
        lock_file(&path, access).map_err(|source| HistoryError::Io { action: "lock", path, source })
    }

    fn sqlite_error(&self, source: rusqlite::Error) -> HistoryError {
        HistoryError::Database { path: self.path.clone(), source }
    }

    fn io(&self, action: &'static str, source: io::Error) -> HistoryError {
        HistoryError::Io { action, path: self.path.clone(), source }
    }
}

fn later_version_text(found: i64) -> String {
    format!("its version is {found}, newer than {VERSION}; upgrade proctor")
}

fn open_file(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(LOCK_TIMEOUT)?;
    // The seal notices writes that were cut off, and is made durable with the file.
    connection.query_row("PRAGMA journal_mode = MEMORY", [], |_| Ok(()))?;
    connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA foreign_keys = ON;")?;
    Ok(connection)
}

fn create_tables(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(TABLES)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}

fn open_in_memory(path: &Path) -> Result<Connection, HistoryError> {
    let open = || {
        let mut connection = Connection::open_in_memory()?;
        connection.execute_batch("PRAGMA foreign_keys = ON")?;
        create_tables(&mut connection)?;
        Ok(connection)
    };
    open().map_err(|source| HistoryError::Database { path: path.to_owned(), source })
}

/// The `user_version` in the header of an SQLite file; `None` where the file is none.
fn header_version(path: &Path) -> io::Result<Option<i64>> {
    let mut header = Vec::new();
    File::open(path)?.take(100).read_to_end(&mut header)?;
    let field = header.get(VERSION_OFFSET..VERSION_OFFSET + 4);
    let field = field.filter(|_| header.starts_with(MAGIC)).and_then(|it| it.try_into().ok());
    Ok(field.map(|bytes: [u8; 4]| i64::from(i32::from_be_bytes(bytes))))
}

fn lock_file(path: &Path, access: Access) -> io::Result<File> {
    // Opening a FIFO would wait for its other end.
    if let Ok(metadata) = fs::symlink_metadata(path)
        && !metadata.is_file()
    {
        let kind = file_kind(metadata.file_type());
        return Err(io::Error::other(format!("it is {kind}, not a file")));
    }
    let options =
        OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).to_owned();
    // A lock needs no right to write.
    let file = options.open(path).or_else(|error| File::open(path).map_err(|_| error))?;
    let deadline = Instant::now() + LOCK_TIMEOUT;
    loop {
        let tried = match access {
            Access::Read => file.try_lock_shared(),
            Access::Write => file.try_lock(),
        };
        match tried {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                let seconds = LOCK_TIMEOUT.as_secs();
                let text = format!("another process has held it for {seconds} s");
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_INTERVAL),
        }
    }
}

/// Device and inode.
fn identity_at(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

fn file_kind(kind: fs::FileType) -> &'static str {
    if kind.is_dir() {
        "a folder"
    } else if kind.is_symlink() {
        "a symbolic link"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

/// What SQLite keeps beside a file, in any of its modes.
fn companions(path: &Path) -> [PathBuf; 3] {
    ["-wal", "-shm", "-journal"].map(|suffix| with_suffix(path, suffix))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn remove(path: &Path) -> Result<(), HistoryError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir(path),
        _ => fs::remove_file(path),
    };
    match removed {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(HistoryError::Io { action: "remove", path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}

/// `history.db.damaged-1`, `-2`, … up to [`MAX_SET_ASIDE`].
fn name_for_damaged(path: &Path) -> PathBuf {
    let name = |number: u32| with_suffix(path, &format!(".damaged-{number}"));
    (1..MAX_SET_ASIDE).map(name).find(|it| !is_there(it)).unwrap_or_else(|| name(MAX_SET_ASIDE))
}
