//! Metadata that version 8d3abcc wrote are still read and written back. (How they were made: `proctor-record/tests/fixtures/8d3abcc`.)

use std::path::Path;

use proctor_cover::Metadata;

#[test]
fn metadata_of_8d3abcc_are_read_and_written_back() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/8d3abcc/lib_fare.yml");
    let metadata = Metadata::read(&path).unwrap().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("lib_fare.yml");
    metadata.write(&copy).unwrap();
    let fields = |path: &Path| -> serde_json::Value {
        serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    };
    assert_eq!(fields(&copy), fields(&path));
    assert_eq!(fields(&path)["methods_to_analyze"][0]["method_id"], "Fare#price");
}
