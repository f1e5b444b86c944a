//! The file of a twin. These types are its only definition.

mod block;
mod check;
mod curve;
mod like;
mod memory;
mod parameter;
mod read;
mod twin;
mod under_load;

pub use block::{Bucket, CloudInstance, CloudVolume, Disk, FlushModel, GarbageCollection, Nand, OptaneSsd, SlcCache};
pub use curve::Curve;
pub use like::{parse, parse_file};
pub use memory::{
    Chains, Collapse, Cxl, Dram, LatencyStep, MemoryOperation, MemoryOperations, Nvdimm, Pmem, Stall, TailRatios,
};
pub use parameter::{OrElse, Parameter, ParameterKind};
pub use read::read;
pub use twin::{Band, Bounds, Device, Joined, Twin};
pub use under_load::{Beside, LoadRow, UnderLoad};
