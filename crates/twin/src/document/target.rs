//! Devices and what is composed of them.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Host, Twin};
use crate::{Device, TwinError};

/// How a stripe lays out data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StripeKind {
    /// Chunks round robin.
    Raid0,
    /// Chunks round robin with one parity chunk per row.
    Raid5,
    /// Mirrored pairs, striped.
    Raid10,
    /// The program sends page i to member i mod n: no layer between it and the drives.
    Interleave,
}

/// Which pages a cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CachePolicy {
    /// Every line has one place (Memory Mode).
    DirectMapped,
    /// The least recently used goes (a page cache).
    Lru,
}

/// The page of a program that interleaves over drives by itself.
const PROGRAM_PAGE_BYTES: u64 = 16 << 10;

/// What serves a load: a device, or a composition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Target {
    /// A drive or volume, or interleaved modules of memory.
    Device {
        /// One of them.
        twin: Box<Twin>,
        /// Interleaved modules; 1 for all but memory.
        #[serde(default = "one")]
        modules: u32,
    },
    /// Several equal members.
    Stripe {
        /// One of them.
        member: Box<Target>,
        /// How many.
        count: u32,
        /// Bytes that lie together on a member.
        chunk_bytes: u64,
        /// Layout.
        layout: StripeKind,
        /// Members that have failed and were not replaced yet; at most one, of an array that survives it.
        #[serde(default, skip_serializing_if = "is_zero")]
        missing: u32,
    },
    /// A cache in front of something.
    Cache {
        /// What holds the cached bytes.
        front: Box<Target>,
        /// What lies behind.
        back: Box<Target>,
        /// Bytes of the cache.
        bytes: u64,
        /// Which pages it holds.
        policy: CachePolicy,
    },
    /// Memory as a block device: the kernel's driver copies each request before the call that hands it over returns, so that
    /// paths and the page cache are those of a drive.
    Block {
        /// Modules of memory.
        memory: Box<Target>,
    },
}

fn one() -> u32 {
    1
}

// Serde wants a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Target {
    /// One device.
    pub fn device(twin: Twin) -> Self {
        Self::Device { twin: Box::new(twin), modules: 1 }
    }

    /// So many of it: modules of memory, interleaved by the CPU, else members with pages interleaved by the program.
    #[must_use]
    pub fn times(&self, count: u32) -> Self {
        match self {
            Self::Device { twin, modules } if twin.device.is_memory() => {
                Self::Device { twin: twin.clone(), modules: modules.saturating_mul(count) }
            }
            Self::Block { memory } => Self::Block { memory: Box::new(memory.times(count)) },
            other => Self::Stripe {
                member: Box::new(other.clone()),
                count,
                chunk_bytes: PROGRAM_PAGE_BYTES,
                layout: StripeKind::Interleave,
                missing: 0,
            },
        }
    }

    /// It in the host's memory channels: modules of DRAM beyond one a channel share it, so that they hold more and give no
    /// more. As it is where nobody knows the channels.
    #[must_use]
    pub fn seated(&self, host: &Host) -> Cow<'_, Self> {
        let channels = host.memory_channels.as_ref().map_or(u32::MAX, |channels| channels.value as u32);
        match self {
            Self::Device { twin, modules } if is_dram(&twin.device) && *modules > channels => {
                let mut filled = twin.clone();
                filled.capacity_bytes.value *= f64::from(*modules) / f64::from(channels);
                Cow::Owned(Self::Device { twin: filled, modules: channels })
            }
            Self::Cache { front, back, bytes, policy } => match (front.seated(host), back.seated(host)) {
                (Cow::Borrowed(_), Cow::Borrowed(_)) => Cow::Borrowed(self),
                (front, back) => Cow::Owned(Self::Cache {
                    front: Box::new(front.into_owned()),
                    back: Box::new(back.into_owned()),
                    bytes: *bytes,
                    policy: *policy,
                }),
            },
            Self::Block { memory } => match memory.seated(host) {
                Cow::Borrowed(_) => Cow::Borrowed(self),
                Cow::Owned(memory) => Cow::Owned(Self::Block { memory: Box::new(memory) }),
            },
            _ => Cow::Borrowed(self),
        }
    }

    /// Loads and stores reach the data.
    pub fn is_memory(&self) -> bool {
        !self.is_inline() && self.twin().device.is_memory()
    }

    /// The CPU that hands a request over moves its bytes itself, behind a block device: nothing of it goes on meanwhile.
    pub fn is_inline(&self) -> bool {
        matches!(self, Self::Block { .. })
    }

    /// Bytes that a user can store.
    pub fn capacity_bytes(&self) -> f64 {
        match self {
            Self::Device { twin, modules } => twin.capacity_bytes.value * f64::from(*modules),
            Self::Stripe { member, count, layout, .. } => {
                let count = f64::from(*count);
                member.capacity_bytes()
                    * match layout {
                        StripeKind::Raid0 | StripeKind::Interleave => count,
                        StripeKind::Raid5 => count - 1.0,
                        StripeKind::Raid10 => count / 2.0,
                    }
            }
            Self::Cache { back, .. } => back.capacity_bytes(),
            Self::Block { memory } => memory.capacity_bytes(),
        }
    }

    /// The device that holds the data: of a stripe a member, of a cache what lies behind.
    pub fn twin(&self) -> &Twin {
        match self {
            Self::Device { twin, .. } => twin,
            Self::Stripe { member, .. } => member.twin(),
            Self::Cache { back, .. } => back.twin(),
            Self::Block { memory } => memory.twin(),
        }
    }

    /// Devices that hold the data.
    pub fn devices(&self) -> u32 {
        match self {
            Self::Device { modules, .. } => *modules,
            Self::Stripe { member, count, .. } => member.devices() * count,
            Self::Cache { back, .. } => back.devices(),
            Self::Block { memory } => memory.devices(),
        }
    }

    /// Checks what the types cannot say.
    ///
    /// # Errors
    /// [`TwinError`] that names the first thing found wrong.
    pub fn validate(&self) -> Result<(), TwinError> {
        match self {
            Self::Device { twin, modules } => validate_device(twin, *modules),
            Self::Stripe { member, count, chunk_bytes, layout, missing } => {
                let least = match layout {
                    StripeKind::Raid0 | StripeKind::Interleave => 1,
                    StripeKind::Raid5 => 3,
                    StripeKind::Raid10 => 2,
                };
                let even = *layout != StripeKind::Raid10 || count % 2 == 0;
                if !(least..=64).contains(count) || !even {
                    let fix = format!("use {least} to 64 members (an even number for raid10)");
                    return Err(TwinError::field("count", count, fix));
                }
                if !(512..=1 << 30).contains(chunk_bytes) {
                    return Err(TwinError::field("chunk_bytes", chunk_bytes, "use 512 bytes to 1 GiB"));
                }
                validate_missing(*layout, *missing)?;
                validate_alone(member)?;
                member.validate()
            }
            Self::Cache { front, back, bytes, .. } => {
                if *bytes == 0 {
                    return Err(TwinError::field("bytes", bytes, "give the cache a size"));
                }
                validate_alone(back)?;
                front.validate()?;
                back.validate()
            }
            Self::Block { memory } => {
                if !matches!(&**memory, Self::Device { twin, .. } if twin.device.is_memory()) {
                    return Err(TwinError::field("memory", &memory.twin().name, "use modules of memory"));
                }
                memory.validate()
            }
        }
    }
}

/// It lies in the channels of the host's processor, and several modules of it may share one.
fn is_dram(device: &Device) -> bool {
    matches!(device, Device::Dram(_) | Device::Nvdimm(_))
}

/// Memory as a block device is a target of its own.
fn validate_alone(part: &Target) -> Result<(), TwinError> {
    if part.is_inline() {
        let fix = "use the block device alone; modules of memory interleave by themselves";
        return Err(TwinError::field("kind", "block", fix));
    }
    Ok(())
}

/// What an array is without a member: of RAID 0 nothing is left, and nobody rebuilds with two missing.
fn validate_missing(layout: StripeKind, missing: u32) -> Result<(), TwinError> {
    let survives = matches!(layout, StripeKind::Raid5 | StripeKind::Raid10);
    if missing == 0 || missing == 1 && survives {
        return Ok(());
    }
    let fix = if survives { "leave out one member at most" } else { "only raid5 and raid10 go on without a member" };
    Err(TwinError::field("missing", missing, fix))
}

fn validate_device(twin: &Twin, modules: u32) -> Result<(), TwinError> {
    let most = if twin.device.is_memory() { 64 } else { 1 };
    if !(1..=most).contains(&modules) {
        return Err(TwinError::field(
            "modules",
            modules,
            "use 1 to 64 modules of memory; of drives make a stripe instead",
        ));
    }
    Ok(twin.validate()?)
}
