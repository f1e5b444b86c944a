use assay_buffer::BufferError;

use super::*;

fn options(folder: &Path) -> FilesOptions {
    let (pool_bytes, log_bytes) = (4 << 20, 4 << 20);
    FilesOptions { pool_bytes, log_bytes, ..FilesOptions::of(folder.join("data"), folder.join("log")) }
}

fn wanted() -> Wanted {
    Wanted { tables: 1, data_bytes: 64 << 20, sessions: 2, tier: None }
}

#[test]
fn a_database_that_was_never_completed_is_made_anew_and_a_complete_one_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let options = options(folder.path());
    let half = open(&options, wanted()).unwrap();
    assert!(!half.there);
    assert!(matches!(open(&options, wanted()), Err(EngineError::Buffer(BufferError::InUse { .. }))));
    drop(half);
    let whole = open(&options, wanted()).unwrap();
    assert!(!whole.there, "what was half made is not opened");
    whole.database.complete().unwrap();
    let mut session = whole.database.session().unwrap();
    session.begin().unwrap();
    session.put(0, b"key", b"value").unwrap();
    session.commit().unwrap();
    drop(session);
    drop(whole);
    let again = open(&options, wanted()).unwrap();
    assert!(again.there);
    let (mut session, mut value) = (again.database.session().unwrap(), Vec::new());
    session.begin().unwrap();
    assert!(session.get(0, b"key", &mut value).unwrap());
    assert_eq!(value, b"value");
}

#[test]
fn a_log_without_its_database_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let options = options(folder.path());
    std::fs::write(&options.log, b"precious").unwrap();
    let error = open(&options, wanted()).err().unwrap().to_string();
    assert!(error.contains("is missing") || error.contains("are missing"), "{error}");
    assert_eq!(std::fs::read(&options.log).unwrap(), b"precious");
}

/// A database with a log's tail, closed or not, in a folder; what else is shared with others is named by `change`.
fn kept(folder: &Path, close: bool, change: impl FnOnce(&mut FilesOptions)) -> FilesOptions {
    std::fs::create_dir_all(folder).unwrap();
    let mut options = options(folder);
    change(&mut options);
    let made = open(&options, wanted()).unwrap();
    made.database.complete().unwrap();
    put(&made.database, b"ours");
    if close {
        made.database.close().unwrap();
    }
    options
}

/// A folder in memory, which stands in for persistent memory.
fn in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").expect("/dev/shm can be written to")
}

fn put(database: &Database, value: &[u8]) {
    let mut session = database.session().unwrap();
    session.begin().unwrap();
    session.put(0, b"key", value).unwrap();
    session.commit().unwrap();
}

fn is_whole(options: &FilesOptions) {
    let again = open(options, wanted()).unwrap();
    let (mut session, mut value) = (again.database.session().unwrap(), Vec::new());
    session.begin().unwrap();
    assert!(session.get(0, b"key", &mut value).unwrap());
    assert_eq!(value, b"ours");
}

fn refusal(options: &FilesOptions) -> String {
    open(options, wanted()).err().expect("it is refused").to_string()
}

#[test]
fn a_second_database_takes_no_log_no_tail_and_no_stripe_of_another() {
    for close in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let memory = in_memory();
        let tail = memory.path().join("tail");
        let ours = kept(&at("ours"), close, |options| {
            options.log = at("log");
            options.stripes = vec![at("stripe")];
            options.tail = Some(tail.clone());
            options.durability = Durability::Pmem;
        });
        std::fs::create_dir(at("theirs")).unwrap();
        type Change<'a> = (&'a str, Box<dyn Fn(&mut FilesOptions) + 'a>);
        let changes: [Change<'_>; 3] = [
            ("log", Box::new(|options| options.log = at("log"))),
            ("stripe", Box::new(|options| options.stripes = vec![at("stripe")])),
            ("tail", Box::new(|options| options.tail = Some(tail.clone()))),
        ];
        for (what, change) in &changes {
            let mut theirs = options(&at("theirs"));
            change(&mut theirs);
            // Twice: what the first refusal left must not have the second one clean up.
            for _ in 0..2 {
                let said = refusal(&theirs);
                assert!(said.contains(&format!("/{what} is there")), "{said}");
                assert!(said.contains("belongs to another database"), "{said}");
            }
            assert_eq!(std::fs::read_dir(at("theirs")).unwrap().count(), 0, "a refusal leaves nothing");
        }
        // Another one that is there already takes none of them either.
        let theirs = kept(&at("theirs"), close, |options| options.stripes = vec![at("their-stripe")]);
        for (what, change) in &changes {
            let mut theirs = theirs.clone();
            change(&mut theirs);
            let said = refusal(&theirs);
            assert!(said.contains("nother"), "{what}: {said}");
        }
        is_whole(&ours);
        is_whole(&theirs);
    }
}

#[test]
fn a_mark_that_the_register_does_not_know_has_nothing_removed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let ours = kept(&at("ours"), true, |options| options.log = at("log"));
    std::fs::create_dir(at("half")).unwrap();
    let half = options(&at("half"));
    // As somebody may put it there: a mark of this name beside files of these names, and nobody who holds them.
    let mut making = Making::begin(&half.data).unwrap();
    making.make(&half.data).unwrap();
    making.make(&half.log).unwrap();
    let mark = std::fs::read(at("half/data.making")).unwrap();
    drop(making);
    std::fs::write(at("half/data.making"), &mark).unwrap();
    std::fs::write(&half.data, b"another file of this name").unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &half.log, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    let said = refusal(&FilesOptions { log: ours.log.clone(), ..half.clone() });
    assert!(said.contains("data.making") && said.contains("is not believed"), "{said}");
    assert_eq!(std::fs::read(&half.data).unwrap(), b"another file of this name");
    assert!(half.log.symlink_metadata().is_ok(), "a node that stands in the log's place stays");
    is_whole(&ours);
}

/// A database whose log ends in memory, in the file `tail`.
fn kept_with_tail(folder: &tempfile::TempDir, memory: &tempfile::TempDir) -> FilesOptions {
    kept(folder.path(), false, |options| {
        options.tail = Some(memory.path().join("tail"));
        options.durability = Durability::Pmem;
    })
}

#[test]
fn a_tail_is_for_one_process_at_a_time_and_is_found_whatever_its_size() {
    let (folder, memory) = (tempfile::tempdir().unwrap(), in_memory());
    let ours = kept_with_tail(&folder, &memory);
    let before = std::fs::metadata(memory.path().join("tail")).unwrap().len();
    let open_one = open(&ours, wanted()).unwrap();
    let held = FoundTail::of(&memory.path().join("tail"), &ours, 1).err().expect("it is held").to_string();
    assert!(held.contains("in use"), "{held}");
    drop(open_one);
    is_whole(&FilesOptions { log_bytes: 64 << 20, ..ours });
    assert_eq!(std::fs::metadata(memory.path().join("tail")).unwrap().len(), before);
}

#[test]
fn a_tail_that_is_missing_is_not_made_in_its_place() {
    let (folder, memory) = (tempfile::tempdir().unwrap(), in_memory());
    let ours = kept_with_tail(&folder, &memory);
    std::fs::rename(memory.path().join("tail"), memory.path().join("aside")).unwrap();
    let said = refusal(&ours);
    assert!(said.contains("does not hold this database's log"), "{said}");
    assert!(!memory.path().join("tail").exists(), "what was made for it is removed again");
    std::fs::rename(memory.path().join("aside"), memory.path().join("tail")).unwrap();
    is_whole(&ours);
}

#[test]
fn of_several_logs_none_may_be_missing_swapped_or_another_databases_and_their_number_is_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let ours = kept(&at("ours"), false, |options| options.logs = Some(2));
    let theirs = kept(&at("theirs"), false, |options| options.logs = Some(2));
    let unsaid = FilesOptions { logs: None, ..ours.clone() };
    assert!(refusal(&FilesOptions { logs: Some(3), ..ours.clone() }).contains("is one of 2, and 3 were asked for"));
    let other = at("ours/log-1");
    std::fs::rename(&other, at("aside")).unwrap();
    assert!(refusal(&unsaid).contains("ours/log-1 is missing"));
    std::fs::copy(at("theirs/log-1"), &other).unwrap();
    assert!(refusal(&unsaid).contains("belongs to another database"));
    std::fs::rename(at("ours/log"), &other).unwrap();
    std::fs::rename(at("aside"), at("ours/log")).unwrap();
    assert!(refusal(&unsaid).contains("is number 2 of 2, and number 1 of 2"));
    std::fs::rename(&other, at("aside")).unwrap();
    std::fs::rename(at("ours/log"), &other).unwrap();
    std::fs::rename(at("aside"), at("ours/log")).unwrap();
    is_whole(&unsaid);
    is_whole(&theirs);
    // A new one takes no second log of another either, and leaves nothing.
    std::fs::create_dir(at("none")).unwrap();
    let new = FilesOptions { log: at("theirs/log-1"), logs: Some(1), ..options(&at("none")) };
    assert!(refusal(&new).contains("log-1 is there"));
    std::fs::rename(at("theirs/log"), at("aside")).unwrap();
    let new = FilesOptions { log: at("theirs/log"), logs: Some(2), ..options(&at("none")) };
    assert!(refusal(&new).contains("log-1 is there"));
    assert!(!at("theirs/log").exists() && std::fs::read_dir(at("none")).unwrap().count() == 0);
    std::fs::rename(at("aside"), at("theirs/log")).unwrap();
    is_whole(&theirs);
}

#[test]
fn each_of_several_logs_has_a_tail_of_its_own() {
    let (folder, memory) = (tempfile::tempdir().unwrap(), in_memory());
    let ours = kept(folder.path(), false, |options| {
        (options.logs, options.durability) = (Some(2), Durability::Pmem);
        options.tail = Some(memory.path().join("tail"));
    });
    let (tail, second) = (memory.path().join("tail"), memory.path().join("tail-1"));
    let aside = memory.path().join("aside");
    let swap = || {
        for (from, to) in [(&tail, &aside), (&second, &tail), (&aside, &second)] {
            std::fs::rename(from, to).unwrap();
        }
    };
    swap();
    assert!(refusal(&ours).contains("does not hold this database's log"));
    swap();
    is_whole(&ours);
}

#[test]
fn a_database_that_was_made_for_other_work_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let ours = kept(folder.path(), true, |_| {});
    let said = open(&ours, Wanted { tables: 2, ..wanted() }).err().unwrap().to_string();
    assert!(said.contains("has 1 tables, and this work needs 2"), "{said}");
    is_whole(&ours);
}

#[test]
fn pages_lie_on_several_files_and_are_reached_by_each_path() {
    for path in [PathKind::IoUring, PathKind::Libaio, PathKind::Pread] {
        let folder = tempfile::tempdir().unwrap();
        let stripes = vec![folder.path().join("second"), folder.path().join("third")];
        let options = FilesOptions { stripes, path, page_bytes: 16384, ..options(folder.path()) };
        let made = open(&options, wanted()).unwrap();
        made.database.complete().unwrap();
        let mut session = made.database.session().unwrap();
        for row in 0..2000_u32 {
            session.begin().unwrap();
            session.put(0, &row.to_be_bytes(), &[row as u8; 1000]).unwrap();
            session.commit_soon().unwrap();
        }
        drop(session);
        made.database.close().unwrap();
        let again = open(&options, wanted()).unwrap();
        let (mut session, mut value) = (again.database.session().unwrap(), Vec::new());
        session.begin().unwrap();
        for row in 0..2000_u32 {
            assert!(session.get(0, &row.to_be_bytes(), &mut value).unwrap(), "{path:?}, row {row}");
            assert_eq!(value, [row as u8; 1000]);
        }
    }
}
