//! The documents: twins, compositions, hosts. These types are their only definition.

mod block;
mod curve;
mod driven;
mod host;
mod memory;
mod parameter;
mod target;
mod twin;
mod under_load;

pub use block::{Bucket, CloudInstance, CloudVolume, Disk, FlushModel, GarbageCollection, Nand, OptaneSsd, SlcCache};
pub use curve::Curve;
pub use driven::Driven;
pub use host::{FileSystemCost, GrowthCost, Host, PathCost, PathKey};
pub use memory::{
    Chains, Collapse, Cxl, Dram, LatencyStep, MemoryOperation, MemoryOperations, Nvdimm, Pmem, Stall, TailRatios,
};
pub use parameter::{OrElse, Parameter, ParameterKind};
pub use target::{CachePolicy, StripeKind, Target};
pub use twin::{Band, Bounds, Device, Twin};
pub use under_load::{Beside, LoadRow, UnderLoad};
