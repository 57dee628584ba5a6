//! A user's new password. No answer, log line or error shows it.

use connector_sdk::http::{self, Error, Method};
use connector_sdk::json::Kind;
use connector_sdk::{Fault, Outcome, Request, UpstreamFault};
use serde::Serialize;
use serde_json::Value;

use crate::ResetUserPassword;

/// The members of the user in the answer.
const ANSWERED: [&str; 5] = ["id", "primaryEmail", "changePasswordAtNextLogin", "suspended", "isAdmin"];

/// Replaces the password in Google's error.
const MASK: &str = "***";

/// The only members of the user that change.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Change<'a> {
    password: &'a str,
    change_password_at_next_login: bool,
}

/// Sets the password, and returns the members [`ANSWERED`] of the user.
///
/// # Errors
/// [`Fault::InvalidInput`] if the password has other characters than ASCII, or if Google refuses
/// it. Google's other errors keep their status.
pub(crate) fn reset(input: ResetUserPassword) -> Result<Outcome, Fault> {
    let ResetUserPassword { user_key, password, change_password_at_next_login } = input;
    if !password.is_ascii() {
        return Err(refused("Give a password of ASCII characters: Google accepts no others."));
    }
    let change = serde_json::to_string(&Change { password: &password, change_password_at_next_login })
        .map_err(|error| Fault::Failed(error.to_string()))?;
    let request = Request::new(Method::Patch, "api", "/users").segment("user_key", &user_key)?.json(change);
    let response = match http::send(request)?.successful() {
        Ok(response) => response,
        Err(Fault::Upstream(fault)) => return Err(explained(fault, &user_key, &password)),
        Err(other) => return Err(other),
    };
    let user = response.document()?;
    if user.kind() != Kind::Object {
        return Err(Error::BadAnswer("Google's response to users.patch is not a user".to_owned()).into());
    }
    let members = ANSWERED.map(|name| {
        let value = user.pointer(&format!("/{name}")).map_or_else(|| "null".to_owned(), |value| value.text());
        format!("\"{name}\":{value}")
    });
    Ok(Outcome::Reply(format!("{{{}}}", members.join(","))))
}

/// Google's refusal with the password masked, and with a detail that says what to do.
fn explained(fault: UpstreamFault, user_key: &str, password: &str) -> Fault {
    let mut body: Option<Value> = fault.body.as_deref().and_then(|body| serde_json::from_str(body).ok());
    // Read before the mask, which hides this word if it is the password itself.
    let names_password = message(body.as_ref()).to_lowercase().contains("password");
    if let Some(body) = &mut body {
        mask(body, password);
    }
    let message = message(body.as_ref());
    let detail = match fault.status {
        412 if message.is_empty() => return refused("Google refused the password. Give another one."),
        412 => return refused(message),
        400 if names_password => return refused(message),
        403 => {
            "Google does not allow the connected account to reset this password. Connect the account of an administrator whose \
             role is not below the user's."
                .to_owned()
        }
        404 => format!("Google found no user `{user_key}`. Check the address or id."),
        _ => fault.detail,
    };
    Fault::Upstream(UpstreamFault { detail, body: body.map(|body| body.to_string()), ..fault })
}

/// The message of Google's error. Empty if there is none.
fn message(body: Option<&Value>) -> &str {
    body.and_then(|body| body.pointer("/error/message")?.as_str()).unwrap_or_default()
}

fn refused(detail: &str) -> Fault {
    Fault::invalid_input("/password", detail)
}

/// Masks the password in every text of a JSON value.
fn mask(value: &mut Value, password: &str) {
    match value {
        Value::String(text) => *text = text.replace(password, MASK),
        Value::Array(items) => items.iter_mut().for_each(|item| mask(item, password)),
        Value::Object(members) => members.values_mut().for_each(|member| mask(member, password)),
        _ => {}
    }
}
