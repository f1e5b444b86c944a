//! Block families and arrays: what must hold whatever the parameters, and where both engines must agree.

mod agree;
mod invariants;
mod laws;
mod library;
mod model;
mod sweep;
mod together;
mod transient;
