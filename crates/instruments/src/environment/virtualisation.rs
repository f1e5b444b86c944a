//! Whether this is a machine, a virtual machine or a container: figures of the two last carry their neighbours' noise.

use std::fs;

use super::read_line;
use crate::counters::Roots;

/// `none`, or what virtualises, outermost first (`kvm`, `kvm, docker`).
pub(super) fn describe(roots: &Roots) -> String {
    let layers: Vec<String> = [hypervisor(roots), container(roots)].into_iter().flatten().collect();
    if layers.is_empty() { "none".to_owned() } else { layers.join(", ") }
}

/// The hypervisor: by firmware where it has a name there, by the CPU otherwise.
fn hypervisor(roots: &Roots) -> Option<String> {
    let info = fs::read_to_string(roots.proc.join("cpuinfo")).unwrap_or_default();
    let flagged = info
        .lines()
        .any(|line| line.starts_with("flags") && line.split_ascii_whitespace().any(|flag| flag == "hypervisor"));
    let firmware = |file: &str| read_line(&roots.sys.join("class/dmi/id").join(file));
    let named = by_firmware(&firmware("sys_vendor"), &firmware("product_name"));
    let xen = read_line(&roots.sys.join("hypervisor/type"));
    if !xen.is_empty() {
        return Some(xen);
    }
    if flagged {
        return Some(by_cpu().or(named).unwrap_or("hypervisor").to_owned());
    }
    named.map(str::to_owned)
}

/// What firmware calls itself under some hypervisors.
fn by_firmware(vendor: &str, product: &str) -> Option<&'static str> {
    const NAMES: [(&str, &str); 9] = [
        ("QEMU", "qemu"),
        ("KVM", "kvm"),
        ("VMware", "vmware"),
        ("VirtualBox", "virtualbox"),
        ("innotek", "virtualbox"),
        ("Xen", "xen"),
        ("Bochs", "qemu"),
        ("Parallels", "parallels"),
        ("BHYVE", "bhyve"),
    ];
    // Metal instances of clouds carry the cloud's name as vendor, too: only a virtual product counts.
    if vendor == "Microsoft Corporation" && product.starts_with("Virtual Machine") {
        return Some("hyper-v");
    }
    if vendor == "Google" && product == "Google Compute Engine" {
        return Some("kvm");
    }
    NAMES.iter().find(|(mark, _)| vendor.contains(mark) || product.contains(mark)).map(|&(_, name)| name)
}

/// What the CPU says about its hypervisor.
#[cfg(target_arch = "x86_64")]
fn by_cpu() -> Option<&'static str> {
    // The leaf exists where the hypervisor flag is set, which the caller has seen. Newer compilers call
    // the function safe, the oldest that we support does not.
    #[allow(unused_unsafe)]
    // SAFETY: every x86-64 CPU has the instruction.
    let leaf = unsafe { core::arch::x86_64::__cpuid(0x4000_0000) };
    let mut signature = Vec::with_capacity(12);
    for register in [leaf.ebx, leaf.ecx, leaf.edx] {
        signature.extend_from_slice(&register.to_le_bytes());
    }
    match signature.as_slice() {
        b"KVMKVMKVM\0\0\0" => Some("kvm"),
        b"Microsoft Hv" => Some("hyper-v"),
        b"VMwareVMware" => Some("vmware"),
        b"XenVMMXenVMM" => Some("xen"),
        b"TCGTCGTCGTCG" => Some("qemu"),
        b"bhyve bhyve " => Some("bhyve"),
        _ => None,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn by_cpu() -> Option<&'static str> {
    None
}

/// The container engine, by the marks that it leaves.
fn container(roots: &Roots) -> Option<String> {
    if roots.root.join(".dockerenv").exists() {
        return Some("docker".to_owned());
    }
    if roots.root.join("run/.containerenv").exists() {
        return Some("podman".to_owned());
    }
    let groups = fs::read_to_string(roots.proc.join("1/cgroup")).unwrap_or_default();
    let environ = fs::read(roots.proc.join("1/environ")).unwrap_or_default();
    by_cgroup(&groups).map(str::to_owned).or_else(|| by_environ(&environ))
}

fn by_cgroup(groups: &str) -> Option<&'static str> {
    ["kubepods", "docker", "lxc", "containerd"].into_iter().find(|mark| groups.contains(mark))
}

/// The variable `container` that systemd-nspawn, LXC and podman set for the first process.
fn by_environ(environ: &[u8]) -> Option<String> {
    let value = environ.split(|&byte| byte == 0).find_map(|entry| entry.strip_prefix(b"container="))?;
    Some(String::from_utf8_lossy(value).into_owned()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Roots) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = folder.path();
        for (file, text) in files {
            fs::create_dir_all(at.join(file).parent().expect("a parent")).expect("made");
            fs::write(at.join(file), text).expect("written");
        }
        let roots = Roots { proc: at.join("proc"), sys: at.join("sys"), root: at.to_owned() };
        (folder, roots)
    }

    #[test]
    fn bare_metal_is_none() {
        let (_folder, roots) = machine(&[
            ("proc/cpuinfo", "flags : fpu sse2\n"),
            ("proc/1/cgroup", "0::/init.scope\n"),
            ("sys/class/dmi/id/sys_vendor", "Dell Inc.\n"),
            ("sys/class/dmi/id/product_name", "PowerEdge R650\n"),
        ]);
        assert_eq!(describe(&roots), "none");
    }

    #[test]
    fn firmware_names_the_hypervisor_where_the_cpu_does_not() {
        let (_folder, roots) = machine(&[("sys/class/dmi/id/sys_vendor", "QEMU\n")]);
        assert_eq!(describe(&roots), "qemu");
        assert_eq!(by_firmware("Microsoft Corporation", "Virtual Machine"), Some("hyper-v"));
        assert_eq!(by_firmware("Microsoft Corporation", "Surface"), None);
        assert_eq!(by_firmware("Amazon EC2", "i3.metal"), None);
    }

    #[test]
    fn containers_are_known_by_their_marks() {
        let (_folder, roots) = machine(&[(".dockerenv", "")]);
        assert_eq!(describe(&roots), "docker");
        let (_folder, roots) = machine(&[("proc/1/cgroup", "0::/kubepods/besteffort/pod1\n")]);
        assert_eq!(describe(&roots), "kubepods");
        assert_eq!(by_environ(b"PATH=/bin\0container=lxc\0").as_deref(), Some("lxc"));
        assert_eq!(by_environ(b"container=\0"), None);
    }
}
