//! The cheap look at a text: which known spellings and shapes of keys could stand in it.
//!
//! Of each literal the rarest three bytes are put into a bitmap of 8 KiB, which fits into the first cache of a processor. The
//! text is looked up at each place, and the places do not wait for each other as the steps of an automaton do. Where the
//! bitmap says yes, up to twelve bytes of the literal are compared.

/// What a literal stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Clue {
    /// A spelling of a known value: the exact search has to run.
    Known,
    /// The shape with this index in [`crate::shapes::SHAPES`].
    Shape(u16),
    /// The last word of a member's name such as `"api_key"`.
    MemberName,
    /// A mark where a text was cut.
    CutMark,
}

const WINDOW: usize = 12;

struct Entry {
    slot: u16,
    gram: u32,
    clue: Clue,
    /// How far the three bytes stand from the beginning of the literal.
    gram_offset: usize,
    literal_length: usize,
    /// Bytes of the literal from `window_offset` on, folded.
    window: [u8; WINDOW],
    window_offset: usize,
    window_length: usize,
}

/// Finds candidates.
pub(crate) struct Prefilter {
    bitmap: Box<[u64; 1024]>,
    /// First entry for each value of the upper 12 bits of a slot.
    heads: Box<[u32]>,
    /// By slot.
    entries: Vec<Entry>,
}

/// A literal at a place of a text.
pub(crate) struct Candidate {
    pub(crate) clue: Clue,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Makes lower case of letters; other bytes that become the same are told apart later.
const FOLD: u8 = 0x20;

#[inline]
fn gram_of(bytes: [u8; 4]) -> u32 {
    (u32::from_le_bytes(bytes) | 0x0020_2020) & 0x00ff_ffff
}

#[inline]
fn slot_of(gram: u32) -> u16 {
    (gram.wrapping_mul(0x9E37_79B1) >> 16) as u16
}

impl Prefilter {
    pub(crate) fn new<'a>(literals: impl Iterator<Item = (&'a [u8], Clue)>) -> Self {
        let mut entries: Vec<Entry> =
            literals.map(|(literal, clue)| entry(literal, clue)).collect();
        entries.sort_by_key(|entry| entry.slot);
        let mut bitmap = Box::new([0_u64; 1024]);
        for entry in &entries {
            bitmap[usize::from(entry.slot >> 6)] |= 1 << (entry.slot & 63);
        }
        let mut heads = vec![0_u32; 4097].into_boxed_slice();
        for (head, first) in heads.iter_mut().enumerate() {
            let before = entries.partition_point(|entry| usize::from(entry.slot >> 4) < head);
            *first = u32::try_from(before).unwrap_or(u32::MAX);
        }
        Self { bitmap, heads, entries }
    }

    /// Calls `found` for every candidate. Returns how many bytes were compared beside the one look at each place.
    #[inline]
    pub(crate) fn scan(&self, text: &[u8], mut found: impl FnMut(Candidate)) -> usize {
        let mut work = 0;
        for (at, bytes) in text.array_windows::<4>().enumerate() {
            let gram = gram_of(*bytes);
            let slot = slot_of(gram);
            if self.bitmap[usize::from(slot >> 6)] >> (slot & 63) & 1 != 0 {
                work += self.candidates(text, at, gram, slot, &mut found);
            }
        }
        if let [.., first, second, third] = text {
            let gram = gram_of([*first, *second, *third, 0]);
            work += self.candidates(text, text.len() - 3, gram, slot_of(gram), &mut found);
        }
        work
    }

    #[cold]
    #[inline(never)]
    fn candidates(
        &self,
        text: &[u8],
        at: usize,
        gram: u32,
        slot: u16,
        found: &mut impl FnMut(Candidate),
    ) -> usize {
        let head = usize::from(slot >> 4);
        let range = self.heads[head] as usize..self.heads[head + 1] as usize;
        let mut work = range.len();
        for entry in &self.entries[range] {
            if entry.gram != gram || entry.slot != slot {
                continue;
            }
            work += entry.window_length;
            let Some(start) = at.checked_sub(entry.gram_offset) else { continue };
            let end = start + entry.literal_length;
            let window = start + entry.window_offset;
            if end <= text.len()
                && text[window..window + entry.window_length]
                    .iter()
                    .zip(&entry.window)
                    .all(|(byte, expected)| byte | FOLD == *expected)
            {
                found(Candidate { clue: entry.clue, start, end });
            }
        }
        work
    }
}

/// `literal` has at least three bytes.
fn entry(literal: &[u8], clue: Clue) -> Entry {
    let grams = literal.windows(3).enumerate();
    let rarest =
        grams.min_by_key(|(_, gram)| gram.iter().map(|byte| frequency(*byte)).sum::<u32>());
    let (gram_offset, gram) = rarest.unwrap_or((0, b"   "));
    let gram = gram_of([gram[0], gram[1], gram[2], 0]);
    let window_offset = gram_offset.saturating_sub(4);
    let mut window = [0; WINDOW];
    let window_length = (literal.len() - window_offset).min(WINDOW);
    for (to, from) in window.iter_mut().zip(&literal[window_offset..]) {
        *to = from | FOLD;
    }
    Entry {
        slot: slot_of(gram),
        gram,
        clue,
        gram_offset,
        literal_length: literal.len(),
        window,
        window_offset,
        window_length,
    }
}

/// How common a byte is in lines of recordings, roughly.
fn frequency(byte: u8) -> u32 {
    match byte | FOLD {
        b'e' | b't' | b'a' | b'"' | b' ' => 10,
        b'o' | b'i' | b'n' | b's' | b'r' | b':' | b',' => 8,
        b'l' | b'd' | b'c' | b'u' | b'm' | b'p' | b'0'..=b'9' | b'_' => 6,
        b'h' | b'f' | b'g' | b'b' | b'y' | b'-' | b'.' | b'/' | b'{' | b'}' => 4,
        b'w' | b'v' | b'k' => 3,
        b'x' | b'j' | b'q' | b'z' => 1,
        _ => 2,
    }
}
