//! The B+-tree on the buffer manager.
