//! Fuzzes the configuration file. Reading it must never panic. A refusal must name a line of the
//! file, and must not contain a secret.

#![no_main]

use connector_gateway::fuzzing::{Config, ConfigError};
use libfuzzer_sys::fuzz_target;

/// A value of the client secret. Inputs contain it where they like.
const SECRET: &str = "hunter2-hunter2";

fuzz_target!(|text: &str| {
    // The gateway reads the named file. A fuzz target must not.
    if text.contains("client_secret_file") {
        return;
    }
    match Config::of_text(text) {
        Ok(_) => {}
        Err(ConfigError::Invalid { problems }) => {
            assert!(!problems.is_empty(), "refused without a reason");
            let lines = text.lines().count().max(1);
            let message = ConfigError::Invalid { problems }.to_string();
            let named = message.split("gateway.toml:").skip(1).filter_map(|rest| rest.split(':').next()?.parse().ok());
            named.for_each(|line: usize| assert!((1..=lines).contains(&line), "line {line} of {lines}: {message}"));
            // The message may name a key, so the secret must be a value.
            if let Some((before, after)) = text.split_once(SECRET)
                && before.ends_with("client_secret = \"")
                && after.starts_with('"')
                && !after.contains(SECRET)
            {
                assert!(!message.contains(SECRET), "{message}");
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
