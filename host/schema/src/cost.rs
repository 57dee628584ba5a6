//! The cost of a schema: to compile it, and to validate a value.
//!
//! Schemas come from connectors, so a schema may be made to use up memory or time. A schema is
//! measured before it is compiled. The steps of a validation are counted before a large value is
//! validated, because the schema library cannot be stopped.

use std::collections::HashMap;

use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::Value;

/// Subschemas of one schema or of a module, each counted as often as it is referred to.
const MAX_SUBSCHEMAS: u64 = 100_000;

/// Depth of a schema, with the references in it.
const MAX_DEPTH: usize = 128;

/// Patterns of a module, each counted as often as it is referred to.
const MAX_PATTERNS: u64 = 1000;

/// Length of a pattern.
const MAX_PATTERN_BYTES: usize = 1024;

/// States of a pattern as an automaton. `[a-z]{100}` has 100.
const MAX_PATTERN_STATES: u64 = 10_000;

/// Bytes of a compiled pattern, and of the states that it keeps while it is used.
pub(super) const MAX_COMPILED_PATTERN_BYTES: usize = 256 << 10;

/// Bytes of all schemas of a module.
const MAX_MODULE_BYTES: usize = 4 << 20;

/// Steps of one validation: about a quarter of a second.
const MAX_STEPS: u64 = 20_000_000;

/// One step compares this number of characters with one state of a pattern.
const STATES_PER_STEP: u64 = 16;

/// Keywords that change the meaning of references. A reference could then lead to another place
/// than it appears to.
const REFUSED: [&str; 5] = ["$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef"];

/// A validation would take too many steps.
#[derive(Debug)]
pub struct TooManySteps;

/// The measured cost of a schema.
pub(super) struct Cost {
    subschemas: u64,
    patterns: u64,
    /// Largest number of steps for each byte of a value.
    weight: u64,
    /// The number of states of each pattern.
    states: HashMap<String, u64>,
}

/// Checks the total cost of all schemas of a module.
///
/// # Errors
/// A sentence without a full stop.
pub(crate) fn check_module<'a>(schemas: impl Iterator<Item = &'a str> + Clone) -> Result<(), String> {
    if schemas.clone().map(str::len).sum::<usize>() > MAX_MODULE_BYTES {
        return Err(format!("its schemas have more than {} MiB together", MAX_MODULE_BYTES >> 20));
    }
    let (mut subschemas, mut patterns) = (0, 0);
    for text in schemas {
        // A text that is not JSON or breaks a bound is refused by name when it is compiled.
        let Ok(document) = serde_json::from_str(text) else { continue };
        let Ok(cost) = Cost::measure(&document) else { continue };
        subschemas += cost.subschemas;
        patterns += cost.patterns;
    }
    if subschemas > MAX_SUBSCHEMAS {
        return Err(format!("its schemas have more than {MAX_SUBSCHEMAS} subschemas together"));
    }
    if patterns > MAX_PATTERNS {
        return Err(format!("its schemas have more than {MAX_PATTERNS} patterns together"));
    }
    Ok(())
}

impl Cost {
    /// Measures a schema.
    ///
    /// # Errors
    /// A phrase that names the bound which it breaks, to follow the name of the schema.
    pub(super) fn measure(document: &Value) -> Result<Self, String> {
        refuse_keywords(document, true)?;
        let mut measure = Measure {
            document,
            following: Vec::new(),
            cost: Self { subschemas: 0, patterns: 0, weight: 0, states: HashMap::new() },
        };
        let weight = measure.schema(document, 0)?;
        Ok(Self { weight, ..measure.cost })
    }

    /// Checks that a value can be validated in few enough steps. `bytes` is its length as text.
    ///
    /// # Errors
    /// If it cannot.
    pub(super) fn admit(&self, document: &Value, value: &Value, bytes: usize) -> Result<(), TooManySteps> {
        // Each subschema is applied to each part of a value at most once.
        if self.weight.saturating_mul(bytes as u64 + 1) <= MAX_STEPS {
            return Ok(());
        }
        Count { document, states: &self.states, left: MAX_STEPS }.schema(document, value)
    }
}

/// Refuses keywords that change the meaning of references. An `$id` of the whole document changes
/// nothing.
fn refuse_keywords(value: &Value, is_root: bool) -> Result<(), String> {
    match value {
        Value::Object(members) => {
            let refused =
                |name: &&&str| members.get(**name).is_some_and(Value::is_string) && !(is_root && **name == "$id");
            if let Some(name) = REFUSED.iter().find(refused) {
                return Err(format!("has `{name}`; use only `$ref` with `#` and a JSON Pointer"));
            }
            members.values().try_for_each(|member| refuse_keywords(member, false))
        }
        Value::Array(items) => items.iter().try_for_each(|item| refuse_keywords(item, false)),
        _ => Ok(()),
    }
}

/// The subschema that `$ref` leads to.
fn target<'a>(document: &'a Value, reference: &str) -> Option<&'a Value> {
    let pointer = reference.strip_prefix('#').filter(|pointer| !pointer.contains('%'))?;
    document.pointer(pointer)
}

/// The part of a value that the subschemas of a keyword apply to.
enum Scope {
    /// The value itself.
    Same,
    /// The members or items of the value.
    Children,
}

/// The subschemas of a keyword.
fn subschemas<'a>(keyword: &str, value: &'a Value) -> Option<(Scope, Vec<&'a Value>)> {
    let scope = match keyword {
        "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" | "dependentSchemas" | "dependencies" => {
            Scope::Same
        }
        "properties"
        | "patternProperties"
        | "additionalProperties"
        | "unevaluatedProperties"
        | "propertyNames"
        | "items"
        | "prefixItems"
        | "contains"
        | "unevaluatedItems" => Scope::Children,
        _ => return None,
    };
    let subschemas = match (keyword, value) {
        ("properties" | "patternProperties" | "dependentSchemas" | "dependencies", Value::Object(named)) => {
            named.values().collect()
        }
        (_, Value::Array(list)) => list.iter().collect(),
        (_, one) => vec![one],
    };
    Some((scope, subschemas))
}

/// The schema library applies the subschemas of these keywords twice: first to decide, then to
/// explain. With `unevaluated…` next to them, it applies all of them again to find what they
/// evaluated.
fn repetitions(keyword: &str) -> u64 {
    if matches!(keyword, "anyOf" | "oneOf") { 2 } else { 1 }
}

fn has_unevaluated(schema: &Value) -> bool {
    schema.get("unevaluatedProperties").is_some() || schema.get("unevaluatedItems").is_some()
}

/// The number of values in a value.
fn values(value: &Value) -> u64 {
    match value {
        Value::Array(items) => 1 + items.iter().map(values).sum::<u64>(),
        Value::Object(members) => 1 + members.values().map(values).sum::<u64>(),
        _ => 1,
    }
}

/// Measures a schema with the references in it.
struct Measure<'a> {
    document: &'a Value,
    /// The references that lead here.
    following: Vec<&'a str>,
    cost: Cost,
}

impl<'a> Measure<'a> {
    /// Returns the weight of a subschema.
    fn schema(&mut self, schema: &'a Value, depth: usize) -> Result<u64, String> {
        self.cost.subschemas += 1;
        if self.cost.subschemas > MAX_SUBSCHEMAS {
            return Err(format!(
                "has more than {MAX_SUBSCHEMAS} subschemas, each counted as often as it is referred to"
            ));
        }
        if depth > MAX_DEPTH {
            return Err(format!("is deeper than {MAX_DEPTH} subschemas"));
        }
        let (mut same, mut others) = (0_u64, 1_u64);
        for (keyword, value) in schema.as_object().into_iter().flatten() {
            if let (true, Value::String(reference)) = (keyword == "$ref", value) {
                same = same.saturating_add(self.reference(reference, depth)?);
                continue;
            }
            let own = match (keyword.as_str(), value) {
                ("pattern", Value::String(pattern)) => self.pattern(pattern)?,
                ("patternProperties", Value::Object(named)) => {
                    named.keys().try_fold(0_u64, |sum, pattern| Ok::<_, String>(sum + self.pattern(pattern)?))?
                }
                ("enum" | "const" | "required" | "dependentRequired", value) => values(value),
                ("properties", Value::Object(named)) => named.len() as u64,
                // Each value is compared once for each array around it.
                ("uniqueItems", _) => MAX_DEPTH as u64,
                _ => 0,
            };
            others = others.saturating_add(own);
            let Some((scope, subschemas)) = subschemas(keyword, value) else { continue };
            for subschema in subschemas {
                let weight = self.schema(subschema, depth + 1)?.saturating_mul(repetitions(keyword));
                match scope {
                    Scope::Same => same = same.saturating_add(weight),
                    Scope::Children => others = others.saturating_add(weight),
                }
            }
        }
        if has_unevaluated(schema) {
            same = same.saturating_mul(2);
        }
        Ok(same.saturating_add(others))
    }

    fn reference(&mut self, reference: &'a str, depth: usize) -> Result<u64, String> {
        if self.following.contains(&reference) {
            return Err(format!("refers to itself with `$ref`: `{}`", cut(reference)));
        }
        let Some(target) = target(self.document, reference) else {
            return Err(format!(
                "has the `$ref` `{}`, which is not `#` and a JSON Pointer to a subschema",
                cut(reference)
            ));
        };
        self.following.push(reference);
        let weight = self.schema(target, depth + 1);
        self.following.pop();
        weight
    }

    fn pattern(&mut self, pattern: &'a str) -> Result<u64, String> {
        self.cost.patterns += 1;
        if self.cost.patterns > MAX_PATTERNS {
            return Err(format!("has more than {MAX_PATTERNS} patterns, each counted as often as it is referred to"));
        }
        if pattern.len() > MAX_PATTERN_BYTES {
            return Err(format!("has a pattern of more than {MAX_PATTERN_BYTES} bytes"));
        }
        if let Some(states) = self.cost.states.get(pattern) {
            return Ok(*states);
        }
        // The schema library translates patterns that only ECMAScript has, and refuses those that
        // are wrong or too large.
        let states = regex_syntax::parse(pattern).map_or(MAX_PATTERN_STATES, |parsed| states(&parsed));
        if states > MAX_PATTERN_STATES {
            return Err(format!("has a pattern of more than {MAX_PATTERN_STATES} states: `{}`", cut(pattern)));
        }
        self.cost.states.insert(pattern.to_owned(), states);
        Ok(states)
    }
}

/// The number of states of a pattern as an automaton, about.
fn states(pattern: &Hir) -> u64 {
    match pattern.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(text) => text.0.len() as u64,
        HirKind::Class(Class::Unicode(class)) => 1 + class.ranges().len() as u64,
        HirKind::Class(Class::Bytes(class)) => 1 + class.ranges().len() as u64,
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min.saturating_add(1));
            states(&repetition.sub).saturating_mul(times.max(1).into())
        }
        HirKind::Capture(capture) => states(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().map(states).fold(0, u64::saturating_add),
    }
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(80)]
}

/// Counts the steps of a validation.
struct Count<'a> {
    document: &'a Value,
    states: &'a HashMap<String, u64>,
    left: u64,
}

impl Count<'_> {
    fn spend(&mut self, steps: u64) -> Result<(), TooManySteps> {
        self.left = self.left.checked_sub(steps).ok_or(TooManySteps)?;
        Ok(())
    }

    fn matching(&mut self, pattern: &str, text: &str) -> Result<(), TooManySteps> {
        let states = self.states.get(pattern).copied().unwrap_or(MAX_PATTERN_STATES);
        self.spend(1 + states.saturating_mul(text.len() as u64) / STATES_PER_STEP)
    }

    fn schema(&mut self, schema: &Value, value: &Value) -> Result<(), TooManySteps> {
        self.spend(1)?;
        let rounds = if has_unevaluated(schema) { 2 } else { 1 };
        for (keyword, given) in schema.as_object().into_iter().flatten() {
            if let (true, Value::String(reference)) = (keyword == "$ref", given) {
                let Some(target) = target(self.document, reference) else { continue };
                for _ in 0..rounds {
                    self.schema(target, value)?;
                }
                continue;
            }
            match (keyword.as_str(), given, value) {
                ("pattern", Value::String(pattern), Value::String(text)) => self.matching(pattern, text)?,
                ("enum" | "const" | "required" | "dependentRequired", given, _) => self.spend(values(given))?,
                ("uniqueItems", _, Value::Array(_)) => self.spend(values(value))?,
                ("minLength" | "maxLength", _, Value::String(text)) => {
                    self.spend(text.len() as u64 / STATES_PER_STEP)?
                }
                _ => {}
            }
            let Some((scope, subschemas)) = subschemas(keyword, given) else { continue };
            match scope {
                Scope::Same => {
                    for _ in 0..rounds * repetitions(keyword) {
                        subschemas.iter().try_for_each(|subschema| self.schema(subschema, value))?;
                    }
                }
                Scope::Children => self.children(keyword, given, value)?,
            }
        }
        Ok(())
    }

    /// Applies the subschemas of a keyword to the members or items of a value.
    fn children(&mut self, keyword: &str, given: &Value, value: &Value) -> Result<(), TooManySteps> {
        match (keyword, given, value) {
            ("properties", Value::Object(named), Value::Object(members)) => {
                self.spend(named.len() as u64)?;
                let present = named.iter().filter_map(|(name, subschema)| Some((subschema, members.get(name)?)));
                present.into_iter().try_for_each(|(subschema, member)| self.schema(subschema, member))
            }
            ("patternProperties", Value::Object(named), Value::Object(members)) => {
                for (pattern, subschema) in named {
                    for (name, member) in members {
                        self.matching(pattern, name)?;
                        self.schema(subschema, member)?;
                    }
                }
                Ok(())
            }
            ("propertyNames", subschema, Value::Object(members)) => {
                members.keys().try_for_each(|name| self.schema(subschema, &Value::from(name.as_str())))
            }
            ("additionalProperties" | "unevaluatedProperties", subschema, Value::Object(members)) => {
                members.values().try_for_each(|member| self.schema(subschema, member))
            }
            ("prefixItems", Value::Array(subschemas), Value::Array(items)) => {
                subschemas.iter().zip(items).try_for_each(|(subschema, item)| self.schema(subschema, item))
            }
            ("items" | "contains" | "unevaluatedItems", subschema, Value::Array(items)) => {
                items.iter().try_for_each(|item| self.schema(subschema, item))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
