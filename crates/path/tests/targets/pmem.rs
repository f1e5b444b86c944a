//! Load and store on files in memory, which stand in for persistent memory, and on memory itself.

use std::{
    fs::{self, File},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use crate::support::{Mounted, disk_folder, memory_folder};
use assay_path::{
    Arena, Blocking, OpenParameters, PathError, Pmem, Segment, SegmentKind,
    pmem::{Isa, Mapping, features},
};
use assay_record::{Advice, Durability, DurabilityKind, Layout, PathKind, PathSpec, Persist};
use proptest::prelude::*;

const BYTES: u64 = 3 << 20;
const ARENA: usize = 4 << 20;

struct Setting {
    spec: PathSpec,
    durability: Durability,
    writes: bool,
    layout: Layout,
    segments: Vec<Segment>,
    arena: Arena,
}

impl Setting {
    fn new(segments: Vec<Segment>) -> Self {
        let mut arena = Arena::new(ARENA).unwrap();
        arena.fill_random(7);
        let durability = Durability { kind: DurabilityKind::Persist, every: 1 };
        Self {
            spec: PathSpec::plain(PathKind::Pmem),
            durability,
            writes: true,
            layout: Layout::Written,
            segments,
            arena,
        }
    }

    fn parameters(&self) -> OpenParameters<'_> {
        OpenParameters {
            spec: &self.spec,
            durability: self.durability,
            segments: &self.segments,
            writes: self.writes,
            layout: self.layout,
            arena: &self.arena,
            depth: 1,
            batch: 1,
        }
    }

    fn open(&self) -> Result<Pmem, PathError> {
        Pmem::open(&self.parameters())
    }
}

fn segment(path: PathBuf, kind: SegmentKind, bytes: u64) -> Segment {
    Segment { path, kind, base: 0, bytes }
}

fn file(folder: &Path, name: &str, bytes: u64) -> Segment {
    let path = folder.join(name);
    File::create(&path).unwrap().set_len(bytes).unwrap();
    segment(path, SegmentKind::File, bytes)
}

fn persists() -> Vec<Persist> {
    let names = features();
    let mut all = vec![Persist::Auto, Persist::None];
    if cfg!(target_arch = "x86_64") {
        all.push(Persist::Nt);
    }
    all.extend(names.iter().any(|name| name == "clwb" || name == "dcpop").then_some(Persist::Clwb));
    all.extend(names.iter().any(|name| name == "clflushopt").then_some(Persist::Clflushopt));
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn what_is_written_is_read_by_every_kernel(
        operations in prop::collection::vec((0u64..BYTES, 1u32..70_000, 0usize..100_000), 1..20), every in 1u32..3,
    ) {
        let Some(folder) = memory_folder() else { return Ok(()) };
        for (persist, isa) in persists().into_iter().flat_map(|p| Isa::available().into_iter().map(move |i| (p, i))) {
            let mut setting = Setting::new(vec![file(folder.path(), "a", BYTES)]);
            setting.spec.persist = persist;
            setting.durability.every = every;
            setting.spec.fenced = every == 2;
            let mut model = fs::read(&setting.segments[0].path).unwrap();
            let mut path = Pmem::open_with(&setting.parameters(), isa).unwrap();
            prop_assert!(path.emulated());
            for &(offset, length, memory) in &operations {
                let length = length.min((BYTES - offset) as u32);
                path.write(0, offset, length, memory).unwrap();
                model[offset as usize..][..length as usize]
                    .copy_from_slice(&setting.arena.as_slice()[memory..][..length as usize]);
            }
            path.flush().unwrap();
            prop_assert!(fs::read(&setting.segments[0].path).unwrap() == model, "{:?} {:?}", persist, isa);
            for &(offset, length, memory) in &operations {
                let length = length.min((BYTES - offset) as u32);
                path.read(0, offset, length, memory + 1).unwrap();
                let seen = &setting.arena.as_slice()[memory + 1..][..length as usize];
                prop_assert!(seen == &model[offset as usize..][..length as usize], "{:?} {:?}", persist, isa);
            }
            prop_assert_eq!(path.system_calls(), 0);
        }
    }
}

#[test]
fn a_segment_begins_where_its_base_says() {
    let Some(folder) = memory_folder() else { return };
    let mut part = file(folder.path(), "a", 64 << 10);
    fs::write(&part.path, (0..64 << 10).map(|index: u32| (index / 256) as u8).collect::<Vec<_>>()).unwrap();
    (part.base, part.bytes) = (10 * 256, 4096);
    let setting = Setting::new(vec![part]);
    let mut path = setting.open().unwrap();
    path.read(0, 256, 256, 0).unwrap();
    assert!(setting.arena.as_slice()[..256].iter().all(|&byte| byte == 11));
}

#[test]
fn operations_outside_of_segment_or_memory_are_errors() {
    let Some(folder) = memory_folder() else { return };
    let setting = Setting::new(vec![file(folder.path(), "a", 8192)]);
    let mut path = setting.open().unwrap();
    assert!(path.read(0, 4096, 4096, 0).is_ok());
    assert!(path.read(0, 4097, 4096, 0).is_err());
    assert!(path.read(0, u64::MAX, 64, 0).is_err());
    assert!(path.read(1, 0, 64, 0).is_err());
    assert!(path.read(0, 0, 64, ARENA - 63).is_err());
    assert!(path.write(0, 8192, 1, 0).is_err());
    assert!(path.write(0, 0, 64, usize::MAX).is_err());
}

#[test]
fn a_path_that_only_reads_does_not_write() {
    let Some(folder) = memory_folder() else { return };
    let mut setting = Setting::new(vec![file(folder.path(), "a", 8192)]);
    setting.writes = false;
    let mut path = setting.open().unwrap();
    path.read(0, 0, 4096, 0).unwrap();
    assert!(path.write(0, 0, 64, 0).is_err());
}

#[test]
fn a_disk_file_is_refused_with_what_to_do() {
    let folder = disk_folder();
    let setting = Setting::new(vec![file(folder.path(), "a", 8192)]);
    let error = setting.open().unwrap_err();
    assert!(matches!(error, PathError::Unavailable { .. }), "{error}");
    assert!(error.to_string().contains("MAP_SYNC") && error.fix().contains("dax"), "{error}: {}", error.fix());
}

#[test]
fn options_of_other_paths_are_refused() {
    let Some(folder) = memory_folder() else { return };
    let spoil: [fn(&mut Setting); 4] = [
        |setting| setting.spec.direct = true,
        |setting| setting.spec.advice = Advice::Random,
        |setting| setting.durability.kind = DurabilityKind::Fdatasync,
        |setting| setting.spec.fixed = true,
    ];
    for spoil in spoil {
        let mut setting = Setting::new(vec![file(folder.path(), "a", 8192)]);
        spoil(&mut setting);
        assert!(matches!(setting.open(), Err(PathError::Unavailable { .. })));
    }
}

#[test]
fn memory_of_one_name_is_shared_and_gone_with_its_last_user() {
    let memory = || vec![segment("memory/test/a".into(), SegmentKind::Memory, 1 << 20)];
    let (first, second) = (Setting::new(memory()), Setting::new(memory()));
    let (mut writer, mut reader) = (first.open().unwrap(), second.open().unwrap());
    assert!(!writer.emulated());
    writer.write(0, 512, 4096, 100).unwrap();
    reader.read(0, 512, 4096, 50_000).unwrap();
    assert_eq!(second.arena.as_slice()[50_000..][..4096], first.arena.as_slice()[100..][..4096]);
    drop((writer, reader));
    let mut later = first.open().unwrap();
    later.read(0, 512, 4096, 0).unwrap();
    assert!(first.arena.as_slice()[..4096].iter().all(|&byte| byte == 0));
}

#[test]
fn huge_pages_change_no_byte() {
    let Some(folder) = memory_folder() else { return };
    let bytes = 8 << 20;
    let part = file(folder.path(), "a", bytes);
    let content: Vec<u8> = (0..bytes).map(|index| ((index * 31) >> 8) as u8).collect();
    fs::write(&part.path, &content).unwrap();
    let mut setting = Setting::new(vec![part]);
    setting.spec.advice = Advice::HugePage;
    let mut path = setting.open().unwrap();
    path.read(0, 5 << 20, 2 << 20, 0).unwrap();
    assert_eq!(setting.arena.as_slice()[..2 << 20], content[5 << 20..7 << 20]);
}

#[test]
fn a_growing_file_takes_space_as_it_is_written_and_begins_anew() {
    let Some(folder) = memory_folder() else { return };
    let path = folder.path().join("log");
    fs::write(&path, b"an old log").unwrap();
    let mut setting = Setting::new(vec![segment(path.clone(), SegmentKind::File, 1 << 20)]);
    setting.layout = Layout::Grow;
    let mut log = setting.open().unwrap();
    let allocated = || path.metadata().unwrap().blocks() * 512;
    assert_eq!(allocated(), 0);
    for record in 0..64 {
        log.write(0, record * 128, 128, 0).unwrap();
    }
    assert_eq!((allocated(), log.system_calls()), (8192, 2));
    log.restart(0).unwrap();
    assert_eq!((allocated(), log.system_calls()), (0, 3));
    log.write(0, 0, 4096, 0).unwrap();
    assert_eq!(fs::read(&path).unwrap()[..4096], setting.arena.as_slice()[..4096]);
}

#[test]
fn a_full_file_system_is_an_error_of_the_write_and_not_a_signal() {
    let folder = disk_folder();
    let options = ["-t", "tmpfs", "-o", "size=64k", "none"];
    let Some(mount) = Mounted::new(&options, &folder.path().join("small")) else { return };
    let mut setting = Setting::new(vec![segment(mount.0.join("log"), SegmentKind::File, 1 << 20)]);
    setting.layout = Layout::Grow;
    let mut log = setting.open().unwrap();
    let error = (0..256).find_map(|page| log.write(0, page * 4096, 4096, 0).err()).expect("more was written than fits");
    assert_eq!(error.raw_os_error(), Some(libc::ENOSPC));
    drop(log);
}

#[test]
fn a_file_that_is_cut_short_while_it_is_mapped_is_an_error_and_not_a_signal() {
    let Some(folder) = memory_folder() else { return };
    let setting = Setting::new(vec![file(folder.path(), "a", 1 << 20)]);
    let mut path = setting.open().unwrap();
    path.read(0, 512 << 10, 4096, 0).unwrap();
    File::options().write(true).open(&setting.segments[0].path).unwrap().set_len(4096).unwrap();
    let read = path.read(0, 512 << 10, 4096, 0).unwrap_err();
    assert_eq!(read.raw_os_error(), Some(libc::ENODATA));
    assert!(path.write(0, 0, 64, 0).is_err(), "the mapping no longer shows the file");
}

#[test]
fn a_file_that_became_shorter_is_refused_at_open() {
    let Some(folder) = memory_folder() else { return };
    let setting = Setting::new(vec![file(folder.path(), "a", 8192)]);
    File::options().write(true).open(&setting.segments[0].path).unwrap().set_len(4096).unwrap();
    assert!(setting.open().unwrap_err().to_string().contains("4096 bytes where 8192 are needed"));
}

#[test]
fn huge_page_file_systems_serve_as_well() {
    let folder = disk_folder();
    let Some(mount) = Mounted::new(&["-t", "hugetlbfs", "-o", "pagesize=2M", "none"], &folder.path().join("huge"))
    else {
        return;
    };
    let part = segment(mount.0.join("a"), SegmentKind::File, 2 << 20);
    File::create(&part.path).unwrap().set_len(2 << 20).unwrap();
    let setting = Setting::new(vec![part]);
    match setting.open() {
        Ok(mut path) => {
            assert!(path.emulated());
            path.write(0, 100, 5000, 3).unwrap();
            path.read(0, 100, 5000, 1 << 20).unwrap();
            assert_eq!(setting.arena.as_slice()[1 << 20..][..5000], setting.arena.as_slice()[3..5003]);
        }
        Err(error) => eprintln!("skipped: no huge pages are reserved ({error})"),
    }
}

#[test]
fn a_large_file_lies_where_its_pages_can_be_huge_and_its_holes_stay_holes() {
    const HUGE_PAGE: usize = 2 << 20;
    let Some(folder) = memory_folder() else { return };
    for base in [0, 4096] {
        let path = folder.path().join(format!("at-{base}"));
        let file = File::create(&path).unwrap();
        file.set_len(base + 8 * HUGE_PAGE as u64).unwrap();
        let mapping =
            Mapping::shared(&Segment { base, ..segment(path, SegmentKind::File, 8 * HUGE_PAGE as u64) }, true).unwrap();
        assert_eq!(mapping.start() as usize % HUGE_PAGE, base as usize, "{:?}", mapping.start());
        // SAFETY: inside the mapping, which nobody else has.
        let word = unsafe { mapping.start().add(2 * HUGE_PAGE + 5) };
        // SAFETY: as above.
        unsafe { word.write_volatile(7) };
        mapping.ask_for_huge_pages();
        // SAFETY: as above.
        assert_eq!(unsafe { word.read_volatile() }, 7);
        let there = file.metadata().unwrap().blocks() * 512;
        assert!(there >= 4096 && there <= HUGE_PAGE as u64, "{there} bytes are there, and one page was written");
    }
}

#[test]
fn the_features_name_what_the_kernels_use() {
    let names = features();
    assert!(!cfg!(target_arch = "x86_64") || names.contains(&"sse2".to_owned()), "{names:?}");
    assert_eq!(Isa::detect(), Isa::available()[0]);
}
