//! Why nothing is mounted.

use std::path::PathBuf;

use thiserror::Error;

/// What was seen.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MountError {
    /// The kernel did not do it.
    #[error("{action} {path} failed: {source}", path = path.display())]
    Io {
        /// What was being done ("mounting", "opening").
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// Its answer.
        source: std::io::Error,
    },
    /// The job is none.
    #[error("{0}")]
    Job(String),
    /// What is to be played is no drive.
    #[error(transparent)]
    Twin(#[from] assay_libtwin::Error),
    /// Not this user's folder, or not safe.
    #[error(transparent)]
    Own(#[from] assay_own::OwnError),
    /// The folder is another user's.
    #[error("{path} belongs to another user (number {uid})", path = path.display())]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// Whose it is.
        uid: u32,
    },
    /// This machine is too slow for that drive.
    #[error(
        "the drive reads 4 KiB in {drive_us:.1} \u{b5}s, and the way through FUSE alone takes {floor_us:.1} \u{b5}s \
         here: it cannot be played in time (--slow {slow})"
    )]
    TooFast {
        /// The drive's read of 4 KiB when idle.
        drive_us: f64,
        /// The way there and back when this machine is idle.
        floor_us: f64,
        /// How many times as slowly its time was to pass.
        slow: f64,
    },
    /// What was asked is not there.
    #[error("nothing that Assay mounted is known at {path}", path = path.display())]
    Unknown {
        /// Where.
        path: PathBuf,
    },
}

impl MountError {
    /// What to do.
    pub fn fix(&self) -> String {
        match self {
            Self::Io { action: "mounting", source, .. } if source.raw_os_error() != Some(libc::EBUSY) => {
                "load the module fuse (/dev/fuse), and be root or install fuse3 (fusermount3)".to_owned()
            }
            Self::Io { path, .. } => format!("look at {} and at dmesg, then run it again", path.display()),
            Self::Job(_) => "see docs/mount.md".to_owned(),
            Self::Own(error) => error.fix(),
            Self::Twin(error) => error.fix(),
            Self::Foreign { .. } => "name a folder of your own".to_owned(),
            Self::TooFast { drive_us, floor_us, .. } => {
                let slow = (2.0 * floor_us / drive_us).ceil();
                format!(
                    "--slow {slow:.0} (mount:slow={slow:.0}:twin:NAME as a target) plays it with stretched time; or name a \
                     slower drive"
                )
            }
            Self::Unknown { .. } => "name the folder that was mounted".to_owned(),
        }
    }

    /// As all programs of Assay end.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Job(_) | Self::Twin(_) | Self::Own(_) | Self::Foreign { .. } | Self::Unknown { .. } => 2,
            Self::Io { action: "mounting", .. } | Self::TooFast { .. } => 4,
            Self::Io { .. } => 1,
        }
    }
}
