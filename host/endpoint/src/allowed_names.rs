//! The member `allow` of keys, tool sets and agent sessions: names of connectors, and of operations
//! and types of events with their connector. A name that is not live is a mistake more often than a
//! plan, and a key with it would fail in the hands of someone else.

use contract::words::nearest;
use gateway::Gateway;
use schema::Violation;
use triggers::{GATEWAY, gateway_types};

/// A violation for each name of the member that is not live, with the nearest one that is. A
/// connector that may become live before the start is over passes, with all its operations.
pub fn unknown_names(gateway: &Gateway, member: &str, names: &[String]) -> Vec<Violation> {
    let unknown = names.iter().enumerate().filter_map(|(number, name)| {
        let detail = told_if_unknown(gateway, name)?;
        Some(Violation { pointer: format!("/{member}/{number}"), detail })
    });
    unknown.collect()
}

/// A sentence about a name that is not there.
fn told_if_unknown(gateway: &Gateway, name: &str) -> Option<String> {
    let (connector, path) = name.split_once('/').map_or((name, None), |(connector, path)| (connector, Some(path)));
    let live = gateway.registry.live();
    let known: Vec<&str> = match live.get(connector) {
        Some(found) => {
            let operations = found.operations().map(|known| known.manifest.path.as_str());
            operations.chain(found.triggers().iter().map(|kind| kind.name.as_str())).collect()
        }
        None if connector == GATEWAY => gateway_types().collect(),
        None if gateway.registry.may_become_live(connector) => return None,
        None => {
            let nearest = nearest(connector, live.keys().map(String::as_str));
            return Some(told("connector", nearest.map(str::to_owned)));
        }
    };
    let path = path.filter(|path| !known.contains(path))?;
    let nearest = nearest(path, known).map(|path| format!("{connector}/{path}"));
    Some(told("operation", nearest))
}

fn told(kind: &str, nearest: Option<String>) -> String {
    match nearest {
        Some(name) => format!("There is no such {kind}. Did you mean `{name}`?"),
        None => format!("There is no such {kind}. GET /connectors lists the live ones."),
    }
}
