//! The documents: twins, compositions, hosts. Those of single devices are [`assay_libtwin::document`]'s; these types are the
//! only definition of the others.

mod driven;
mod host;
mod target;

pub use assay_libtwin::document::*;
pub use driven::Driven;
pub use host::{FileSystemCost, GrowthCost, Host, PathCost, PathKey};
pub use target::{CachePolicy, StripeKind, Target};
