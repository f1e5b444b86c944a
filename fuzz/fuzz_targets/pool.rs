//! Any bytes are a pool or are refused with a sentence, and a pool whose tables are any bytes is used without harm.

#![no_main]

use assay_pmem::{Header, Medium, Offset, Pool, crash::Recorder};
use libfuzzer_sys::fuzz_target;

const BYTES: usize = 1 << 18;

fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = Header::parse(bytes) {
        assert!(error.to_string().len() > 10, "a refusal is a sentence: {error}");
    }
    let medium = Recorder::new(BYTES);
    let header = Header { bytes: BYTES as u64, lanes: 2, layout: "fuzz-1".to_owned() };
    let header = header.encode().expect("the name is printable");
    medium.write(0, &header);
    // What follows the header is whatever came in: incarnation, roots, logs, heads, bitmaps.
    medium.write(8192, &bytes[..bytes.len().min(BYTES - 8192)]);
    let Ok(pool) = Pool::open(medium, "fuzz-1") else { return };
    let Ok(blocks) = pool.allocated() else { return };
    for block in blocks {
        let mut transaction = pool.begin();
        if transaction.free_now(Offset::<u64>::new(block.at)).is_ok() {
            transaction.commit();
        }
    }
    let mut transaction = pool.begin();
    if transaction.alloc::<u64>(100).is_ok() {
        transaction.commit();
    }
});
