//! The documents: twins, compositions, hosts. These types are their only definition.

mod block;
mod driven;
mod host;
mod memory;
mod parameter;
mod target;
mod twin;

pub use block::{Bucket, CloudInstance, CloudVolume, Disk, FlushModel, GarbageCollection, Nand, OptaneSsd, SlcCache};
pub use driven::Driven;
pub use host::{FileSystemCost, Host, PathCost, PathKey};
pub use memory::{Collapse, Cxl, Dram, LatencyStep, Nvdimm, Pmem, PmemOperation, Stall};
pub use parameter::{OrElse, Parameter, ParameterKind};
pub use target::{CachePolicy, StripeKind, Target};
pub use twin::{Band, Bounds, Device, Twin};
