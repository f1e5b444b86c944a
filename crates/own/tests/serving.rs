//! The room for other programs: folders are made and removed on request, and go when the requests end.

use std::{
    fs,
    io::{BufRead, BufReader, Cursor, Write},
    os::unix::net::UnixStream,
    thread,
};

use serde_json::{Value, json};

fn folder() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("own").tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn make(folder: &tempfile::TempDir) -> Value {
    json!({"make": {"folder": folder.path(), "prefix": "assay-dbms-", "other": null, "lease": true}})
}

#[test]
fn a_folder_is_made_emptied_and_gone_when_the_requests_end() {
    let folder = folder();
    let (requests, mut to) = UnixStream::pair().unwrap();
    let (answers, from) = UnixStream::pair().unwrap();
    let server = thread::spawn(move || assay_own::serve(BufReader::new(requests), from));
    let mut answers = BufReader::new(answers).lines();
    let mut ask = |request: Value| -> Value {
        writeln!(to, "{request}").unwrap();
        serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap()
    };
    let made = ask(make(&folder))["path"].as_str().unwrap().to_owned();
    fs::create_dir_all(format!("{made}/data/base")).unwrap();
    fs::write(format!("{made}/data/base/1"), b"x").unwrap();
    fs::write(format!("{made}/log"), b"x").unwrap();
    assert!(ask(json!({"remove": {"path": made, "inside": "data"}}))["path"].is_string());
    assert!(!fs::exists(format!("{made}/data")).unwrap() && fs::exists(format!("{made}/log")).unwrap());
    for wrong in ["../../etc", "a/b", "/etc", ".assay-own"] {
        let answer = ask(json!({"remove": {"path": made, "inside": wrong}}));
        assert!(answer["refused"]["reason"].as_str().unwrap().contains("no plain name"), "{wrong}: {answer}");
    }
    let answer = ask(json!({"remove": {"path": "/etc", "inside": null}}));
    assert!(answer["refused"]["reason"].as_str().unwrap().contains("was not made here"), "{answer}");
    assert!(ask(json!({"format": "/dev/sda"}))["refused"].is_object());
    let kept = ask(make(&folder))["path"].as_str().unwrap().to_owned();
    ask(json!({"keep": {"path": kept}}));
    drop(to);
    server.join().unwrap().unwrap();
    assert!(!fs::exists(&made).unwrap() && fs::exists(&kept).unwrap());
    assert_eq!(assay_own::clean(folder.path(), "").unwrap().len(), 1);
    assert!(!fs::exists(&kept).unwrap());
}

#[test]
fn a_folder_that_is_not_there_is_refused_with_a_sentence() {
    let mut answers = Vec::new();
    let request = json!({"make": {"folder": "/nowhere", "prefix": "a-", "other": null, "lease": false}});
    assay_own::serve(Cursor::new(format!("{request}\n")), &mut answers).unwrap();
    let answer: Value = serde_json::from_slice(&answers).unwrap();
    assert!(answer["refused"]["fix"].as_str().unwrap().contains("/nowhere"), "{answer}");
}

#[test]
fn whoever_works_in_a_folder_when_the_requests_end_finds_its_files_until_it_has_ended() {
    let folder = folder();
    let (requests, mut to) = UnixStream::pair().unwrap();
    let (answers, from) = UnixStream::pair().unwrap();
    let server = thread::spawn(move || assay_own::serve(BufReader::new(requests), from));
    writeln!(to, "{}", make(&folder)).unwrap();
    let answer: Value = serde_json::from_str(&BufReader::new(answers).lines().next().unwrap().unwrap()).unwrap();
    let made = answer["path"].as_str().unwrap().to_owned();
    fs::create_dir(format!("{made}/data")).unwrap();
    fs::write(format!("{made}/data/note"), b"x").unwrap();
    // A database server that hears that its owner is gone, and takes a moment.
    let mut worker = std::process::Command::new("sh")
        .args(["-c", "read end; sleep 0.5; test -e note"])
        .current_dir(format!("{made}/data"))
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(to);
    drop(worker.stdin.take());
    assert!(worker.wait().unwrap().success(), "its files went before it had ended");
    server.join().unwrap().unwrap();
    assert!(!fs::exists(&made).unwrap());
}
