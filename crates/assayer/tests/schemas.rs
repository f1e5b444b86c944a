//! The committed schemas are those of the types.

use std::{path::PathBuf, process::Command};

fn committed(document: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../schema/{document}.schema.json"))
}

#[test]
fn the_committed_schemas_are_not_stale() {
    for document in ["job", "event", "record", "twin"] {
        let output = Command::new(env!("CARGO_BIN_EXE_assayer")).args(["schema", document]).output().unwrap();
        assert!(output.status.success());
        let wanted = String::from_utf8(output.stdout).unwrap();
        let seen = std::fs::read_to_string(committed(document)).unwrap_or_default();
        assert!(
            seen == wanted,
            "schema/{document}.schema.json is stale; write it again: assayer schema {document} > schema/{document}.schema.json"
        );
        let schema: serde_json::Value = serde_json::from_str(&wanted).unwrap();
        assert!(schema["$schema"].is_string() && schema["$defs"].is_object(), "{document}");
    }
}
