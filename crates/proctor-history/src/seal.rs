//! The seal of the database: what its bytes were after the last write by this program, kept beside it in `history.seal`.
//!
//! SQLite notices damage of its structure, and only when it comes across it; a number or a title that was changed is answered as
//! it stands. The seal notices every change: it holds a checksum of the file, and the size and times that the file had when the
//! checksum was last found right. While these are the same the file is not read again, so a check costs a few system calls.
//!
//! One line of text: version of the tables, checksum in hexadecimal, state of the file, or `-` where that was too recent to tell
//! a further change by ([`FileState::is_settled`]).

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use proctor_record::FileState;

/// How exact the times of files are, and something to spare.
const CLOCK_TICK: Duration = Duration::from_millis(20);

/// The longest seal that is read.
const MAX_SEAL_BYTES: u64 = 200;

/// What a seal says about the file beside it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Sealed {
    /// The file is as it was written.
    Intact,
    /// There is no seal.
    Missing,
    /// The seal names another version of the tables.
    OtherVersion(i64),
    /// The file, or the seal, was changed.
    Changed,
}

/// Where the seal of a database is.
pub(crate) fn seal_path(database: &Path) -> PathBuf {
    database.with_extension("seal")
}

/// Seals the file as it is now. No other process may write it meanwhile.
pub(crate) fn write_seal(database: &Path, version: i64) -> io::Result<()> {
    let sum = checksum(&mut File::open(database)?)?;
    store(database, version, sum, "-")
}

/// Compares the file with its seal. No other process may write it meanwhile.
pub(crate) fn check_seal(database: &Path, version: i64) -> io::Result<Sealed> {
    let path = seal_path(database);
    let text = match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Sealed::Missing),
        Err(error) => return Err(error),
        Ok(metadata) if !metadata.is_file() || metadata.len() > MAX_SEAL_BYTES => {
            return Ok(Sealed::Changed);
        }
        Ok(_) => String::from_utf8(fs::read(&path)?).unwrap_or_default(),
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    // Another version may have gone on in another way.
    match words.first().and_then(|word| word.parse::<i64>().ok()) {
        Some(found) if found != version => Ok(Sealed::OtherVersion(found)),
        _ => match words[..] {
            [_, sum, state] => compare(database, version, sum, state),
            _ => Ok(Sealed::Changed),
        },
    }
}

fn compare(database: &Path, version: i64, sum: &str, sealed_state: &str) -> io::Result<Sealed> {
    let now = SystemTime::now();
    let Some(state) = FileState::at(database) else { return Ok(Sealed::Changed) };
    if state.to_text() == sealed_state {
        return Ok(Sealed::Intact);
    }
    let mut file = File::open(database)?;
    let found = checksum(&mut file)?;
    if format!("{found:016x}") != sum {
        return Ok(Sealed::Changed);
    }
    if state.is_settled(now, CLOCK_TICK) && FileState::at(database) == Some(state) {
        // From here on the times are believed, so the bytes must survive a loss of power. Where the seal cannot be written,
        // the file is read again next time.
        let _ = file.sync_data().and_then(|()| store(database, version, found, &state.to_text()));
    }
    Ok(Sealed::Intact)
}

fn store(database: &Path, version: i64, sum: u64, state: &str) -> io::Result<()> {
    let folder = database.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".history.seal.").tempfile_in(folder)?;
    writeln!(file, "{version} {sum:016x} {state}")?;
    file.persist(seal_path(database)).map_err(|error| error.error)?;
    Ok(())
}

/// A checksum against accidents, not against forgers. Each step is a bijection of the sum so far, so a change within one word of
/// eight bytes is always noticed.
fn checksum(file: &mut File) -> io::Result<u64> {
    let mut sum = 0x9e37_79b9_7f4a_7c15_u64;
    let mut buffer = vec![0; 1 << 18];
    let mut length = 0_u64;
    loop {
        let filled = fill(file, &mut buffer)?;
        for word in buffer[..filled].chunks(8) {
            let mut bytes = [0; 8];
            bytes[..word.len()].copy_from_slice(word);
            sum = (sum ^ u64::from_le_bytes(bytes)).wrapping_mul(0xd6e8_feb8_6659_fd93);
            sum ^= sum >> 32;
        }
        length += filled as u64;
        if filled < buffer.len() {
            return Ok(sum ^ length);
        }
    }
}

/// Reads until the buffer is full or the file ends.
fn fill(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_and_every_length_changes_the_checksum() {
        let mut bytes: Vec<u8> = (0..1000_u32).map(|number| (number % 251) as u8).collect();
        let sum = |bytes: &[u8]| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(bytes).unwrap();
            io::Seek::rewind(&mut file).unwrap();
            checksum(&mut file).unwrap()
        };
        let right = sum(&bytes);
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(sum(&bytes), right, "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        assert_ne!(sum(&bytes[..999]), right);
        bytes.push(0);
        assert_ne!(sum(&bytes), right);
    }

    #[test]
    fn the_times_are_believed_only_after_the_bytes_were_found_right() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("history.db");
        assert_eq!(check_seal(&database, 3).unwrap(), Sealed::Missing);
        fs::write(&database, b"first").unwrap();
        write_seal(&database, 3).unwrap();
        let recent = fs::read_to_string(seal_path(&database)).unwrap();
        assert!(recent.ends_with(" -\n"), "{recent}");
        fs::write(&database, b"other").unwrap();
        assert_eq!(check_seal(&database, 3).unwrap(), Sealed::Changed, "within the same tick");
        fs::write(&database, b"first").unwrap();
        assert_eq!(check_seal(&database, 3).unwrap(), Sealed::Intact);
        assert_eq!(check_seal(&database, 4).unwrap(), Sealed::OtherVersion(3));
        for damage in ["", "3", "x y z", "3 0 -", "\u{fffd}"] {
            fs::write(seal_path(&database), damage).unwrap();
            assert_eq!(check_seal(&database, 3).unwrap(), Sealed::Changed, "{damage}");
        }
        fs::remove_file(seal_path(&database)).unwrap();
        fs::create_dir(seal_path(&database)).unwrap();
        assert_eq!(check_seal(&database, 3).unwrap(), Sealed::Changed);
    }
}
