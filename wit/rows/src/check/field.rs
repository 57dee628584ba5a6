//! The rules of one field.

use contract_rules::{Broken, header, text};
use serde_json::Value;

use super::parameters::same_place;
use super::{Connector, ensure, types};
use crate::declaration::Declaration;
use crate::reader;
use crate::row::{BodyEncoding, Field, Lists, Location};
use crate::template::{self, Part};

/// Objects around a member of a body.
const BODY_DEPTH: usize = 16;

/// The rules of one field. `earlier` are the fields before it.
pub(super) fn check(
    declaration: &Declaration,
    field: &Field,
    earlier: &[Field],
    connector: &Connector<'_>,
) -> Result<(), Broken> {
    let member = connector.input.get("properties").and_then(|members| members.get(field.name.as_ref()));
    let Some(schema) = member else { return Err("the schema of the input has no such member".into()) };
    ensure(earlier.iter().all(|known| known.name != field.name), "it is declared twice")?;
    check_sent_default(field, schema)?;
    check_location(declaration, field, schema)?;
    ensure(
        !field.nullable || (matches!(field.location, Location::Body(_)) && !field.required),
        "`nullable` is for an optional member of the body",
    )?;
    match earlier.iter().find(|known| is_same_place(&known.location, &field.location)) {
        Some(known) => Err(same_place(known)),
        None => Ok(()),
    }
}

/// The value that is sent for an absent field fits the schema, which callers read. Bounds and patterns are not checked.
fn check_sent_default(field: &Field, schema: &Value) -> Result<(), Broken> {
    let Some(default) = &field.default else { return Ok(()) };
    ensure(reader::is_value(default), "its default is JSON text, without blanks around it")?;
    let Ok(default) = serde_json::from_str::<Value>(default) else { return Ok(()) };
    ensure(field.nullable || !default.is_null(), "its default is null, which is for a field with `nullable`")?;
    let is_one = |values: &Vec<Value>| values.contains(&default);
    let fits = default.is_null()
        || (types(schema).next().is_none() || types(schema).any(|name| is_of(name, &default)))
            && schema.get("enum").and_then(Value::as_array).is_none_or(is_one);
    ensure(fits, "the schema of the field does not accept its default")
}

/// Returns `true` if a value is of a type of JSON Schema.
fn is_of(name: &str, value: &Value) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(number) => {
            name == "number" || name == "integer" && number.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}

/// The part of the request fits the field's type, and has a name that it can have.
fn check_location(declaration: &Declaration, field: &Field, schema: &Value) -> Result<(), Broken> {
    if matches!(field.location, Location::Path(_) | Location::Query(_) | Location::Header(_)) {
        ensure(
            !is_object(schema),
            "an object is not a part of a path, a parameter or a header; `entries` make one of each of its members",
        )?;
    }
    match &field.location {
        Location::Path(_) => {
            let template = declaration.path.split('?').next().unwrap_or_default();
            let names = template::parts(template).unwrap_or_default();
            ensure(names.contains(&Part::Name(&field.name)), "the path does not name it")?;
            ensure(
                field.required || field.default.is_some(),
                "the path needs it, so that it is required or has a default that is sent",
            )?;
            ensure(
                !is_list(schema) || matches!(field.lists, Lists::Joined(_)),
                "a list in a path is joined: one text has all items",
            )
        }
        Location::Query(name) => {
            ensure(!name.is_empty(), "the name of a parameter is not empty")?;
            // People read it in what the row sends.
            text::line(name)
        }
        Location::Header(name) => {
            header::name(name)?;
            ensure(!is_list(schema), "a list is not a header; declare a string that has all items")
        }
        Location::Body(steps) => {
            let is_named = !steps.is_empty() && steps.iter().all(|step| !step.is_empty());
            ensure(is_named, "a name in a body is not empty: dots lead into inner objects, as in `color.text`")?;
            steps.iter().try_for_each(|step| text::line(step))?;
            ensure(steps.len() <= BODY_DEPTH, "a member of a body is inside of at most 16 objects")
        }
        Location::File(name) => {
            ensure(
                declaration.encoding == BodyEncoding::Multipart,
                "a file is in a body of `multipart/form-data`, of which the row says `multipart`",
            )?;
            ensure(!name.is_empty(), "the name of a part is not empty")?;
            text::line(name)
        }
        Location::QueryEntries => ensure(types(schema).eq(["object"]), "an object has the names of parameters"),
        Location::HeaderEntries => {
            ensure(types(schema).eq(["object"]), "an object has the names of headers")?;
            let entries = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
            for (name, _) in entries {
                header::name(name).map_err(|broken| format!("header `{}`: {broken}", name.escape_debug()))?;
            }
            Ok(())
        }
        Location::WholeBody => Ok(()),
    }
}

/// Returns `true` if two fields have the same place in a request, or one is inside of the other. Parameters
/// are compared by their names, which entries have too.
fn is_same_place(one: &Location, other: &Location) -> bool {
    match (one, other) {
        (Location::File(one), Location::File(other)) => one == other,
        (Location::Header(one), Location::Header(other)) => one.eq_ignore_ascii_case(other),
        (Location::Body(one), Location::Body(other)) => one.starts_with(other) || other.starts_with(one),
        (Location::File(file), Location::Body(member)) | (Location::Body(member), Location::File(file)) => {
            member.first() == Some(file)
        }
        _ => false,
    }
}

/// Returns `true` if a schema accepts lists.
fn is_list(schema: &Value) -> bool {
    types(schema).any(|name| name == "array")
}

/// Returns `true` if the values of a schema are objects, or lists of objects.
fn is_object(schema: &Value) -> bool {
    let mut types = types(schema);
    match (types.next(), types.next()) {
        (Some("object"), None) => true,
        (Some("array"), None) => schema.get("items").is_some_and(is_object),
        _ => false,
    }
}
