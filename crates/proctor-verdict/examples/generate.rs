//! Writes the files that are made from `tables.json`, and the vectors that other languages are tested with.

#[path = "../generator/mod.rs"]
mod generator;
#[path = "../generator/vectors.rs"]
mod vectors;

fn main() {
    for (path, contents) in generator::files().into_iter().chain([vectors::file()]) {
        std::fs::write(&path, contents).expect("the file is writable");
    }
}
