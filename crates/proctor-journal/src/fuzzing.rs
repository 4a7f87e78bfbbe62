//! Entry points of fuzz targets. Not part of the public interface.

use crate::decode;

/// Reads the entries of a file; every line that is not blank is an entry or is counted as none.
pub fn entries(data: &[u8]) {
    let (good, bad) = decode::entries(data);
    assert_eq!(good.len() + bad.len(), decode::lines(data).count());
    for line in decode::lines(data) {
        let _ = decode::identity(line.bytes);
    }
}
