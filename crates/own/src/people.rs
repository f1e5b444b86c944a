//! Users and groups of the machine, by number and name.

use std::{ffi::CStr, mem::MaybeUninit, ptr};

/// The user that this process acts as.
pub(crate) fn me() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// A user as people know one.
pub(crate) fn name_of(uid: u32) -> String {
    user(uid).map_or_else(|| format!("user {uid}"), |(name, _)| format!("{name} (user {uid})"))
}

/// Whether a group is this user's alone: it has the user's name and number, and nobody else is in it.
pub(crate) fn is_private(gid: u32) -> bool {
    let Some((name, own)) = user(me()) else { return false };
    let Some((group, members)) = group(gid) else { return false };
    own == gid && group == name && members.iter().all(|member| *member == name)
}

/// Name and first group of a user.
fn user(uid: u32) -> Option<(String, u32)> {
    let mut room = vec![0u8; 16 << 10];
    let mut entry = MaybeUninit::<libc::passwd>::uninit();
    let mut found = ptr::null_mut();
    // SAFETY: `room` outlives the call and what is read of the entry below; its length is the one given.
    let done =
        unsafe { libc::getpwuid_r(uid, entry.as_mut_ptr(), room.as_mut_ptr().cast(), room.len(), &raw mut found) };
    if done != 0 || found.is_null() {
        return None;
    }
    // SAFETY: the call succeeded, so the entry is filled and its name ends with a zero inside of `room`.
    unsafe { Some((text((*found).pw_name), (*found).pw_gid)) }
}

/// Name and members of a group.
fn group(gid: u32) -> Option<(String, Vec<String>)> {
    let mut room = vec![0u8; 64 << 10];
    let mut entry = MaybeUninit::<libc::group>::uninit();
    let mut found = ptr::null_mut();
    // SAFETY: as for a user.
    let done =
        unsafe { libc::getgrgid_r(gid, entry.as_mut_ptr(), room.as_mut_ptr().cast(), room.len(), &raw mut found) };
    if done != 0 || found.is_null() {
        return None;
    }
    let mut members = Vec::new();
    // SAFETY: the call succeeded: name and members lie inside of `room`, and the list of members ends with a null.
    unsafe {
        let mut next = (*found).gr_mem;
        while !next.is_null() && !(*next).is_null() {
            members.push(text(*next));
            next = next.add(1);
        }
        Some((text((*found).gr_name), members))
    }
}

/// # Safety
/// `from` points at bytes that end with a zero.
unsafe fn text(from: *const libc::c_char) -> String {
    // SAFETY: what the caller promises.
    unsafe { CStr::from_ptr(from) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_has_a_name_and_a_number_without_user_is_a_number() {
        assert_eq!(name_of(0), "root (user 0)");
        assert_eq!(name_of(4_000_000_123), "user 4000000123");
    }

    #[test]
    fn a_group_of_nobody_is_not_private() {
        assert!(!is_private(4_000_000_123));
    }
}
