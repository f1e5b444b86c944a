//! What targets are, what they hold and who uses them, one program: each of them takes seconds to build.

mod facts;
mod guard;
mod pmem;
mod prepare;
mod stamp;
mod support;
