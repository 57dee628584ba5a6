//! Sites of SharePoint against a stand-in for Microsoft Graph. `office_sites` and `kb_office_sites`
//! have the same operations.

use serde_json::{Value, json};
use support::{Dialect, Reply, Upstream};

use super::{Connected, microsoft_user};

const CONNECTORS: [&str; 2] = ["office_sites", "kb_office_sites"];

fn connected(connector: &'static str, config: &str) -> Connected {
    Connected::start(connector, Dialect::microsoft(), &[("graph", "/v1.0")], config, microsoft_user)
}

fn site(id: &str, name: &str) -> Value {
    json!({"id": id, "displayName": name, "webUrl": format!("https://contoso.sharepoint.com/sites/{id}")})
}

#[test]
fn a_site_is_found_on_a_later_page_with_the_same_account() {
    for connector in CONNECTORS {
        let world = connected(connector, "");
        let next = format!("{}/v1.0/sites?search=Marketing&$skiptoken=n%2B1", world.provider.api());
        world.provider.on_api(move |seen, _| {
            Reply::json(match seen.parameter("$skiptoken") {
                None => json!({"value": [site("a", "Marketing EMEA")], "@odata.nextLink": next}),
                Some(_) => json!({"value": [site("b", "Marketing")]}),
            })
        });
        let mut expected = site("b", "Marketing");
        expected["exact"] = json!(true);
        assert_eq!(world.call("get_site_id_by_name", json!({"name": "marketing"})).ok(), expected);
        let [first, second] = &world.provider.api_calls()[1..] else { panic!("two pages") };
        assert_eq!(first.query, "search=marketing");
        assert_eq!(second.parameter("$skiptoken").as_deref(), Some("n+1"));
        assert_eq!(first.header("authorization"), second.header("authorization"));
    }
}

#[test]
fn a_name_that_fits_several_sites_or_no_site_lists_candidates() {
    let world = connected("office_sites", "");
    let page = json!({"value": [site("a", "Team"), site("b", "Team"), site("c", "Teams")]});
    world.provider.on_api(move |_, _| Reply::json(page.clone()));
    let several = world.call("get_site_id_by_name", json!({"name": "Team"})).problem(409, "conflict");
    assert_eq!(several["candidates"], json!([site("a", "Team"), site("b", "Team")]));
    let nothing = world.call("get_site_id_by_name", json!({"name": "Tea"})).problem(404, "resource-not-found");
    assert_eq!(nothing["candidates"].as_array().map(Vec::len), Some(3));
    let blank = world.call("get_site_id_by_name", json!({"name": " "})).violations();
    assert_eq!(blank[0].0, "/name");
}

#[test]
fn a_file_of_a_site_is_downloaded_without_the_token() {
    for connector in CONNECTORS {
        let files = Upstream::start();
        let world = connected(connector, &format!("link_hosts.graph = [\"127.0.0.1:{}\"]", files.port()));
        let address = files.url() + "/y23";
        world.provider.on_api(move |_, _| Reply::redirect(&address));
        files.reply("/y23", Reply::typed("text/plain", "Hi").header("content-disposition", "a; filename=a.txt"));
        let file = world.call("download_item", json!({"site_id": "root", "item_id": "01ABC"})).ok();
        assert_eq!(
            file,
            json!({"file_name": "a.txt", "content_type": "text/plain", "size": 2, "content_base64": "SGk="})
        );
        assert_eq!(files.seen()[0].header("authorization"), "", "{connector}");
    }
}
