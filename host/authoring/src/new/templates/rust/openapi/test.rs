#[cfg(test)]
mod tests {
    use connector_sdk::testing::forwarded;

    use super::CONNECTOR;

    #[test]
    fn {{operation}}_sends_its_request() {
        assert_eq!(forwarded(&CONNECTOR, "{{operation}}", r##"{{input}}"##).path, "{{path}}");
    }
}
