//! The descriptions of the examples in which something was found. Most events do not tell them; the start of the example does.
//!
//! The start mostly stands shortly before the hit, so the lines around it are looked at first. The whole recording is read only for examples whose
//! start is not there.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::LazyLock;

use memchr::memchr;
use memchr::memmem::{self, Finder};
use proctor_events::{Body, Event};
use proctor_record::{RecordingBytes, RecordingChunks};

use super::query::line_around;
use super::{FoundHit, parsed};

/// How many bytes before and behind a hit are looked at: first few, then more.
const NEAR: [u64; 2] = [1 << 15, 1 << 19];

/// What the lines of starts and ends have in them.
const MARK: &[u8] = b"\"Example";

/// Puts the descriptions of examples to the hits in them.
pub(super) fn name_examples(path: &Path, hits: &mut [FoundHit]) -> io::Result<()> {
    let mut titles: HashMap<String, String> = HashMap::new();
    let mut wanted: HashSet<String> = HashSet::new();
    let recording = RecordingBytes::open(path)?;
    for FoundHit { hit, offset } in hits.iter() {
        let Some(id) = &hit.example_id else { continue };
        if titles.contains_key(id) || wanted.contains(id) {
            continue;
        }
        let mut found = None;
        for distance in NEAR {
            found = found
                .map_or_else(|| title_near(&recording, *offset, distance, id), |it| Ok(Some(it)))?;
        }
        match found {
            Some(title) => drop(titles.insert(id.clone(), title)),
            None => drop(wanted.insert(id.clone())),
        }
    }
    if !wanted.is_empty() {
        titles.extend(titles_in_all(path, wanted)?);
    }
    for FoundHit { hit, .. } in hits {
        hit.title = hit.example_id.as_ref().and_then(|id| titles.get(id)).cloned();
    }
    Ok(())
}

/// The description from the last start of the example in or before the line that begins here; `None` where that is not near, or does not say all.
fn title_near(
    recording: &RecordingBytes,
    offset: u64,
    distance: u64,
    id: &str,
) -> io::Result<Option<String>> {
    let begin = offset.saturating_sub(distance);
    let text = recording.read(begin..offset + distance)?;
    let hit = usize::try_from(offset - begin).unwrap_or(usize::MAX).min(text.len());
    let end = memchr(b'\n', &text[hit..]).map_or(text.len(), |feed| hit + feed);
    let mut before = end;
    while let Some(place) = memmem::rfind(&text[..before], MARK) {
        let line = line_around(&text, place);
        before = line.start;
        let Some(Body::ExampleStarted(started)) = body_of(&text[line.clone()], id) else {
            continue;
        };
        // The first line may have been cut; it is not parsed then.
        let (title, has_name) = title_of(&started);
        return Ok(if has_name { Some(title) } else { late_title(&text[line.end..], id, &title) });
    }
    Ok(None)
}

/// The name that the example gets at its first end here.
fn late_title(text: &[u8], id: &str, chain: &str) -> Option<String> {
    lines_with_mark(text).find_map(|line| match body_of(line, id)? {
        Body::ExampleFinished(finished) => finished.late_title(chain),
        _ => None,
    })
}

/// The body of an event of this example.
fn body_of(line: &[u8], id: &str) -> Option<Body> {
    if example_id_in_line(line).is_some_and(|found| found != id) {
        return None;
    }
    let event = parsed(line)?;
    event.example_id.as_ref().is_some_and(|found| found.as_str() == id).then_some(event.body)
}

/// The chain of descriptions, and whether it ends in a name of the example's own.
fn title_of(started: &proctor_events::ExampleStarted) -> (String, bool) {
    let title = started.path.join(" > ");
    let has_name = started.description.as_ref().is_none_or(|it| title.ends_with(it));
    (title, has_name)
}

/// The lines in which examples start or end.
fn lines_with_mark(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    static START: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(MARK));
    let mut from = 0;
    std::iter::from_fn(move || {
        let line = line_around(text, from + START.find(text.get(from..)?)?);
        from = line.end;
        Some(&text[line])
    })
}

/// The descriptions of these examples from their first starts, wherever they are.
fn titles_in_all(path: &Path, mut wanted: HashSet<String>) -> io::Result<HashMap<String, String>> {
    let mut titles: HashMap<String, String> = HashMap::new();
    // Chains of examples without a name of their own; they got one while they ran.
    let mut nameless: HashMap<String, String> = HashMap::new();
    let mut chunks = RecordingChunks::open(path)?;
    while !wanted.is_empty() || !nameless.is_empty() {
        let Some((_, chunk)) = chunks.next()? else { break };
        for line in lines_with_mark(chunk) {
            let asked = |id| wanted.contains(id) || nameless.contains_key(id);
            if example_id_in_line(line).is_some_and(|id| !asked(id)) {
                continue;
            }
            let Some(Event { body, example_id: Some(id), .. }) = parsed(line) else { continue };
            match body {
                Body::ExampleStarted(started) => {
                    let Some(id) = wanted.take(id.as_str()) else { continue };
                    let (title, has_name) = title_of(&started);
                    if !has_name {
                        nameless.insert(id.clone(), title.clone());
                    }
                    titles.insert(id, title);
                }
                Body::ExampleFinished(finished) => {
                    let Some(chain) = nameless.get(id.as_str()) else { continue };
                    let Some(title) = finished.late_title(chain) else { continue };
                    nameless.remove(id.as_str());
                    titles.insert(id.to_string(), title);
                }
                _ => {}
            }
        }
    }
    Ok(titles)
}

/// The example id of a line that has the field as Proctor writes it.
fn example_id_in_line(line: &[u8]) -> Option<&str> {
    const NAME: &[u8] = b"\"example_id\":\"";
    static START: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(NAME));
    let start = START.find(line)? + NAME.len();
    let length = memchr(b'"', line.get(start..)?)?;
    let id = std::str::from_utf8(line.get(start..start + length)?).ok()?;
    (!id.contains('\\')).then_some(id)
}
