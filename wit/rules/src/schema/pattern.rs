//! The regular expression of a field.

use crate::Broken;

/// Checks that a text is a regular expression.
///
/// # Errors
/// That it is none, with the reason.
pub fn check_pattern(pattern: &str) -> Result<(), Broken> {
    let Err(error) = regex_syntax::Parser::new().parse(pattern) else { return Ok(()) };
    let reason = match &error {
        regex_syntax::Error::Parse(error) => error.kind().to_string(),
        regex_syntax::Error::Translate(error) => error.kind().to_string(),
        other => other.to_string(),
    };
    Err(format!("the pattern is not a regular expression: {reason}").into())
}

#[cfg(test)]
mod tests {
    use super::check_pattern;

    #[test]
    fn a_pattern_is_a_regular_expression() {
        assert_eq!(check_pattern("^[a-z]+$"), Ok(()));
        for (pattern, reason) in [("(", "unclosed group"), ("\\p{None}", "Unicode property not found")] {
            let broken = check_pattern(pattern).expect_err(pattern);
            assert_eq!(broken.rule(), format!("the pattern is not a regular expression: {reason}"));
        }
    }
}
