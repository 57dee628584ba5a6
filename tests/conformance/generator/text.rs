//! Strings: by pattern, by format, and free ones with characters that have a meaning in URLs, in
//! JSON and in OData.

use proptest::string::string_regex;
use serde_json::Value;

use super::Generator;

/// Begins every free text. A text of dots only would be a relative path.
const FIRST: &str = "[A-Za-z0-9]";

/// The further characters of a free text. The second one has characters that must be encoded in
/// paths and queries.
const FURTHER: [&str; 2] = ["[A-Za-z0-9_.-]", "[A-Za-z0-9 ./?#%&=+:;,@'\"\\\\<>{}\\[\\]~$!()*äß€日😀-]"];

/// Length of a free text if the schema demands no other.
const LENGTH: usize = 12;

impl Generator {
    /// A text that a schema accepts.
    pub(super) fn text(&mut self, schema: &Value) -> String {
        let pattern = schema["pattern"].as_str();
        if let Some(pattern) = schema["format"].as_str().map(of_format).or_else(|| pattern.and_then(of_dates)) {
            return self.of_pattern(pattern);
        }
        if let Some(pattern) = pattern {
            return self.of_pattern_within(pattern, schema);
        }
        // An empty text means different things to different operations, so it is left to their own
        // tests.
        let rest = self.size(schema, "Length", LENGTH).max(1) - 1;
        let further = FURTHER[self.below(FURTHER.len())];
        self.of_pattern(&format!("{FIRST}{further}{{{rest}}}"))
    }

    /// A text of a pattern that has a length within the schema's bounds.
    fn of_pattern_within(&mut self, pattern: &str, schema: &Value) -> String {
        let bound = |name: &str| schema[name].as_u64().and_then(|size| usize::try_from(size).ok());
        let lengths = bound("minLength").unwrap_or(0)..=bound("maxLength").unwrap_or(usize::MAX);
        (0..100)
            .map(|_| self.of_pattern(pattern))
            .find(|text| lengths.contains(&text.chars().count()))
            .unwrap_or_else(|| panic!("no text of {schema} was found"))
    }

    /// A text that a regular expression matches as a whole.
    fn of_pattern(&mut self, pattern: &str) -> String {
        let inner = pattern.strip_prefix('^').unwrap_or(pattern);
        let inner = inner.strip_suffix('$').unwrap_or(inner);
        let strategy = string_regex(inner).unwrap_or_else(|error| panic!("no texts of {pattern}: {error}"));
        (0..1000)
            .map(|_| self.draw(&strategy))
            .find(|text| is_plain(text))
            .unwrap_or_else(|| panic!("no text of {pattern} was found"))
    }
}

/// Returns `false` for a text that every connector refuses in a path: one with control characters,
/// or with segments of dots. White space around a text is left out, because some services do not
/// keep it.
fn is_plain(text: &str) -> bool {
    let has_dots =
        || text.split(['/', '\\', '?', '#']).any(|segment| !segment.is_empty() && segment.trim_matches('.').is_empty());
    !text.chars().any(char::is_control) && text.trim() == text && !has_dots()
}

/// A regular expression of texts of a format.
fn of_format(format: &str) -> &'static str {
    match format {
        "date-time" => "20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z",
        "date" => "20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])",
        "uri" => "https://[a-z]{1,8}\\.example/[a-z0-9]{0,8}",
        "email" => "[a-z]{1,8}@[a-z]{1,8}\\.example",
        "binary" => "[a-z]{0,20}",
        "base64url" | "byte" => "([A-Za-z0-9_-]{4}){0,5}",
        "duration" => "PT[1-9][0-9]?M",
        "time" => "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\\.0000000",
        "hostname" => "[a-z]{1,8}\\.example",
        "ipv4" => "192\\.0\\.2\\.[1-9]",
        "ipv6" => "2001:db8::[1-9a-f]",
        "password" => "[A-Za-z0-9]{8,12}",
        "uuid" => "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}",
        other => panic!("what does a text of the format `{other}` look like? Say it here"),
    }
}

/// A regular expression of real dates, for a pattern that accepts others too.
fn of_dates(pattern: &str) -> Option<&'static str> {
    let rest = pattern.strip_prefix("^[0-9]{4}-[0-9]{2}-[0-9]{2}")?;
    Some(of_format(if rest.starts_with('T') { "date-time" } else { "date" }))
}
