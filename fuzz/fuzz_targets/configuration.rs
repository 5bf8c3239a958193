//! The configuration: a line `path=value` sets a field. What is refused says what is wrong, and what
//! is accepted can be printed.

#![no_main]

use evenkeel_service::config::{Config, ConfigSources, Override};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let flags = text.lines().filter_map(|line| line.split_once('='));
    let flags = flags.map(|(path, value)| Override {
        flag: "--set".to_owned(),
        path: path.to_owned(),
        value: value.to_owned(),
    });
    let sources = ConfigSources {
        flags: flags.collect(),
        ..ConfigSources::default()
    };
    match Config::load(&sources) {
        Ok(config) => {
            serde_json::to_string(config.effective()).expect("a configuration prints");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
