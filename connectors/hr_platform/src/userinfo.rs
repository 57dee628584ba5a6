//! The connected user. HR systems describe a user in different forms; the answer has one form.

use connector_sdk::http::Error;
use connector_sdk::json::Kind;
use connector_sdk::{Document, Fault, Outcome, Request, http};
use serde::Serialize;

use crate::settings;

#[derive(Serialize)]
struct Answer {
    data: User,
    meta: (),
}

#[derive(Serialize)]
struct User {
    id: String,
    email: Option<String>,
    username: Option<String>,
    employee: Option<Employee>,
    roles: Vec<Role>,
}

#[derive(Serialize)]
struct Employee {
    id: String,
    name: String,
}

#[derive(Serialize)]
struct Role {
    id: String,
    name: String,
    active: bool,
}

pub(crate) fn of_user() -> Result<Outcome, Fault> {
    let request = match settings::userinfo_path()? {
        Some(path) => Request::get("api", path),
        None => Request::get("userinfo", ""),
    };
    let answer = http::send(request)?.successful()?.document()?;
    let user = unwrapped(answer);
    let Some(id) = text(&user, "/id") else {
        return Err(Error::BadAnswer("the HR system's response has no `id` of a user".to_owned()).into());
    };
    Outcome::json(&Answer {
        data: User {
            id,
            email: text(&user, "/email"),
            username: first_text(&user, &["/username", "/userName", "/login"]),
            employee: user.pointer("/employee").and_then(|employee| self::employee(&employee)),
            roles: roles(&user),
        },
        meta: (),
    })
}

/// Some HR systems answer with the user, others with `{data, meta}`.
fn unwrapped(answer: Document) -> Document {
    let inner = answer.pointer("/data").filter(|data| data.kind() == Kind::Object);
    match inner {
        Some(data) if answer.pointer("/id").is_none() => data,
        _ => answer,
    }
}

fn employee(employee: &Document) -> Option<Employee> {
    let id = text(employee, "/id")?;
    let name = text(employee, "/name").unwrap_or_else(|| {
        let first = first_text(employee, &["/first_name", "/firstName"]);
        let last = first_text(employee, &["/last_name", "/lastName"]);
        first.into_iter().chain(last).collect::<Vec<_>>().join(" ")
    });
    Some(Employee { id, name })
}

fn roles(user: &Document) -> Vec<Role> {
    match user.pointer("/roles").filter(|roles| roles.kind() == Kind::Array) {
        Some(roles) => roles.items().filter_map(|role| self::role(&role)).collect(),
        None => {
            let given = ["/role", "/userRole"].into_iter().filter_map(|pointer| user.pointer(pointer));
            given.filter_map(|role| self::role(&role)).take(1).collect()
        }
    }
}

/// A role is an object, or only its name. It is active unless `active` is false.
fn role(role: &Document) -> Option<Role> {
    let (id, name) = match role.kind() {
        Kind::Object => (text(role, "/id"), text(role, "/name")),
        _ => (text(role, ""), None),
    };
    let id = id.or_else(|| name.clone())?;
    let active = role.pointer("/active").is_none_or(|active| active.text() != "false");
    Some(Role { name: name.unwrap_or_else(|| id.clone()), id, active })
}

fn first_text(document: &Document, pointers: &[&str]) -> Option<String> {
    pointers.iter().find_map(|pointer| text(document, pointer))
}

/// A string that is not empty, or a number as text. `None` for any other value.
fn text(document: &Document, pointer: &str) -> Option<String> {
    let value = document.pointer(pointer)?;
    match value.kind() {
        Kind::String => value.as_string().filter(|text| !text.is_empty()),
        Kind::Number => Some(value.text()),
        _ => None,
    }
}
