//! The prompt a call was given, in any of the three forms in which orchestrators hand it over.

use std::io::Read as _;

/// Sections of a prompt that change from call to call.
const DYNAMIC: &[&str] =
    &["## OBJECTIVE", "## PENDING EVENTS", "<scratchpad", "### ROBOT GUIDANCE"];
/// Most of a prompt that is read.
const LONGEST: u64 = 16 * 1024 * 1024;

/// A prompt, and the part of it that changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Prompt {
    pub(crate) whole: String,
    pub(crate) dynamic: String,
}

impl Prompt {
    /// Reads the prompt: from the argument, from the file that a long argument points to, or from
    /// standard input.
    pub(crate) fn read(argument: Option<&str>) -> Self {
        let whole = if let Some(text) = argument {
            pointed_to(text).unwrap_or_else(|| text.to_owned())
        } else {
            let mut bytes = Vec::new();
            let _ = std::io::stdin().lock().take(LONGEST).read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        };
        Self::of(whole)
    }

    pub(crate) fn of(whole: String) -> Self {
        let dynamic = dynamic_part(&whole).unwrap_or_else(|| whole.clone());
        Self { whole, dynamic }
    }
}

/// A long prompt is replaced by a sentence that names a temporary file.
fn pointed_to(text: &str) -> Option<String> {
    if text.len() > 400 {
        return None;
    }
    let path = text.split_whitespace().find(|word| word.starts_with('/'))?;
    let bytes =
        proctor_files::open(std::path::Path::new(path.trim_end_matches(['.', ',', '\'', '"'])))
            .ok()?;
    let mut whole = String::new();
    bytes.take(LONGEST).read_to_string(&mut whole).ok()?;
    Some(whole)
}

/// The sections that change, or `None` where the prompt has no such sections.
fn dynamic_part(whole: &str) -> Option<String> {
    let mut part = String::new();
    let mut keep = false;
    for line in whole.lines() {
        if DYNAMIC.iter().any(|start| line.starts_with(start)) {
            keep = true;
        } else if line.starts_with("## ") || line.starts_with("</scratchpad>") {
            keep = false;
        }
        if keep {
            part.push_str(line);
            part.push('\n');
        }
    }
    (!part.is_empty()).then_some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_changing_sections_count() {
        let whole = "<scratchpad>\nmy notes\n</scratchpad>\n### 0a\nLOOP_COMPLETE\n## OBJECTIVE\n\n> do it\n\n\
                     ## PENDING EVENTS\n\nEvent: build.task - x\n\n## WORKFLOW\nbuild.done\n";
        let prompt = Prompt::of(whole.to_owned());
        assert!(prompt.dynamic.contains("my notes") && prompt.dynamic.contains("do it"));
        assert!(prompt.dynamic.contains("Event: build.task"));
        assert!(
            !prompt.dynamic.contains("LOOP_COMPLETE") && !prompt.dynamic.contains("build.done")
        );
        assert_eq!(Prompt::of("plain".to_owned()).dynamic, "plain");
    }

    #[test]
    fn a_long_prompt_is_read_from_the_file_that_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "the real one").unwrap();
        let argument = format!("Please read and execute the task in {}", file.path().display());
        assert_eq!(Prompt::read(Some(&argument)).whole, "the real one");
        assert_eq!(Prompt::read(Some("look at /no/such/file")).whole, "look at /no/such/file");
    }
}
