//! The packages of a larger repository: folders with code, and mostly a gemspec and specs, of their own beside that of the root.

use std::fs;
use std::path::{Path, PathBuf};

use super::SKIPPED_FOLDERS;

/// Folders of code.
pub(super) const CODE: &[&str] = &["lib", "app"];
/// Folders that hold packages by custom.
const HOLDERS: &[&str] =
    &["packages", "packs", "engines", "components", "gems", "apps", "services", "modules"];
/// What a package has beside its code.
const MARKS: &[&str] = &["Gemfile", "package.yml", "spec"];
/// How deep packages lie at most.
const DEPTH: u32 = 3;

/// The folders of all packages below a root, sorted.
pub(super) fn folders(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(root, false, DEPTH, &mut found);
    found.sort();
    found
}

fn collect(folder: &Path, is_held: bool, depth: u32, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let is_skipped =
            name.starts_with('.') || SKIPPED_FOLDERS.contains(&&*name) || CODE.contains(&&*name);
        if !is_folder || is_skipped {
            continue;
        }
        let path = entry.path();
        if CODE.iter().any(|code| path.join(code).is_dir()) && (is_held || is_marked(&path)) {
            found.push(path.clone());
        }
        if depth > 1 {
            collect(&path, is_held || HOLDERS.contains(&&*name), depth - 1, found);
        }
    }
}

fn is_marked(folder: &Path) -> bool {
    let has_gemspec = || {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| {
            Path::new(&entry.file_name()).extension().is_some_and(|end| end == "gemspec")
        })
    };
    MARKS.iter().any(|mark| folder.join(mark).exists()) || has_gemspec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_found_beside_the_code_of_the_root_and_samples_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for path in [
            "lib/a/lib",
            "packages/billing/lib",
            "packages/billing/spec/dummy/app",
            "engines/admin/app/models",
            "client/lib",
            "client/spec",
            "assets/lib",
            "examples/shop/lib",
            "vendor/packages/x/lib",
        ] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        let found = folders(root);
        let names: Vec<&str> =
            found.iter().map(|path| path.strip_prefix(root).unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["client", "engines/admin", "packages/billing"]);
    }
}
