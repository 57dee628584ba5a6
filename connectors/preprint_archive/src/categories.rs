//! arXiv's categories. arXiv's API has no method for them, so the connector contains the table.
//! Names and descriptions are arXiv's. Archives that no longer accept papers are left out.

use connector_sdk::{Fault, Outcome};

/// The answer of `get_categories`, with one category in each line.
const TABLE: &str = include_str!("categories.json");

pub(crate) fn list() -> Result<Outcome, Fault> {
    Ok(Outcome::Reply(TABLE.trim_end().to_owned()))
}

/// The term of the query language for a category, or for all categories of an archive. `None` for
/// another name.
pub(crate) fn term(name: &str) -> Option<String> {
    if has("id", name) { Some(name.to_owned()) } else { has("archive", name).then(|| format!("{name}.*")) }
}

/// Returns `true` if a category has this member. The search is for text; the quotes make sure that
/// the whole name matches.
fn has(member: &str, name: &str) -> bool {
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
    is_name && TABLE.contains(&format!("\"{member}\":\"{name}\""))
}

#[cfg(test)]
mod tests {
    use super::{TABLE, list, term};
    use connector_sdk::Outcome;
    use serde_json::{Value, json};

    #[test]
    fn the_table_has_all_active_categories_in_order() {
        let table: Value = serde_json::from_str(TABLE).expect("JSON");
        let categories = table["categories"].as_array().expect("a list");
        assert_eq!((categories.len(), &table["total"]), (155, &json!(155)));
        let ids: Vec<&str> = categories.iter().filter_map(|category| category["id"].as_str()).collect();
        assert_eq!((ids.len(), ids.first(), ids.last()), (155, Some(&"astro-ph.CO"), Some(&"stat.TH")));
        assert!(ids.is_sorted());
        for category in categories {
            let mut names: Vec<&String> = category.as_object().expect("an object").keys().collect();
            names.sort();
            assert_eq!(names, ["alias_of", "archive", "description", "group", "id", "name"]);
            let id = category["id"].as_str().expect("an id");
            let archive = category["archive"].as_str().expect("an archive");
            assert!(id == archive || id.starts_with(&format!("{archive}.")), "{id}");
        }
        let find = |id: &str| categories.iter().find(|category| category["id"] == id).expect("a category");
        assert_eq!(find("cs.LG")["name"], "Machine Learning");
        assert_eq!(find("cs.LG")["group"], "Computer Science");
        assert_eq!(find("math.MP")["alias_of"], "math-ph");
        assert_eq!(find("quant-ph")["description"], Value::Null);
    }

    #[test]
    fn the_list_is_the_table() {
        let Ok(Outcome::Reply(text)) = list() else { panic!("a reply") };
        assert!(text.starts_with('{') && text.ends_with('}'));
    }

    #[test]
    fn the_name_of_an_archive_means_its_categories() {
        assert_eq!(term("cs.LG").as_deref(), Some("cs.LG"));
        assert_eq!(term("cs").as_deref(), Some("cs.*"));
        assert_eq!(term("astro-ph").as_deref(), Some("astro-ph.*"));
        assert_eq!(term("hep-th").as_deref(), Some("hep-th"));
        for name in ["", "cs.XX", "cmp-lg", "CS", "cs\",\"name", "Computer Science"] {
            assert_eq!(term(name), None, "{name}");
        }
    }
}
