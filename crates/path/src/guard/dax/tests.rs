use std::{fs, os::unix::fs::symlink};

use super::{
    super::tests::support::{Machine, refusal, told},
    *,
};

const NULL: &str = "/dev/null";
/// Where a made-up machine has the device; the standard number of /dev/null is 1:3.
const AT: &str = "devices/region0/dax0.1";

/// A machine on which /dev/null is a device-DAX node of 2 MiB.
fn machine() -> Machine {
    let machine = Machine::new();
    machine.file(&format!("sys/{AT}/size"), "2097152\n");
    let sys = machine.system().sys;
    for folder in ["dev/char", "bus/dax", "bus/other"] {
        fs::create_dir_all(sys.join(folder)).unwrap();
    }
    symlink(sys.join(AT), sys.join("dev/char/1:3")).unwrap();
    symlink(sys.join("bus/dax"), sys.join(AT).join("subsystem")).unwrap();
    machine
}

fn resolved(machine: &Machine) -> Result<DaxNode, PathError> {
    DaxNode::resolve(&machine.system(), Path::new(NULL))
}

fn no_node<T>(answer: Result<T, PathError>) {
    let (reason, fix) = refusal(answer);
    assert_eq!(reason, "it is no device-DAX node");
    assert_eq!(fix, "name a node such as /dev/dax0.0 (ndctl list --devices)");
}

#[test]
fn a_node_is_traced_to_its_folder_in_sysfs() {
    let found = resolved(&machine()).unwrap();
    assert_eq!((found.path.as_path(), found.bytes), (Path::new(NULL), 2_097_152));
    assert_eq!(found.number, DeviceNumber::new(1, 3));
    assert_eq!(found.identity(), "dax0.1");
}

#[test]
fn what_is_no_device_dax_node_is_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    no_node(DaxNode::resolve(&machine().system(), file.path()));
    no_node(DaxNode::resolve(&machine().system(), Path::new("/dev/zero")));
    let missing = DaxNode::resolve(&machine().system(), Path::new("/nowhere/dax0.0")).unwrap_err();
    assert!(matches!(missing, PathError::Io { action: "resolving", .. }), "{missing}");
    for size in ["", "much"] {
        let made = machine();
        made.file(&format!("sys/{AT}/size"), size);
        no_node(resolved(&made));
    }
    let made = machine();
    let subsystem = made.system().sys.join(AT).join("subsystem");
    fs::remove_file(&subsystem).unwrap();
    no_node(resolved(&made));
    symlink(made.system().sys.join("bus/other"), &subsystem).unwrap();
    no_node(resolved(&made));
}

#[test]
fn it_is_confirmed_by_the_uuid_that_is_nearest_to_it() {
    let made = machine();
    let identity = || resolved(&made).unwrap().identity();
    made.file("sys/devices/uuid", "of-all\n");
    assert_eq!(identity(), "of-all", "two folders above");
    made.file("sys/devices/region0/uuid", "of-the-region\n");
    assert_eq!(identity(), "of-the-region");
    made.file(&format!("sys/{AT}/uuid"), " \n");
    assert_eq!(identity(), "of-the-region", "a blank one says nothing");
    made.file(&format!("sys/{AT}/uuid"), "of-it\n");
    assert_eq!(identity(), "of-it");
}

fn held_node(path: &Path) -> DaxNode {
    DaxNode { path: path.to_owned(), bytes: 1, number: DeviceNumber(0), folder: PathBuf::new() }
}

#[test]
fn it_is_held_by_one_run_at_a_time() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let node = held_node(file.path());
    let hold = node.hold().unwrap();
    let (reason, fix) = refusal(node.hold());
    assert_eq!((reason.as_str(), fix.as_str()), ("another run uses it", "wait until that run has ended"));
    drop(hold);
    node.hold().unwrap();
    let missing = held_node(Path::new("/nowhere/dax0.0")).hold().unwrap_err();
    assert!(matches!(missing, PathError::Io { action: "opening", .. }), "{missing}");
}

#[test]
fn other_processes_that_map_it_are_uses() {
    let made = machine();
    let line = |name: &str| format!("7f0000000000-7f0000200000 rw-s 00000000 00:05 4 {name}\n");
    // Numbers that no process has.
    made.file("proc/9000041/maps", &line("/dev/another"));
    made.file("proc/9000042/maps", &(line("/dev/another") + &line(NULL)));
    made.file(&format!("proc/{}/maps", std::process::id()), &line(NULL));
    for name in ["self", "thread-self", "4a", "a4"] {
        made.file(&format!("proc/{name}/maps"), &line(NULL));
    }
    fs::create_dir(made.system().proc.join("9000043")).unwrap();
    let found = resolved(&made).unwrap().uses(&made.system());
    assert_eq!(told(&found), [("process 9000042 has it mapped", "end that process")]);
}

#[test]
fn a_mapping_by_another_node_of_the_device_is_seen() {
    let process = tempfile::tempdir().unwrap();
    let (null, number) = (Path::new(NULL), DeviceNumber(Path::new(NULL).metadata().unwrap().rdev()));
    fs::create_dir(process.path().join("map_files")).unwrap();
    let mapped = process.path().join("map_files/7f0000000000-7f0000200000");
    symlink(null, &mapped).unwrap();
    let table = |access: &str, name: &str| {
        let line = format!("7f0000000000-7f0000200000 {access} 00000000 00:05 4 {name}\n");
        fs::write(process.path().join("maps"), line).unwrap();
    };
    let dax = Path::new("/dev/dax0.0");
    table("r--s", "/tmp/another");
    assert!(maps(process.path(), dax, number), "by its number");
    assert!(!maps(process.path(), dax, DeviceNumber(number.0 + 1)), "another device");
    table("r--p", "/tmp/another");
    assert!(!maps(process.path(), dax, number), "device-DAX is mapped for sharing alone");
    table("r--s", "/dev/dax0.0");
    assert!(maps(process.path(), dax, DeviceNumber(number.0 + 1)), "by its name");
    table("r--s", "/tmp/a file");
    fs::remove_file(&mapped).unwrap();
    fs::write(&mapped, "").unwrap();
    assert!(!maps(process.path(), dax, DeviceNumber(0)), "files have the number 0, and are no devices");
}
