//! The form of the credentials that an account brings, for applications and for people.

use serde_json::{Value, json};

use super::identifier::{IDENTIFIER_PATTERN, MAX_IDENTIFIER_CHARACTERS};

/// Longest accepted text: longer than any key in use, and short enough for a header.
pub(super) const MAX_CHARACTERS: usize = 4096;

/// Longest private key in PEM: more than a key of 4096 bits has.
const MAX_KEY_CHARACTERS: usize = 16 << 10;

/// The members of `credentials`.
pub struct CredentialsForm {
    /// The names of those that must be there.
    pub(super) required: Vec<&'static str>,
    /// The JSON Schema of each.
    pub(super) properties: Value,
    pub(super) description: String,
    /// The value of `dependentRequired`, for members that are there together or not at all.
    pub(super) dependent: Option<Value>,
    /// Those that a page shows to people. The others are for applications.
    pub(super) shown: Vec<(&'static str, FieldKind)>,
}

/// A member that people fill in.
pub struct CredentialField {
    /// The name of the member.
    pub name: &'static str,
    /// The kind of its value.
    pub kind: FieldKind,
    /// `true` if it must be there.
    pub is_required: bool,
}

/// The kinds of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A text that is shown.
    Text,
    /// A secret that is hidden.
    Secret,
    /// The text of a JSON file.
    File,
}

impl CredentialsForm {
    /// The JSON Schema of `credentials`.
    pub fn schema(self) -> Value {
        let Self { required, properties, description, dependent, .. } = self;
        let mut schema = json!({
            "type": "object", "additionalProperties": false, "required": required, "properties": properties,
            "description": description,
        });
        if let Some(dependent) = dependent {
            schema["dependentRequired"] = dependent;
        }
        schema
    }

    /// The members that a page shows, in this order.
    pub fn fields(&self) -> impl Iterator<Item = CredentialField> {
        let field = |&(name, kind)| CredentialField { name, kind, is_required: self.required.contains(&name) };
        self.shown.iter().map(field)
    }
}

/// The JSON Schema of a text that names the account, so that it has the form of an identifier.
pub(super) fn name(description: &str) -> Value {
    json!({
        "type": "string", "minLength": 1, "maxLength": MAX_IDENTIFIER_CHARACTERS, "pattern": IDENTIFIER_PATTERN,
        "description": description,
    })
}

/// The JSON Schema of a text that is no secret.
pub(super) fn text(description: &str) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": MAX_CHARACTERS, "description": description})
}

/// The JSON Schema of a secret with at least so many characters.
pub(super) fn secret(shortest: usize, description: &str) -> Value {
    json!({
        "type": "string", "minLength": shortest, "maxLength": MAX_CHARACTERS, "writeOnly": true,
        "description": description,
    })
}

/// The JSON Schema of a private key.
pub(super) fn private_key(description: &str) -> Value {
    json!({
        "type": "string", "minLength": 1, "maxLength": MAX_KEY_CHARACTERS, "writeOnly": true,
        "description": description,
    })
}

/// The JSON Schema of the scopes that an account brings.
pub(super) fn scopes() -> Value {
    json!({
        "type": "array", "maxItems": 256, "items": {"type": "string", "minLength": 1, "maxLength": MAX_CHARACTERS},
        "description": "The scopes to request, in place of the connector's.",
    })
}

/// The description of credentials of a kind.
pub(super) fn kept_sealed(about: &str) -> String {
    format!("{about} The gateway stores it sealed, gets access tokens with it, and never shows it again.")
}
