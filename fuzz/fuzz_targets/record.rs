//! Any bytes are an event line or are refused; an event that was read is written and read again as it was.

#![no_main]

use assay_record::Event;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(event) = serde_json::from_slice::<Event>(bytes) else { return };
    let written = serde_json::to_string(&event).expect("an event is plain data");
    assert!(!written.contains('\n'), "an event is one line");
    let again: Event = serde_json::from_str(&written).expect("what was written can be read");
    assert_eq!(event, again);
});
