//! The files of a new project, one folder for each language.
//!
//! A file of a template may have these placeholders:
//! - `{{identifier}}`: the identifier of the connector
//! - `{{title}}`: its title
//! - `{{description}}`: a string of TOML with the title
//! - `{{version}}`: the version of the gateway and its SDK
//! - `{{auth}}`: the text for the chosen way to authenticate
//! - `{{operation}}` and `{{input}}`: an operation of the project, and a body for it
//!
//! A text of several lines gets the indentation of the line with the placeholder.

use clap::ValueEnum;
use openapi_table::{Auth, Converted};
use toml::Value;

use crate::language::Language;

/// How users authenticate at the service of a new connector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum AuthKind {
    /// Users need no account.
    #[default]
    None,
    /// Users bring a key.
    ApiKey,
    /// Users grant access by OAuth 2.0.
    Oauth2,
}

impl AuthKind {
    pub(super) fn table_auth(self) -> Auth {
        match self {
            Self::None => Auth::None,
            Self::ApiKey => Auth::ApiKey,
            Self::Oauth2 => Auth::Oauth2,
        }
    }
}

/// A file of a project: its path in the folder, and its content.
pub(super) type File = (&'static str, String);

/// The files of a language.
pub(super) struct Template {
    files: &'static [(&'static str, &'static str)],
    /// The text of `{{auth}}`, in the order of [`AuthKind`].
    auth: [&'static str; 3],
    /// The SDK, if the language has one.
    pub(super) sdk: Option<Sdk>,
    /// The parts for a table from an OpenAPI document. `None` if the command makes no such table in
    /// this language.
    pub(super) openapi: Option<OpenapiTemplate>,
    /// The operation of the template, and a body for it.
    operation: (&'static str, &'static str),
}

/// The SDK of a language.
pub(super) struct Sdk {
    /// The file in its folder that has its name.
    pub(super) manifest: &'static str,
    /// The line of the file with its name, without blanks.
    pub(super) name: &'static str,
    /// Its folder in the source of the gateway.
    pub(super) folder: &'static str,
    /// The text in a project that stands for the published SDK, and the one for an SDK in the
    /// folder `{{sdk}}`. Empty for Rust, whose manifest depends on the workspace as well.
    published: &'static str,
    in_folder: &'static str,
    /// A file that a project needs if the SDK is in a folder.
    setting: Option<(&'static str, &'static str)>,
}

/// The files for a table from an OpenAPI document.
#[derive(Clone, Copy)]
pub(super) struct OpenapiTemplate {
    /// The file that has the table, if the table comes from an OpenAPI document. It also has the
    /// placeholders `{{table}}` and `{{test}}`.
    table: (&'static str, &'static str),
    /// The text of `{{test}}`, if the request of `{{operation}}` is known. It also has the
    /// placeholder `{{path}}`, the path of the request.
    test: &'static str,
}

/// A recording of the operation that every template has.
const RECORDING: (&str, &str) = ("recordings/define.json", include_str!("templates/recording.json"));

const RUST: Template = Template {
    files: &[
        ("Cargo.toml", include_str!("templates/rust/Cargo.toml")),
        ("src/lib.rs", include_str!("templates/rust/src/lib.rs")),
        RECORDING,
        ("README.md", include_str!("templates/rust/README.md")),
        (".gitignore", include_str!("templates/rust/gitignore")),
    ],
    auth: [
        include_str!("templates/rust/auth/none.rs"),
        include_str!("templates/rust/auth/api-key.rs"),
        include_str!("templates/rust/auth/oauth2.rs"),
    ],
    sdk: Some(Sdk {
        manifest: "Cargo.toml",
        name: r#"name="connector-gateway-sdk""#,
        folder: "connectors/sdk",
        published: "",
        in_folder: "",
        setting: None,
    }),
    openapi: Some(OpenapiTemplate {
        table: ("src/lib.rs", include_str!("templates/rust/openapi/lib.rs")),
        test: include_str!("templates/rust/openapi/test.rs"),
    }),
    operation: ("define", r#"{"word": "hello"}"#),
};

const JAVASCRIPT: Template = Template {
    files: &[
        ("package.json", include_str!("templates/javascript/package.json")),
        ("connector.js", include_str!("templates/javascript/connector.js")),
        ("connector.test.js", include_str!("templates/javascript/connector.test.js")),
        RECORDING,
        ("README.md", include_str!("templates/javascript/README.md")),
        (".gitignore", include_str!("templates/javascript/gitignore")),
    ],
    auth: [
        include_str!("templates/javascript/auth/none.js"),
        include_str!("templates/javascript/auth/api-key.js"),
        include_str!("templates/javascript/auth/oauth2.js"),
    ],
    sdk: Some(Sdk {
        manifest: "package.json",
        name: r#""name":"@connector-gateway/sdk","#,
        folder: "connectors/sdk-js",
        published: r#""@connector-gateway/sdk": "{{version}}""#,
        in_folder: r#""@connector-gateway/sdk": "file:{{sdk}}""#,
        setting: Some((".npmrc", include_str!("templates/javascript/npmrc"))),
    }),
    openapi: None,
    operation: ("define", r#"{"word": "hello"}"#),
};

const PYTHON: Template = Template {
    files: &[
        ("requirements.txt", include_str!("templates/python/requirements.txt")),
        ("connector.py", include_str!("templates/python/connector.py")),
        ("test_connector.py", include_str!("templates/python/test_connector.py")),
        RECORDING,
        ("README.md", include_str!("templates/python/README.md")),
        (".gitignore", include_str!("templates/python/gitignore")),
    ],
    auth: [
        include_str!("templates/python/auth/none.py"),
        include_str!("templates/python/auth/api-key.py"),
        include_str!("templates/python/auth/oauth2.py"),
    ],
    sdk: Some(Sdk {
        manifest: "pyproject.toml",
        name: r#"name="connector-gateway-sdk""#,
        folder: "connectors/sdk-python",
        published: "connector-gateway-sdk=={{version}}",
        in_folder: "{{sdk}}",
        setting: None,
    }),
    openapi: None,
    operation: ("define", r#"{"word": "hello"}"#),
};

const NONE: Template = Template {
    files: &[
        (connector_file::FILE, include_str!("templates/none/connector.toml")),
        RECORDING,
        ("README.md", include_str!("templates/none/README.md")),
        (".gitignore", include_str!("templates/none/gitignore")),
    ],
    auth: [
        include_str!("templates/none/auth/none.toml"),
        include_str!("templates/none/auth/api-key.toml"),
        include_str!("templates/none/auth/oauth2.toml"),
    ],
    sdk: None,
    openapi: None,
    operation: ("define", r#"{"word": "hello"}"#),
};

impl Template {
    pub(super) fn for_language(language: Language) -> &'static Self {
        match language {
            Language::Rust => &RUST,
            Language::Javascript => &JAVASCRIPT,
            Language::Python => &PYTHON,
            Language::None => &NONE,
        }
    }

    /// The files of a project that begins with the example of the template.
    pub(super) fn files(&self, identifier: &str, title: &str, auth: AuthKind, sdk: Option<&str>) -> Vec<File> {
        let [none, api_key, oauth2] = self.auth;
        let auth = match auth {
            AuthKind::None => none,
            AuthKind::ApiKey => api_key,
            AuthKind::Oauth2 => oauth2,
        };
        let (operation, input) = self.operation;
        // The text for the authentication has placeholders itself.
        let description = description(title);
        let values = [
            ("auth", auth.trim_end()),
            ("title", title),
            ("description", &description),
            ("operation", operation),
            ("input", input),
        ];
        self.filled(identifier, &values, sdk)
    }

    /// The files of a project whose table comes from an OpenAPI document.
    pub(super) fn files_with_table(
        &self,
        openapi: OpenapiTemplate,
        identifier: &str,
        converted: &Converted,
    ) -> Vec<File> {
        let description = description(&converted.title);
        let (operation, input, path) = match &converted.call {
            Some(call) => (call.operation.as_str(), call.input.as_str(), call.path.as_str()),
            None => (converted.first.as_str(), "{}", ""),
        };
        let test = if converted.call.is_some() { openapi.test.trim_end() } else { "" };
        let values = [
            ("test", test),
            ("table", converted.table.trim_end()),
            ("title", &converted.title),
            ("description", &description),
            ("operation", operation),
            ("input", input),
            ("path", path),
        ];
        let mut files = self.filled(identifier, &values, None);
        files.retain(|(name, _)| *name != RECORDING.0);
        let (name, text) = openapi.table;
        if let Some((_, content)) = files.iter_mut().find(|(known, _)| *known == name) {
            *content = fill(text, identifier, &values).trim_end().to_owned() + "\n";
        }
        files
    }

    fn filled(&self, identifier: &str, values: &[(&str, &str)], sdk: Option<&str>) -> Vec<File> {
        let (published, in_folder, setting) = match &self.sdk {
            Some(sdk) => (sdk.published, sdk.in_folder, sdk.setting),
            None => ("", "", None),
        };
        let file = |(name, text): &(&'static str, &str)| match sdk.filter(|_| !published.is_empty()) {
            Some(sdk) => {
                let text = replace(&text.replace(published, in_folder), "sdk", sdk);
                (*name, fill(&text, identifier, values))
            }
            None => (*name, fill(text, identifier, values)),
        };
        self.files.iter().chain(setting.iter().filter(|_| sdk.is_some())).map(file).collect()
    }
}

/// Replaces the placeholders of a text, each wherever it is.
fn fill(text: &str, identifier: &str, values: &[(&str, &str)]) -> String {
    let common = [("identifier", identifier), ("version", env!("CARGO_PKG_VERSION"))];
    values.iter().chain(&common).fold(text.to_owned(), |text, (name, value)| replace(&text, name, value))
}

/// Replaces one placeholder.
pub(super) fn replace(text: &str, name: &str, value: &str) -> String {
    let placeholder = format!("{{{{{name}}}}}");
    let lines = text.lines().map(|line| {
        let indentation: String = line.chars().take_while(|character| *character == ' ').collect();
        let value = value.replace('\n', &format!("\n{indentation}"));
        // A line without text has no blanks at its end.
        line.replace(&placeholder, &value).replace(&format!("\n{indentation}\n"), "\n\n") + "\n"
    });
    lines.collect()
}

/// The description in the manifest of a crate, as a string of TOML.
fn description(title: &str) -> String {
    Value::from(format!("{title}, as a connector of the Connector Gateway")).to_string()
}

/// `my_service` as a title: `My Service`.
pub(super) fn title(identifier: &str) -> String {
    let words = identifier.split('_').filter(|word| !word.is_empty()).map(|word| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    });
    words.collect::<Vec<_>>().join(" ")
}
