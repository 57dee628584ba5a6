//! The changes of a module since the previous version, a line for each. A line begins with `+` for
//! an addition, with `-` for a removal, and with `~` for a change.

use std::collections::BTreeSet;

use connector_gateway::{Connector, Operation};
use serde_json::Value;

/// The changes between two versions of a connector.
pub(super) fn between(previous: &Connector, now: &Connector) -> Vec<String> {
    let mut changes = Vec::new();
    let hosts = |connector: &Connector| connector.named_hosts().clone();
    compare("host", &hosts(previous), &hosts(now), &mut changes);
    let (old, new) = (previous.manifest(), now.manifest());
    let names = |settings: &[contract::Setting]| settings.iter().map(|setting| setting.name.clone()).collect();
    compare("setting", &names(&old.settings), &names(&new.settings), &mut changes);
    let paths =
        |connector: &Connector| connector.operations().map(|operation| operation.manifest.path.clone()).collect();
    compare("operation", &paths(previous), &paths(now), &mut changes);
    for new in now.operations() {
        if let Some(old) = previous.operation(&new.manifest.path) {
            let changed = changes_of(old, new);
            changes.extend(changed.into_iter().map(|change| format!("~ operation {}: {change}", new.manifest.path)));
        }
    }
    changes
}

fn compare(what: &str, previous: &BTreeSet<String>, now: &BTreeSet<String>, changes: &mut Vec<String>) {
    changes.extend(now.difference(previous).map(|name| format!("+ {what} {name}")));
    changes.extend(previous.difference(now).map(|name| format!("- {what} {name}")));
}

/// The changes of an operation that its callers notice.
fn changes_of(old: &Operation, new: &Operation) -> Vec<String> {
    let mut changes = fields(&old.input_schema(), &new.input_schema());
    if old.sends() != new.sends() {
        changes.push(format!("it sends {}, before {}", new.sends(), old.sends()));
    }
    let has_other_last_item = old.last_item != new.last_item;
    let (old, new) = (&old.manifest, &new.manifest);
    if old.effect != new.effect {
        changes.push(format!("its effect is {}, before {}", new.effect.name(), old.effect.name()));
    }
    if old.answer != new.answer || old.answer_schema != new.answer_schema {
        changes.push("its answer is described differently".to_owned());
    }
    if format!("{:?}", old.pagination) != format!("{:?}", new.pagination) || has_other_last_item {
        changes.push("its pages are read differently".to_owned());
    }
    for (is, was, words) in [
        (new.background, old.background, "runs in the background unless the caller waits"),
        (new.envelope, old.envelope, "lets callers shape the answer"),
    ] {
        match (is, was) {
            (true, false) => changes.push(format!("it {words}")),
            (false, true) => changes.push(format!("it no longer {words}")),
            _ => {}
        }
    }
    if old.rate_limit != new.rate_limit {
        let limit =
            new.rate_limit.as_deref().map_or("no rate limit".to_owned(), |name| format!("the rate limit `{name}`"));
        changes.push(format!("it has {limit}"));
    }
    changes
}

/// The changes between two input schemas.
fn fields(old: &Value, new: &Value) -> Vec<String> {
    let declared = |schema: &Value| -> BTreeSet<String> {
        schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
    };
    let required = |schema: &Value| -> BTreeSet<String> {
        schema["required"].as_array().into_iter().flatten().filter_map(|name| Some(name.as_str()?.to_owned())).collect()
    };
    let (had, has, needed, needs) = (declared(old), declared(new), required(old), required(new));
    let mut changes: Vec<String> = Vec::new();
    changes.extend(has.difference(&had).map(|name| format!("it takes `{name}`")));
    changes.extend(had.difference(&has).map(|name| format!("it no longer takes `{name}`")));
    changes.extend(needs.difference(&needed).map(|name| format!("it requires `{name}`")));
    changes.extend(
        needed.difference(&needs).filter(|name| has.contains(*name)).map(|name| format!("`{name}` may be absent")),
    );
    let differs = |name: &&String| old["properties"][name.as_str()] != new["properties"][name.as_str()];
    changes.extend(had.intersection(&has).filter(differs).map(|name| format!("the schema of `{name}` is different")));
    changes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_that_come_go_or_change_are_named() {
        let old = json!({"properties": {"a": {"type": "string"}, "b": {}, "c": {}}, "required": ["a", "b"]});
        let new = json!({"properties": {"a": {"type": "integer"}, "c": {}, "d": {}}, "required": ["c", "d"]});
        assert_eq!(
            fields(&old, &new),
            [
                "it takes `d`",
                "it no longer takes `b`",
                "it requires `c`",
                "it requires `d`",
                "`a` may be absent",
                "the schema of `a` is different"
            ]
        );
        assert!(fields(&new, &new).is_empty());
    }
}
