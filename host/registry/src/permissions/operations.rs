//! The permissions that an operation of both versions requests in addition: it changes data that it
//! only read, or sends its request elsewhere.

use std::collections::BTreeMap;

use contract::Effect;
use rows::Method;

use crate::Connector;

/// The effect and the request of an operation.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Operation {
    effect: Effect,
    sent: Sent,
}

#[derive(Debug, PartialEq, Eq)]
enum Sent {
    /// The requests of the connector's code.
    Code,
    /// The request of a row. `reads` is `true` for a method that changes nothing, whatever effect the
    /// module claims.
    Row { upstream: String, reads: bool, words: String },
}

/// The operations of a connector, by their paths.
pub(super) fn of(connector: &Connector) -> BTreeMap<String, Operation> {
    let operation = |operation: &crate::Operation| {
        let sent = match &operation.row {
            None => Sent::Code,
            Some(row) => Sent::Row {
                upstream: row.upstream.to_string(),
                reads: matches!(row.method, Method::Get | Method::Head),
                words: row.to_string(),
            },
        };
        (operation.manifest.path.clone(), Operation { effect: operation.manifest.effect, sent })
    };
    connector.operations().map(operation).collect()
}

/// A line for each operation that requests more than before. A destructive operation has another
/// line, also if it is new.
pub(super) fn beyond(now: &BTreeMap<String, Operation>, previous: &BTreeMap<String, Operation>) -> Vec<String> {
    let common = now.iter().filter_map(|(path, operation)| Some((path, operation, previous.get(path)?)));
    let lines = common.flat_map(|(path, operation, previous)| {
        let writes = (previous.effect == Effect::Read && operation.effect == Effect::Write)
            .then(|| format!("operation {path}, which changes data now"));
        let sends = match (&operation.sent, &previous.sent) {
            (Sent::Code, Sent::Row { words, .. }) => {
                Some(format!("operation {path}, whose code composes its requests now; it was {words}"))
            }
            (Sent::Row { upstream, words, .. }, Sent::Row { upstream: before, .. }) if upstream != before => {
                Some(format!("operation {path}, which sends {words} now; its upstream was {before}"))
            }
            (Sent::Row { reads: false, words, .. }, Sent::Row { reads: true, words: before, .. }) => {
                Some(format!("operation {path}, which sends {words} now; it was {before}"))
            }
            _ => None,
        };
        [writes, sends].into_iter().flatten()
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(upstream: &str) -> Sent {
        Sent::Row { upstream: upstream.to_owned(), reads: true, words: format!("GET {upstream} /items") }
    }

    fn asked(previous: (Effect, Sent), now: (Effect, Sent)) -> Vec<String> {
        let operations = |(effect, sent)| BTreeMap::from([("items".to_owned(), Operation { effect, sent })]);
        beyond(&operations(now), &operations(previous))
    }

    #[test]
    fn an_operation_that_changes_data_or_sends_elsewhere_is_asked_for() {
        let writes = asked((Effect::Read, row("api")), (Effect::Write, row("api")));
        assert_eq!(writes, ["operation items, which changes data now"]);
        let elsewhere = asked((Effect::Read, row("api")), (Effect::Read, row("files")));
        assert_eq!(elsewhere, ["operation items, which sends GET files /items now; its upstream was api"]);
        let code = asked((Effect::Read, row("api")), (Effect::Read, Sent::Code));
        assert_eq!(code, ["operation items, whose code composes its requests now; it was GET api /items"]);
        let deletes = Sent::Row { upstream: "api".to_owned(), reads: false, words: "DELETE api /items".to_owned() };
        let deletes = asked((Effect::Read, row("api")), (Effect::Read, deletes));
        assert_eq!(deletes, ["operation items, which sends DELETE api /items now; it was GET api /items"]);
    }

    #[test]
    fn an_operation_that_does_no_more_than_before_is_not_asked_for() {
        assert!(asked((Effect::Write, row("api")), (Effect::Read, row("api"))).is_empty());
        assert!(asked((Effect::Read, Sent::Code), (Effect::Read, row("api"))).is_empty());
    }
}
