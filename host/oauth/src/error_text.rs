//! Makes a provider's error text safe to show: short, on one line, without secrets.

use std::sync::Arc;

use bytes::Bytes;
use secrecy::SecretString;

use contract_rules::text::is_hidden;
use egress::Masker;

/// Longest error code. Those in use have fewer than 40 characters.
const CODE_CHARACTERS: usize = 80;

/// Longest description: some sentences.
const DESCRIPTION_CHARACTERS: usize = 300;

/// Removes the secrets of one call from the provider's texts about this call.
pub(super) struct ErrorText {
    secrets: Vec<SecretString>,
}

impl ErrorText {
    /// `secrets` are all secrets that the call sends.
    pub(super) fn without(secrets: &[&SecretString]) -> Self {
        Self { secrets: secrets.iter().map(|secret| (*secret).clone()).collect() }
    }

    pub(super) fn code(&self, text: &str) -> String {
        self.clean(text, CODE_CHARACTERS)
    }

    pub(super) fn description(&self, text: &str) -> String {
        self.clean(text, DESCRIPTION_CHARACTERS)
    }

    /// Masks before it cuts, because the beginning of a secret would not be recognised.
    fn clean(&self, text: &str, max_characters: usize) -> String {
        let line: String = text.chars().map(|character| if is_hidden(character) { ' ' } else { character }).collect();
        // The masker is built here because most calls succeed and do not need it.
        let masked = Arc::new(Masker::new(&self.secrets)).mask(Bytes::from(line));
        String::from_utf8_lossy(&masked).trim().chars().take(max_characters).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::ErrorText;

    #[test]
    fn a_remark_is_one_short_line_without_secrets() {
        let secret = "a-secret/with+signs".into();
        let error_text = ErrorText::without(&[&secret]);
        assert_eq!(error_text.code(" bad\r\n\u{1b}[31mthing\0 "), "bad   [31mthing");
        assert_eq!(error_text.description("got a-secret%2Fwith%2Bsigns!"), format!("got {}!", "*".repeat(23)));
        assert_eq!(error_text.description(&"ü".repeat(5000)), "ü".repeat(300));
        let at_the_cut = format!("{}a-secret/with+signs", "x".repeat(290));
        assert_eq!(error_text.description(&at_the_cut), format!("{}{}", "x".repeat(290), "*".repeat(10)));
    }
}
