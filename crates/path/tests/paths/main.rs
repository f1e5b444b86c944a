//! What the paths do, one program: each of them takes seconds to build.

mod calls;
mod data;
mod depth;
mod faults;
#[path = "../ground/mod.rs"]
mod ground;
mod msync;
mod probe;
