//! Any bytes are a job or are refused with a sentence; a job that was read is written and read again as it was.

#![no_main]

use assay_record::Job;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Job::parse(text) {
        Ok(job) => {
            let written = serde_json::to_string(&job).expect("a job is plain data");
            let again = Job::parse(&written).expect("what was valid stays valid");
            assert_eq!(job, again);
        }
        Err(error) => assert!(error.to_string().len() > 10, "a refusal is a sentence: {error}"),
    }
});
