//! The viewer as one page that needs no server: script and style stand in it, and nothing else may run.

use sha2::{Digest as _, Sha256};

use crate::assets::{SCRIPT, STYLE};

/// The page of a report, with a place for its events (see `proctor_report::write_html`).
///
/// Its policy names the script and the style by their hashes: content from agents cannot run scripts or load resources.
pub fn html_report() -> String {
    // The end of a script element within a script would end it.
    let script = SCRIPT.replace("</script", "<\\/script").replace("<!--", "<\\!--");
    let style = STYLE.replace("</style", "<\\/style");
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:; base-uri 'none'; form-action 'none'",
        base64(&Sha256::digest(script.as_bytes())),
        base64(&Sha256::digest(style.as_bytes())),
    );
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>Proctor report</title>\n\
         <style>{style}</style>\n</head>\n<body><div id=\"app\"></div>\n<!--proctor:events-->\n\
         <script type=\"module\">{script}</script>\n</body>\n</html>\n"
    )
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let byte = |place: usize| u32::from(group.get(place).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place > group.len() { '=' } else { char::from(letter) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_every_length() {
        let pairs =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")];
        for (plain, coded) in pairs {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn the_page_has_one_script_one_style_and_a_place_for_events() {
        let page = html_report();
        for once in
            ["<script type=\"module\">", "</script", "<style>", "</style", "<!--proctor:events-->"]
        {
            assert_eq!(page.matches(once).count(), 1, "{once}");
        }
        assert!(!page.contains("src=\"") && !page.contains("<link"), "it needs no other file");
    }
}
