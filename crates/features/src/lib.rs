//! No code: which features of libraries all programs share stands in its `Cargo.toml`.
