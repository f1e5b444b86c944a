//! Finds the libraries of the engines that are not built from a crate.

use std::{env, fs, path::Path};

fn main() {
    println!("cargo:rerun-if-env-changed=ROCKSDB_LIB_DIR");
    println!("cargo:rerun-if-env-changed=WIREDTIGER_DIR");
    println!("cargo:rerun-if-changed=Cargo.lock");
    if env::var_os("CARGO_FEATURE_ROCKSDB").is_some() {
        if let Ok(folder) = env::var("ROCKSDB_LIB_DIR") {
            search(&folder);
        }
        println!("cargo:rustc-link-lib=dylib=rocksdb");
        println!("cargo:rustc-env=ASSAY_ROCKSDB_VERSION={}", rocksdb_version());
    }
    println!("cargo:rustc-env=ASSAY_REDB_VERSION={}", locked("redb"));
    #[cfg(feature = "wiredtiger")]
    wiredtiger();
}

/// As the header beside the library says it: the C interface has no call for it.
fn rocksdb_version() -> String {
    let folder = env::var("ROCKSDB_INCLUDE_DIR").unwrap_or_else(|_| "/usr/include".to_owned());
    let header = fs::read_to_string(Path::new(&folder).join("rocksdb/version.h")).unwrap_or_default();
    let number = |name: &str| {
        let line = header.lines().find_map(|line| line.strip_prefix(&format!("#define ROCKSDB_{name} ")));
        line.unwrap_or("?").trim().to_owned()
    };
    format!("{}.{}.{}", number("MAJOR"), number("MINOR"), number("PATCH"))
}

/// The version of a crate that this one was locked to.
fn locked(name: &str) -> String {
    let lock = fs::read_to_string("Cargo.lock").unwrap_or_default();
    let after = lock.split_once(&format!("name = \"{name}\"\nversion = \"")).map_or("", |(_, after)| after);
    after.split('"').next().unwrap_or_default().to_owned()
}

fn search(folder: &str) {
    println!("cargo:rustc-link-search=native={folder}");
    println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
}

/// WiredTiger's calls are members of its structures, whose layout its header alone knows.
#[cfg(feature = "wiredtiger")]
fn wiredtiger() {
    let folder = env::var("WIREDTIGER_DIR").unwrap_or_default();
    assert!(
        Path::new(&folder).join("wiredtiger.h").is_file(),
        "the variable WIREDTIGER_DIR must name a folder with wiredtiger.h and libwiredtiger.so: \
         `assay rivals build wiredtiger` sees to it"
    );
    println!("cargo:rerun-if-changed=src/wiredtiger/calls.c");
    cc::Build::new().file("src/wiredtiger/calls.c").include(&folder).opt_level(2).compile("assay_wiredtiger");
    search(&folder);
    println!("cargo:rustc-link-lib=dylib=wiredtiger");
}
