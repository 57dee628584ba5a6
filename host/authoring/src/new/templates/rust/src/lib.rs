//! A new connector. Replace the service, its URL and its operation with yours.

connector_sdk::connector! {
    /// Meanings of English words.
    connector {{identifier}} "{{title}}";
    {{auth}}

    /// The meanings of an English word.
    define: GET api "/entries/en/{word}" example { word: "hello" };
}

#[cfg(test)]
mod tests {
    use connector_sdk::testing::{forwarded, replay};

    use super::CONNECTOR;

    #[test]
    fn the_path_contains_the_word() {
        assert_eq!(forwarded(&CONNECTOR, "define", r#"{"word": "hello"}"#).path, "/entries/en/hello");
    }

    #[test]
    fn a_word_is_defined_as_recorded() {
        replay(&CONNECTOR, "recordings/define.json");
    }
}
