//! The library as programs in C and Python meet it; the header is the one that the sources make.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

#[path = "../../libtwin/examples/simulator.rs"]
mod simulator;

const HERE: &str = env!("CARGO_MANIFEST_DIR");

fn twin(name: &str) -> PathBuf {
    Path::new(HERE).join(format!("../../catalog/twins/{name}.toml"))
}

/// Where cargo left the libraries of this crate.
fn libraries() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let mut folders = program.ancestors().skip(1);
    folders.find(|folder| folder.join("libtwin.so").is_file()).unwrap().to_owned()
}

fn has(program: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !there {
        eprintln!("skipped: {program} is not installed");
    }
    there
}

/// Its output, trimmed; a panic with what it said where it fails.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    assert!(output.status.success(), "{command:?}: {said} {}", String::from_utf8_lossy(&output.stderr));
    said
}

/// The library below a prefix of its own.
fn installed() -> TempDir {
    let prefix = TempDir::new().unwrap();
    run(Command::new(Path::new(HERE).join("install")).arg(prefix.path()).arg(libraries()));
    prefix
}

#[test]
fn a_simulator_in_c_has_the_answers_of_one_in_rust() {
    if !(has("cc") && has("pkg-config")) {
        return;
    }
    let prefix = installed();
    let flags = run(Command::new("pkg-config")
        .args(["--cflags", "--libs", "twin"])
        .env("PKG_CONFIG_PATH", prefix.path().join("lib/pkgconfig")));
    let program = prefix.path().join("simulator");
    let source = Path::new(HERE).join("examples/simulator.c");
    let mut compiler = Command::new("cc");
    run(compiler.args(["-Wall", "-Wextra", "-Werror", "-O1", "-o"]).arg(&program).arg(source).args(flags.split(' ')));
    for name in ["970evoplus", "p4610", "gp3", "disk-7200"] {
        let seen = run(Command::new(&program).arg(twin(name)).env("LD_LIBRARY_PATH", prefix.path().join("lib")));
        assert_eq!(seen, simulator::play(&fs::read_to_string(twin(name)).unwrap()).unwrap());
    }
    let refused = Command::new(&program)
        .arg(twin("ddr4-2666-32g"))
        .env("LD_LIBRARY_PATH", prefix.path().join("lib"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(4) && said.contains("only drives"), "{said}");
}

#[test]
fn an_asynchronous_program_in_python_waits_as_long_as_the_drive() {
    if !has("python3") {
        return;
    }
    let mut python = Command::new("python3");
    python.arg(Path::new(HERE).join("examples/asynchronous.py")).arg(libraries().join("libtwin.so")).arg(twin("gp3"));
    let said = run(&mut python);
    assert!(said.starts_with("32 reads at once: ") && said.ends_with(" ms"), "{said}");
}

#[test]
fn the_header_is_the_one_of_the_sources() {
    if !has("cbindgen") {
        return;
    }
    let made =
        run(Command::new("cbindgen").args(["--quiet", "--config", "cbindgen.toml", "src/lib.rs"]).current_dir(HERE));
    let committed = fs::read_to_string(Path::new(HERE).join("include/twin.h")).unwrap();
    let again = "cbindgen --config cbindgen.toml --output include/twin.h src/lib.rs";
    assert_eq!(made.trim(), committed.trim(), "the header is stale; in crates/libtwin-c: {again}");
}
