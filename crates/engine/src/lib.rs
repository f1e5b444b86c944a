//! The storage engine: transactions, log and recovery on the B+-tree and the buffer manager.
