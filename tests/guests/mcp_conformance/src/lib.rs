//! The tools that the conformance suite of the Model Context Protocol calls, as far as operations
//! can be these tools. The suite prescribes their names. The service of the test has the answers.

use connector_sdk::connector;

connector! {
    /// The tools of the conformance suite.
    connector mcp_conformance "Conformance of MCP";

    auth Auth::None;

    upstream api "https://service.invalid";

    /// A text
    test_simple_text: GET api "/text" {}
    answers file;

    /// An image
    test_image_content: GET api "/image" {}
    answers file;

    /// A call that fails
    test_error_handling: GET api "/error" {}
    example {};
}
