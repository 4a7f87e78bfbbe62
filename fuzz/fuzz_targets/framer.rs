#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| proctor_process::fuzzing::check_framer(data));
