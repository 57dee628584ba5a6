//! The module with the filters of lists, which the console shows above each list. It is made from
//! the declarations of the lists.

use serde_json::{Map, Value, json};

use endpoint::lists::{Parameter, Values};
use endpoint::route::{Query, Route};

/// The name of the file.
pub(super) const FILE: &str = "filters.js";

/// The module. It exports the filters of each list of the operator that has some, by its path.
pub(super) fn module(routes: &[&[Route]]) -> String {
    let mut lists = Map::new();
    for route in routes.iter().copied().flatten().filter(|route| route.is_for_operators()) {
        for endpoint in route.methods {
            if let Query::Page(_, filters) = endpoint.query {
                let filters = filters();
                if !filters.is_empty() {
                    lists.insert(route.path.to_owned(), filters.iter().map(field).collect());
                }
            }
        }
    }
    format!("export const declared = {};\n", Value::from(lists))
}

fn field(filter: &Parameter) -> Value {
    let choices = match filter.values {
        Values::OneOf(names) => Some(names()),
        Values::True => Some(vec!["true"]),
        _ => None,
    };
    let is_time = matches!(filter.values, Values::Time);
    json!({"name": filter.name, "choices": choices, "isTime": is_time, "isMore": filter.is_rare})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admin::{AnyIntegrations, Calls, list_calls, list_integrations, list_tenants};
    use auth::Scope::{Admin, Integrate};
    use endpoint::route::Handler::Scoped;
    use endpoint::route::{Endpoint, Family};
    use rest::triggers::{OwnTriggers, list_triggers};

    static ROUTES: &[Route] = &[
        Route {
            path: "/admin/calls",
            family: Family::Admin,
            methods: &[Endpoint::get(Scoped(Admin, |call, _| Box::pin(list_calls(call)))).list::<Calls>()],
        },
        Route {
            path: "/admin/integrations",
            family: Family::Admin,
            methods: &[
                Endpoint::get(Scoped(Admin, |call, _| Box::pin(list_integrations(call)))).list::<AnyIntegrations>()
            ],
        },
        Route {
            path: "/admin/tenants",
            family: Family::Admin,
            methods: &[Endpoint::get(Scoped(Admin, |call, _| Box::pin(list_tenants(call)))).page()],
        },
        Route {
            path: "/triggers",
            family: Family::Triggers,
            methods: &[Endpoint::get(Scoped(Integrate, |call, caller| Box::pin(list_triggers(call, caller))))
                .list::<OwnTriggers>()],
        },
    ];

    #[test]
    fn the_script_has_the_filters_of_each_list_of_the_operator() {
        let script = module(&[ROUTES]);
        let text = script.strip_prefix("export const declared = ").unwrap().strip_suffix(";\n").unwrap();
        let lists: Value = serde_json::from_str(text).unwrap();
        let filter = |list: &str, name: &str| {
            let filters = lists[list].as_array().unwrap();
            filters.iter().find(|filter| filter["name"] == name).unwrap().clone()
        };
        let status = json!({"name": "status", "choices": null, "isTime": false, "isMore": false});
        assert_eq!(filter("/admin/calls", "status"), status);
        assert_eq!(filter("/admin/calls", "owner")["choices"][0], "caller");
        assert_eq!(filter("/admin/calls", "since")["isTime"], true);
        assert_eq!(filter("/admin/integrations", "overdue")["choices"], json!(["true"]));
        assert!(lists.get("/triggers").is_none() && lists.get("/admin/tenants").is_none(), "{text}");
    }
}
