//! Everything that is sought, compiled once for a set of known values: text in, ranges to mask out.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use proctor_text::MASK;

use crate::fragments::{CUT_MARKS, Fragments};
use crate::prefilter::{Clue, Prefilter};
use crate::shapes::{Class, LONGEST_PROBE, SHAPES, ShapeMatch};
use crate::spellings::Spellings;
use crate::view::{Decoding, View, decode, decodings, unfinished_escape};

/// How the names of members end that hold secrets, see [`crate::names_a_secret`].
const MEMBER_NAMES: &[&str] = &[
    "authorization",
    "cookie",
    "apikey",
    "api_key",
    "api-key",
    "api key",
    "password",
    "secret",
    "accesstoken",
    "access_token",
    "access-token",
    "refreshtoken",
    "refresh_token",
    "refresh-token",
];

/// What a search looks for beside known values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Known values only.
    Known,
    /// Known values and shapes of keys.
    All,
}

/// What a search found.
#[derive(Default)]
pub(crate) struct Findings {
    /// To be masked; sorted, apart from each other.
    pub(crate) ranges: Vec<Range<usize>>,
    /// Whether a member may have a name that says it holds a secret.
    pub(crate) member_names: bool,
    /// Bytes looked at after the first look, for tests of how work grows.
    pub(crate) work: usize,
}

/// A shape that the end of the text leaves open.
pub(crate) struct OpenShape {
    pub(crate) start: usize,
    pub(crate) class: Class,
    pub(crate) complete: bool,
}

/// Where the part of a text begins whose meaning depends on what follows.
pub(crate) struct OpenEnd {
    pub(crate) start: usize,
    pub(crate) shape: Option<OpenShape>,
}

/// A compiled set of known values.
pub(crate) struct Matcher {
    spellings: Spellings,
    prefilter: Prefilter,
    folded: AhoCorasick,
    base64: AhoCorasick,
    /// Made when a text with a cut mark is first searched.
    fragments: OnceLock<Fragments>,
    longest: usize,
    touches_mask: bool,
}

impl Matcher {
    pub(crate) fn new<'a>(values: impl Iterator<Item = &'a str>) -> Self {
        let spellings = Spellings::of(values);
        let known = spellings.folded.iter().chain(&spellings.base64);
        let known = known.map(|needle| (needle.as_slice(), Clue::Known));
        let shapes = SHAPES.iter().zip(0..);
        let shapes = shapes.map(|(shape, index)| (shape.prefix.as_bytes(), Clue::Shape(index)));
        let names = MEMBER_NAMES.iter().map(|name| (name.as_bytes(), Clue::MemberName));
        let marks = CUT_MARKS.iter().map(|mark| (mark.as_bytes(), Clue::CutMark));
        let prefilter = Prefilter::new(known.chain(shapes).chain(names).chain(marks));
        let longest = spellings.folded.iter().chain(&spellings.base64).map(Vec::len).max();
        Self {
            prefilter,
            folded: automaton(&spellings.folded, true),
            base64: automaton(&spellings.base64, false),
            fragments: OnceLock::new(),
            longest: longest.unwrap_or(0),
            touches_mask: spellings.folded.iter().any(|needle| can_touch_mask(needle)),
            spellings,
        }
    }

    /// The longest spelling of a known value, decoded.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    /// Whether a mask beside other text can make a known value, so that what was masked has to be searched again.
    pub(crate) fn touches_mask(&self) -> bool {
        self.touches_mask
    }

    fn decodings(&self, text: &[u8]) -> impl Iterator<Item = Decoding> + use<> {
        decodings(text, self.spellings.with_escapes, self.spellings.with_backslashes)
    }

    /// What is to be masked in a text.
    pub(crate) fn search(&self, text: &[u8], scope: Scope) -> Findings {
        let mut findings = Findings::default();
        self.search_view(text, None, scope, &mut findings);
        for decoding in self.decodings(text) {
            let view = decode(text, decoding);
            findings.work += text.len();
            self.search_view(&view.bytes, Some(&view), scope, &mut findings);
        }
        if !findings.ranges.is_empty() {
            settle(&mut findings.ranges, text);
        }
        findings
    }

    fn search_view(
        &self,
        bytes: &[u8],
        view: Option<&View>,
        scope: Scope,
        findings: &mut Findings,
    ) {
        let (mut names, mut shapes_end, mut shape_work) = (false, 0, 0);
        let mut regions: Vec<Range<usize>> = Vec::new();
        let mut marks: Vec<Range<usize>> = Vec::new();
        let ranges = &mut findings.ranges;
        findings.work += self.prefilter.scan(bytes, |candidate| match candidate.clue {
            Clue::Known => add_region(&mut regions, candidate.start..candidate.end),
            Clue::MemberName => names |= bytes.get(candidate.end) == Some(&b'"'),
            Clue::Shape(index) if scope == Scope::All && candidate.start >= shapes_end => {
                let found = find_shape(usize::from(index), bytes, view, candidate.start);
                shape_work += LONGEST_PROBE;
                if let Some(found) = found {
                    shape_work += found.masked.end - candidate.start;
                    if found.complete {
                        shapes_end = found.masked.end;
                        ranges.push(in_source(view, found.masked));
                    }
                }
            }
            Clue::Shape(_) => {}
            Clue::CutMark => add_mark(&mut marks, bytes, candidate.start..candidate.end),
        });
        findings.work += shape_work;
        findings.member_names |= names;
        join(&mut regions);
        for region in regions {
            findings.work += self.search_known(bytes, region, view, ranges);
        }
        if !marks.is_empty() && self.longest > 0 {
            findings.work += self.search_fragments(bytes, &marks, view, ranges);
        }
    }

    /// Parts of known values beside cut marks.
    fn search_fragments(
        &self,
        bytes: &[u8],
        marks: &[Range<usize>],
        view: Option<&View>,
        ranges: &mut Vec<Range<usize>>,
    ) -> usize {
        let fragments = self.fragments.get_or_init(|| Fragments::new(&self.spellings));
        let (found, work) = fragments.find(bytes, marks);
        ranges.extend(found.into_iter().map(|fragment| {
            let range = fragment.range;
            let whole =
                if fragment.is_base64 { with_partial_characters(bytes, range) } else { range };
            in_source(view, whole)
        }));
        work
    }

    /// Every match lies in the region of its candidate, so that a text is searched only around candidates.
    fn search_known(
        &self,
        bytes: &[u8],
        region: Range<usize>,
        view: Option<&View>,
        ranges: &mut Vec<Range<usize>>,
    ) -> usize {
        let mut matches = 0;
        let mut add = |range: Range<usize>| {
            matches += 1;
            // Matches of one automaton come by their ends: one that overlaps the last one is put to it at once.
            match ranges.last_mut() {
                Some(last) if last.start <= range.start && range.start < last.end => {
                    last.end = last.end.max(range.end);
                }
                _ => ranges.push(range),
            }
        };
        let searched = &bytes[region.clone()];
        let in_text = |start: usize, end: usize| region.start + start..region.start + end;
        for found in self.folded.find_overlapping_iter(searched) {
            add(in_source(view, in_text(found.start(), found.end())));
        }
        for found in self.base64.find_overlapping_iter(searched) {
            let range = in_text(found.start(), found.end());
            add(in_source(view, with_partial_characters(bytes, range)));
        }
        2 * searched.len() + matches
    }

    /// Where the part of a text begins that may turn out to be a secret once more text follows.
    pub(crate) fn open_end(&self, text: &[u8]) -> OpenEnd {
        let escape = unfinished_escape(text);
        let decided = &text[..escape.unwrap_or(text.len())];
        let mut end = OpenEnd { start: decided.len(), shape: None };
        self.open_end_of_view(decided, None, &mut end);
        for decoding in self.decodings(decided) {
            let view = decode(decided, decoding);
            self.open_end_of_view(&view.bytes, Some(&view), &mut end);
        }
        end
    }

    fn open_end_of_view(&self, bytes: &[u8], view: Option<&View>, end: &mut OpenEnd) {
        let tail = bytes.len() - bytes.len().min(self.longest.max(LONGEST_PREFIX));
        let folded_tail = bytes[tail..].to_ascii_lowercase();
        let open = (0..folded_tail.len()).find(|from| {
            let (folded, exact) = (&folded_tail[*from..], &bytes[tail + from..]);
            begins_one(&self.spellings.folded, folded, false)
                || begins_one(&self.spellings.base64, exact, true)
                || begins_shape(folded) && starts_word(bytes, view, tail + from)
        });
        if let Some(open) = open {
            end.start = end.start.min(source_of(view, tail + open));
        }
        self.prefilter.scan(bytes, |candidate| {
            let Clue::Shape(index) = candidate.clue else { return };
            let found = find_shape(usize::from(index), bytes, view, candidate.start);
            if let Some(ShapeMatch { masked, class, complete, open: true }) = found {
                let start = source_of(view, candidate.start);
                end.start = end.start.min(start);
                if end.shape.as_ref().is_none_or(|shape| start < shape.start) {
                    let start = if complete { source_of(view, masked.start) } else { start };
                    end.shape = Some(OpenShape { start, class, complete });
                }
            }
        });
    }
}

/// The longest beginning of a shape.
const LONGEST_PREFIX: usize = 32;

static SHAPE_PREFIXES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let mut prefixes: Vec<Vec<u8>> =
        SHAPES.iter().map(|shape| shape.prefix.to_ascii_lowercase().into_bytes()).collect();
    prefixes.sort_unstable();
    prefixes
});

fn begins_shape(tail: &[u8]) -> bool {
    begins_one(&SHAPE_PREFIXES, tail, false)
}

/// Whether one of the sorted texts begins so. One that is complete counts if `complete` says so.
fn begins_one(sorted: &[Vec<u8>], tail: &[u8], complete: bool) -> bool {
    let first = sorted.partition_point(|text| text.as_slice() < tail);
    let mut from_there = sorted[first..].iter().take(2);
    from_there.any(|text| text.starts_with(tail) && (complete || text.len() > tail.len()))
}

fn automaton(needles: &[Vec<u8>], any_case: bool) -> AhoCorasick {
    #[expect(clippy::unwrap_used, reason = "fails beyond 2^31 states, gigabytes of secrets")]
    AhoCorasick::builder()
        .ascii_case_insensitive(any_case)
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .build(needles)
        .unwrap()
}

fn find_shape(index: usize, bytes: &[u8], view: Option<&View>, start: usize) -> Option<ShapeMatch> {
    SHAPES[index].find(bytes, start, starts_word(bytes, view, start))
}

/// Whether the byte before cannot belong to a key that begins here.
fn starts_word(bytes: &[u8], view: Option<&View>, start: usize) -> bool {
    let Some(before) = start.checked_sub(1) else { return true };
    if !Class::Word.contains(bytes[before]) {
        return true;
    }
    match view {
        Some(view) => view.is_escaped(before),
        // `\n` before a key in JSON text.
        None => before > 0 && bytes[before - 1] == b'\\' && b"ntrbf".contains(&bytes[before]),
    }
}

/// The first and last character of base64 may hold bits of the value beside foreign ones, and padding says how long it is.
fn with_partial_characters(bytes: &[u8], range: Range<usize>) -> Range<usize> {
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
    let start = range.start - usize::from(range.start > 0 && is_base64(&bytes[range.start - 1]));
    let end = range.end + usize::from(bytes.get(range.end).is_some_and(is_base64));
    let padding = bytes[end..].iter().take(2).take_while(|byte| **byte == b'=').count();
    start..end + padding
}

/// Adds a cut mark. Of several dots in a row the marks are one.
fn add_mark(marks: &mut Vec<Range<usize>>, bytes: &[u8], mark: Range<usize>) {
    // The first look takes other bytes for the same, see `prefilter`.
    if !CUT_MARKS.iter().any(|known| known.as_bytes() == &bytes[mark.clone()]) {
        return;
    }
    match marks.last_mut() {
        Some(last) if mark.start <= last.end => last.end = last.end.max(mark.end),
        _ => marks.push(mark),
    }
}

fn source_of(view: Option<&View>, place: usize) -> usize {
    view.map_or(place, |view| view.source_of(place))
}

fn in_source(view: Option<&View>, range: Range<usize>) -> Range<usize> {
    match view {
        Some(view) => view.source_of(range.start)..view.source_end(range.end),
        None => range,
    }
}

/// Sorts ranges, joins those that overlap, and leaves masks alone that stand in the text already.
fn settle(ranges: &mut Vec<Range<usize>>, text: &[u8]) {
    join(ranges);
    let mut masks = memchr::memmem::find_iter(text, MASK.as_bytes()).peekable();
    if masks.peek().is_none() {
        return;
    }
    let mut current = masks.next().map(|at| at..at + MASK.len());
    ranges.retain_mut(|range| {
        let mut kept = true;
        while let Some(mask) = &current
            && mask.start < range.end
        {
            if mask.end > range.start {
                kept &= range.start < mask.start || range.end > mask.end;
                *range = range.start.min(mask.start)..range.end.max(mask.end);
            }
            if mask.end >= range.end {
                // The next range may overlap it too.
                break;
            }
            current = masks.next().map(|at| at..at + MASK.len());
        }
        kept
    });
    join(ranges);
}

/// Adds a region, to the last one if they overlap.
fn add_region(regions: &mut Vec<Range<usize>>, region: Range<usize>) {
    match regions.last_mut() {
        Some(last) if region.start <= last.end && last.start <= region.end => {
            *last = last.start.min(region.start)..last.end.max(region.end);
        }
        _ => regions.push(region),
    }
}

fn join(ranges: &mut Vec<Range<usize>>) {
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    ranges.dedup_by(|next, kept| {
        let overlap = next.start < kept.end || next == kept;
        if overlap {
            kept.end = kept.end.max(next.end);
        }
        overlap
    });
}

/// Whether a needle could arise where a mask is put beside other text.
fn can_touch_mask(needle: &[u8]) -> bool {
    let mask = MASK.as_bytes();
    (1..=mask.len()).any(|length| {
        needle.starts_with(&mask[mask.len() - length..]) || needle.ends_with(&mask[..length])
    })
}
