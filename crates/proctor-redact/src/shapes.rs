//! The shapes of well-known keys, as a table: a literal beginning, and a function that reads on from there.
//!
//! No regular expressions: each shape is a run of characters of one class, read once. A run that does not suffice is either short or
//! has no second beginning inside, so all shapes together read a text a bounded number of times.

use std::ops::Range;

/// A shape of keys.
pub(crate) struct Shape {
    /// How it begins, in this case unless `any_case`.
    pub(crate) prefix: &'static str,
    any_case: bool,
    rule: Rule,
}

/// What follows the beginning.
#[derive(Clone, Copy)]
enum Rule {
    /// A run of these characters, at least so many, that looks random. The beginning is masked too.
    Run(Class, usize),
    /// A run of exactly so many characters.
    Exactly(Class, usize),
    /// Three parts with dots between.
    WebToken,
    /// To the end of the key block, or as far as it goes.
    PrivateKey,
    /// `user:password@`: the password is masked.
    UrlPassword,
    /// The path of a Slack webhook: what makes it secret is masked.
    WebhookPath,
    /// A run that looks random; it is masked without the beginning.
    BearerToken,
    /// Base64 of `user:password`; it is masked without the beginning.
    BasicCredentials,
}

/// Characters of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    Alphanumeric,
    UpperOrDigit,
    /// Letters, digits, `_`.
    Word,
    /// Letters, digits, `_`, `-`.
    UrlSafe,
    /// Letters, digits, `_`, `-`, `.`.
    Dotted,
    /// What a bearer token may have.
    Bearer,
    /// Path of a URL: letters, digits, `_`, `-`, `/`.
    Path,
    /// What stands in a key block, its line ends escaped or not.
    KeyBlock,
    /// Password of a URL.
    Password,
}

impl Class {
    pub(crate) fn contains(self, byte: u8) -> bool {
        let more: &[u8] = match self {
            Self::UpperOrDigit => return byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Password => return !byte.is_ascii_whitespace() && !b"/@\"'`<>\\".contains(&byte),
            Self::Alphanumeric => b"",
            Self::Word => b"_",
            Self::UrlSafe => b"_-",
            Self::Dotted => b"_-.",
            Self::Bearer => b"._~+/=-",
            Self::Path => b"_-/",
            Self::KeyBlock => b"+/=\\\r\n\t :,-",
        };
        byte.is_ascii_alphanumeric() || more.contains(&byte)
    }

    /// Where the run from here ends.
    fn run_end(self, bytes: &[u8], from: usize) -> usize {
        let run = bytes[from..].iter().take_while(|byte| self.contains(**byte)).count();
        from + run
    }
}

/// A shape that was found, or might be if the text went on.
pub(crate) struct ShapeMatch {
    /// What is masked.
    pub(crate) masked: Range<usize>,
    /// What a longer text would go on with.
    pub(crate) class: Class,
    /// Whether this is a key already; otherwise only more text tells.
    pub(crate) complete: bool,
    /// Whether more text could change the answer.
    pub(crate) open: bool,
}

const fn run(prefix: &'static str, class: Class, least: usize) -> Shape {
    Shape { prefix, any_case: false, rule: Rule::Run(class, least) }
}

const fn exactly(prefix: &'static str, class: Class, length: usize) -> Shape {
    Shape { prefix, any_case: false, rule: Rule::Exactly(class, length) }
}

const fn special(prefix: &'static str, any_case: bool, rule: Rule) -> Shape {
    Shape { prefix, any_case, rule }
}

/// All shapes.
pub(crate) const SHAPES: &[Shape] = &[
    // OpenAI, Anthropic (sk-ant-), OpenRouter (sk-or-), DeepSeek and others that follow them.
    run("sk-", Class::UrlSafe, 16),
    run("rk-", Class::UrlSafe, 16),
    run("pk-", Class::UrlSafe, 16),
    run("gsk-", Class::UrlSafe, 16),
    run("gsk_", Class::Alphanumeric, 20),
    run("xai-", Class::UrlSafe, 16),
    // Google.
    run("AIza", Class::UrlSafe, 30),
    // GitHub and GitLab.
    run("gho_", Class::Alphanumeric, 30),
    run("ghp_", Class::Alphanumeric, 30),
    run("ghr_", Class::Alphanumeric, 30),
    run("ghs_", Class::Alphanumeric, 30),
    run("ghu_", Class::Alphanumeric, 30),
    run("github_pat_", Class::Word, 22),
    run("glpat-", Class::Dotted, 20),
    // Slack.
    run("xoxa-", Class::UrlSafe, 10),
    run("xoxb-", Class::UrlSafe, 10),
    run("xoxe-", Class::UrlSafe, 10),
    run("xoxp-", Class::UrlSafe, 10),
    run("xoxr-", Class::UrlSafe, 10),
    run("xoxs-", Class::UrlSafe, 10),
    special("hooks.slack.com/services/", false, Rule::WebhookPath),
    // AWS access key ids, lasting and temporary.
    exactly("AKIA", Class::UpperOrDigit, 16),
    exactly("ASIA", Class::UpperOrDigit, 16),
    // Hugging Face, npm, PyPI.
    run("hf_", Class::Alphanumeric, 30),
    run("npm_", Class::Alphanumeric, 30),
    run("pypi-", Class::UrlSafe, 50),
    // Stripe, SendGrid.
    run("sk_live_", Class::Alphanumeric, 16),
    run("rk_live_", Class::Alphanumeric, 16),
    run("sk_test_", Class::Alphanumeric, 16),
    run("SG.", Class::Dotted, 40),
    // Whoever issued them.
    special("eyJ", false, Rule::WebToken),
    special("-----BEGIN ", false, Rule::PrivateKey),
    special("Bearer ", true, Rule::BearerToken),
    special("Basic ", true, Rule::BasicCredentials),
    special("://", false, Rule::UrlPassword),
];

/// By how many characters a key is told from words.
pub(crate) const LONGEST_PROBE: usize = 128;
/// The longest user or password of a URL, and the longest path of a webhook.
const LONGEST_URL_PART: usize = 512;
/// The longest line that begins a key block.
const LONGEST_BLOCK_HEADER: usize = 64;

impl Shape {
    /// The key that begins here. `starts_word` says whether what stands before could not be a part of it.
    pub(crate) fn find(&self, bytes: &[u8], start: usize, starts_word: bool) -> Option<ShapeMatch> {
        let from = start + self.prefix.len();
        let prefix = bytes.get(start..from)?;
        let same = if self.any_case {
            prefix.eq_ignore_ascii_case(self.prefix.as_bytes())
        } else {
            prefix == self.prefix.as_bytes()
        };
        if !same || !(starts_word || self.begins_anywhere()) {
            return None;
        }
        match self.rule {
            Rule::Run(class, least) => random_run(bytes, start, from, class, least),
            Rule::Exactly(class, length) => {
                let limit = bytes.len().min(from + length + 1);
                let end = class.run_end(&bytes[..limit], from);
                settled(bytes, start..end, class, end - from == length)
            }
            // Inside of a longer run no token begins.
            Rule::WebToken if start > 0 && bytes[start - 1] == b'-' => None,
            Rule::WebToken => web_token(bytes, start),
            Rule::PrivateKey => private_key(bytes, start, from),
            Rule::UrlPassword => url_password(bytes, from),
            Rule::WebhookPath => {
                let end = Class::Path.run_end(bytes, from);
                settled(bytes, from..end, Class::Path, end - from >= 20)
            }
            Rule::BearerToken => random_run(bytes, from, from, Class::Bearer, 12),
            Rule::BasicCredentials => {
                let end = Class::Bearer.run_end(bytes, from);
                let complete = end - from >= 8 && has_colon_in_base64(&bytes[from..end]);
                settled(bytes, from..end, Class::Bearer, complete)
            }
        }
    }

    fn begins_anywhere(&self) -> bool {
        matches!(self.rule, Rule::UrlPassword | Rule::WebhookPath | Rule::PrivateKey)
    }
}

/// A match of all that was read, if it is one or may become one.
fn settled(bytes: &[u8], masked: Range<usize>, class: Class, complete: bool) -> Option<ShapeMatch> {
    let open = masked.end == bytes.len();
    (complete || open).then_some(ShapeMatch { masked, class, complete, open })
}

/// Whether it is a key shows in its first characters; only then the rest is read.
fn random_run(
    bytes: &[u8],
    start: usize,
    from: usize,
    class: Class,
    least: usize,
) -> Option<ShapeMatch> {
    let limit = bytes.len().min(from + LONGEST_PROBE);
    let probe = class.run_end(&bytes[..limit], from);
    if probe - from < least || !looks_random(&bytes[from..probe]) {
        return settled(bytes, start..probe, class, false);
    }
    settled(bytes, start..class.run_end(bytes, probe), class, true)
}

/// Words in kebab case and prose have neither digits nor capitals inside.
fn looks_random(run: &[u8]) -> bool {
    run.iter().any(u8::is_ascii_digit)
        || run.iter().skip(1).any(u8::is_ascii_uppercase) && run.iter().any(u8::is_ascii_lowercase)
}

fn web_token(bytes: &[u8], start: usize) -> Option<ShapeMatch> {
    let mut end = start;
    for part in 0..3 {
        let part_end = Class::UrlSafe.run_end(bytes, end);
        if part_end == bytes.len() {
            let complete = part == 2 && part_end - end >= 10;
            return settled(bytes, start..part_end, Class::UrlSafe, complete);
        }
        if part_end - end < 10 || part < 2 && bytes[part_end] != b'.' {
            return None;
        }
        end = if part < 2 { part_end + 1 } else { part_end };
    }
    settled(bytes, start..end, Class::UrlSafe, true)
}

/// From `-----BEGIN … PRIVATE KEY-----` to the end of the block. A block that is cut off is masked as far as it goes.
fn private_key(bytes: &[u8], start: usize, from: usize) -> Option<ShapeMatch> {
    let limit = bytes.len().min(from + LONGEST_BLOCK_HEADER);
    let header = memchr::memmem::find(&bytes[from..limit], b"-----");
    let Some(header) = header else {
        let open = limit == bytes.len();
        let class = Class::KeyBlock;
        return open.then_some(ShapeMatch { masked: start..limit, class, complete: false, open });
    };
    memchr::memmem::find(&bytes[from..from + header], b"PRIVATE KEY")?;
    let body = from + header + 5;
    let dashes = |from: usize| Some(from + memchr::memmem::find(&bytes[from..], b"-----")? + 5);
    // Of `-----END PRIVATE KEY-----` the first and the last dashes.
    let closing = dashes(body).and_then(dashes);
    let block = &bytes[..closing.unwrap_or(bytes.len())];
    let end = Class::KeyBlock.run_end(block, body);
    if closing == Some(end) {
        let class = Class::KeyBlock;
        return Some(ShapeMatch { masked: start..end, class, complete: true, open: false });
    }
    settled(bytes, start..end, Class::KeyBlock, true)
}

fn url_password(bytes: &[u8], from: usize) -> Option<ShapeMatch> {
    let limit = bytes.len().min(from + LONGEST_URL_PART);
    let user = bytes[from..limit]
        .iter()
        .take_while(|byte| Class::Password.contains(**byte) && !b":?#[]".contains(*byte));
    let colon = from + user.count();
    let undecided = |masked: Range<usize>| {
        let class = Class::Password;
        Some(ShapeMatch { masked, class, complete: false, open: true })
    };
    if colon == bytes.len() {
        return undecided(from..colon);
    }
    if bytes[colon] != b':' || colon == limit {
        return None;
    }
    let first = colon + 1;
    let limit = bytes.len().min(first + LONGEST_URL_PART);
    let password = bytes[first..limit].iter().take_while(|byte| Class::Password.contains(**byte));
    let end = first + password.count();
    if end == bytes.len() {
        return undecided(first..end);
    }
    let is_password = bytes[end] == b'@' && end > first && !is_placeholder(&bytes[first..end]);
    let class = Class::Password;
    is_password.then_some(ShapeMatch { masked: first..end, class, complete: true, open: false })
}

/// `${PASSWORD}`, `{{password}}`, `****`, `[redacted]`.
fn is_placeholder(password: &[u8]) -> bool {
    matches!(password[0], b'$' | b'{' | b'[') || password.iter().all(|byte| *byte == b'*')
}

/// Whether base64 of a name, a colon and a password stands here.
fn has_colon_in_base64(run: &[u8]) -> bool {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    };
    let (mut bits, mut count, mut colon) = (0_u32, 0, false);
    for sextet in run.iter().map_while(|byte| value(*byte)) {
        bits = (bits << 6 | u32::from(sextet)) & 0xffff;
        count += 6;
        if count >= 8 {
            count -= 8;
            let byte = bits >> count & 0xff;
            if byte < 0x20 || byte == 0x7f {
                return false;
            }
            colon |= byte == u32::from(b':');
        }
    }
    colon
}
