//! Embeds the Ruby library, so that a user installs nothing but the binary.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let manifest = PathBuf::from(env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?);
    let ruby = manifest.join("../../ruby").canonicalize()?;
    let mut files = Vec::new();
    for folder in ["lib", "exe"] {
        collect(&ruby.join(folder), &mut files)?;
    }
    files.sort();
    let mut code = String::from("&[\n");
    let mut contents = DefaultHasher::new();
    for file in &files {
        let name = file.strip_prefix(&ruby).map_err(io::Error::other)?;
        (name, fs::read(file)?).hash(&mut contents);
        let (name, file) = (name.to_string_lossy(), file.to_string_lossy());
        writeln!(code, "    ({name:?}, include_str!({file:?})),").map_err(io::Error::other)?;
    }
    code.push_str("]\n");
    // Changes with the contents, so that two versions of the binary do not disturb each other.
    println!("cargo::rustc-env=PROCTOR_RUBY_VERSION={:016x}", contents.finish());
    let out = PathBuf::from(env::var("OUT_DIR").map_err(io::Error::other)?);
    fs::write(out.join("ruby_files.rs"), code)
}

/// Each folder by itself: a file that is added, moved or removed changes the folder, whatever the file's own time is.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        println!("cargo::rerun-if-changed={}", path.display());
        if path.is_dir() { collect(&path, files)? } else { files.push(path) }
    }
    Ok(())
}
