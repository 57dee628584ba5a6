//! What a provider says about an error, made safe to show: short, on one line, without secrets.

use std::sync::Arc;

use bytes::Bytes;
use secrecy::SecretString;

use egress::Masker;

/// Of an error's code. Those in use have fewer than 40.
const CODE_CHARACTERS: usize = 80;

/// Of a description: some sentences.
const DESCRIPTION_CHARACTERS: usize = 300;

/// Takes the secrets of one call out of what is said about it.
pub(super) struct Remarks {
    secrets: Vec<SecretString>,
}

impl Remarks {
    /// `secrets` is all that was sent, or is known, and must not be shown.
    pub(super) fn without(secrets: &[&SecretString]) -> Self {
        Self { secrets: secrets.iter().map(|secret| (*secret).clone()).collect() }
    }

    pub(super) fn code(&self, text: &str) -> String {
        self.tidy(text, CODE_CHARACTERS)
    }

    pub(super) fn description(&self, text: &str) -> String {
        self.tidy(text, DESCRIPTION_CHARACTERS)
    }

    /// Masked before it is cut, since the beginning of a secret would not be recognised.
    fn tidy(&self, text: &str, most: usize) -> String {
        let line: String = text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
        // Made only here, since as a rule nothing goes wrong.
        let masked = Arc::new(Masker::new(&self.secrets)).mask(Bytes::from(line));
        String::from_utf8_lossy(&masked).trim().chars().take(most).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Remarks;

    #[test]
    fn a_remark_is_one_short_line_without_secrets() {
        let secret = "a-secret/with+signs".into();
        let remarks = Remarks::without(&[&secret]);
        assert_eq!(remarks.code(" bad\r\n\u{1b}[31mthing\0 "), "bad   [31mthing");
        assert_eq!(remarks.description("got a-secret%2Fwith%2Bsigns!"), format!("got {}!", "*".repeat(23)));
        assert_eq!(remarks.description(&"ü".repeat(5000)), "ü".repeat(300));
        let at_the_cut = format!("{}a-secret/with+signs", "x".repeat(290));
        assert_eq!(remarks.description(&at_the_cut), format!("{}{}", "x".repeat(290), "*".repeat(10)));
    }
}
