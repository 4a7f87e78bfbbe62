//! What is generated is checked in and compared.

#[path = "../generator/mod.rs"]
mod generator;
#[path = "../generator/vectors.rs"]
mod vectors;

#[test]
fn generated_files_are_what_the_tables_give() {
    for (path, contents) in generator::files().into_iter().chain([vectors::file()]) {
        let present = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            present == contents,
            "{} is not what tables.json gives: run `cargo run -p proctor-verdict --example generate`",
            path.display()
        );
    }
}
