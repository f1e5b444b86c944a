//! The buffer manager: pages, latches, replacement, asynchronous I/O over any path.
