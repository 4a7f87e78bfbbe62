//! Entry points of the fuzz targets: properties that must hold for any bytes. `fuzz/` calls them, and the
//! corpus is replayed by the tests below.

use crate::destinations::{Destination, parse};
use crate::reader::{Entry, Reader};
use crate::validate::validate;
use proctor_events::Event;

/// Reading and checking never panic; reading numbers lines upwards, and what was read is written and read again as the same.
pub fn event_reader(data: &[u8]) {
    let validation = validate(Reader::new(data));
    assert_eq!(validation.events == 0, validation.runs.is_empty());
    let mut last = 0;
    for entry in Reader::new(data) {
        let line = match &entry {
            Entry::Event { line, .. } => *line,
            Entry::Problem(problem) => problem.line,
        };
        assert!(line > last, "line {line} after {last}");
        last = line;
        if let Entry::Event { event, .. } = entry {
            let text = event.to_json();
            let again = Event::from_json(&text);
            assert_eq!(again.as_ref(), Ok(&*event), "{text}");
            assert_eq!(again.map(|event| event.to_json()), Ok(text));
        }
    }
}

/// The body of an index is read again as the same, or is none.
pub fn recording_index(data: &[u8]) {
    crate::recording_reader::index_file::check_round_trip(data);
}

/// Parsing never panics, and an accepted address is on this machine and means the same when repeated.
pub fn destinations(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for destination in parse(text).unwrap_or_default() {
        if let Destination::WebSocket(address) = destination {
            let again = parse(&address.to_string());
            assert_eq!(again, Ok(vec![Destination::WebSocket(address)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    fn replay(target: &str, run: fn(&[u8])) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
        let mut count = 0;
        for entry in std::fs::read_dir(&folder).unwrap() {
            run(&std::fs::read(entry.unwrap().path()).unwrap());
            count += 1;
        }
        assert!(count > 0, "{} is empty", folder.display());
    }

    #[test]
    fn event_reader_corpus() {
        replay("event_reader", super::event_reader);
    }

    #[test]
    fn destinations_corpus() {
        replay("destinations", super::destinations);
    }
}
