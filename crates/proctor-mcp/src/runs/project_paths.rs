//! Checks that a path given by a caller is inside the project, textually and after following links.

use std::path::{Path, PathBuf};

use proctor_text::truncate;
use proctor_workspace::contained_path::RelPath;

use crate::error::ToolError;

/// Refuses a path that is not one of the project's. `FILE:LINE` and `FILE[1:2]` are paths of FILE.
pub(crate) fn check(root: &Path, given: &str) -> Result<(), ToolError> {
    let refuse = |why: &str| {
        let problem = format!("paths: {:?} {why}", truncate(given, 80));
        Err(ToolError::invalid(problem)
            .hint("give paths as seen from the project's root, such as `spec/models`"))
    };
    if given.is_empty() || given.starts_with('-') {
        return refuse("is not a path");
    }
    let within = match Path::new(given).strip_prefix(root) {
        Ok(within) => within.to_string_lossy().into_owned(),
        Err(_) if given.starts_with('/') => return refuse("is not in this project"),
        Err(_) => given.to_owned(),
    };
    if within.split('/').all(|part| part.is_empty() || part == ".") {
        return Ok(());
    }
    if let Err(problem) = RelPath::parse(&within) {
        return refuse(&format!("is not allowed: {}", problem.why));
    }
    // A link may lead out of the project. A path that does not exist is reported by the run itself.
    let (Ok(home), Some(there)) = (root.canonicalize(), existing(root, &within)) else {
        return Ok(());
    };
    match there.canonicalize() {
        Ok(real) if !real.starts_with(&home) => refuse("is a link that leads out of this project"),
        _ => Ok(()),
    }
}

/// The longest beginning of a path that is on the disk.
fn existing(root: &Path, within: &str) -> Option<PathBuf> {
    let file = within.split(['[', ':']).next().unwrap_or(within);
    let whole = [within, file].into_iter().map(|path| root.join(path));
    let above = root.join(file);
    let mut all = whole.chain(above.ancestors().skip(1).map(Path::to_owned));
    all.find(|path| path.symlink_metadata().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_project_are_taken_and_others_are_not() {
        let project = tempfile::tempdir().unwrap();
        let root = project.path();
        std::fs::create_dir_all(root.join("spec/models")).unwrap();
        std::fs::write(root.join("spec/a_spec.rb"), "").unwrap();
        std::os::unix::fs::symlink("/etc", root.join("spec/out")).unwrap();
        std::os::unix::fs::symlink("models", root.join("spec/in")).unwrap();
        let absolute = root.join("spec/a_spec.rb").display().to_string();
        for good in [
            "spec",
            "./spec/",
            ".",
            "spec/a_spec.rb:12",
            "spec/a_spec.rb[1:2]",
            "spec/in",
            "spec/none_yet.rb",
            "spec/**/*_spec.rb",
            &absolute,
        ] {
            check(root, good).unwrap_or_else(|error| panic!("{good}: {error:?}"));
        }
        let long = "x/".repeat(2000);
        for bad in [
            "",
            "-x",
            "--seed",
            "..",
            "../x",
            "spec/../../x",
            "/etc/passwd",
            "spec/out",
            "spec/out/passwd:3",
            "a\0b",
            "a\nb",
            "\u{ff0e}\u{ff0e}/x",
            "a\u{2215}b",
            "a\u{202e}b",
            &long,
        ] {
            let error = check(root, bad).unwrap_err();
            assert!(error.message.starts_with("paths: "), "{bad:?}: {error:?}");
            assert!(error.hints[0].contains("project's root"), "{bad:?}");
        }
    }
}
