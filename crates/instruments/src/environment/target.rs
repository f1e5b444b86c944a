//! What a target is made of.

use std::path::Path;

use assay_path::facts;
use assay_record::TargetFacts;

/// Facts of one member of a target.
pub fn target_facts(path: &Path) -> TargetFacts {
    TargetFacts {
        target: String::new(),
        path: path.display().to_string(),
        file_system: if is_device(path) { None } else { facts::file_system(path).ok() },
        device: facts::block_device(path),
        layers: facts::layers(&facts::System::default(), path),
    }
}

fn is_device(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    path.metadata()
        .is_ok_and(|metadata| metadata.file_type().is_block_device() || metadata.file_type().is_char_device())
}
