//! Nothing is built here.

fn main() {
    // Without a build script Cargo does not look at what a crate needs to be built.
    println!("cargo::rerun-if-changed=build.rs");
}
