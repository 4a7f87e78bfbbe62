//! The clipboard of the terminal, reached by its own escape sequence (OSC 52), over ssh and tmux too.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// What to send to the terminal so that it copies the text.
pub(crate) fn copy_sequence(text: &str) -> String {
    format!("\x1b]52;c;{}\x07", base64(text.as_bytes()))
}

fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let part = |place: usize| u32::from(chunk.get(place).copied().unwrap_or_default());
        let bits = part(0) << 16 | part(1) << 8 | part(2);
        for place in 0..4 {
            let index = (bits >> (18 - 6 * place)) & 63;
            let sign = if place <= chunk.len() { ALPHABET[index as usize] } else { b'=' };
            text.push(char::from(sign));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_rfc_4648() {
        let vectors =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (text, coded) in vectors {
            assert_eq!(base64(text.as_bytes()), coded);
        }
        assert_eq!(copy_sequence("foo"), "\x1b]52;c;Zm9v\x07");
    }
}
