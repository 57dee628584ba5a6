//! The pages of an operation, as the list of connectors and the API's description show them.

use serde_json::{Value, json};

use contract::{LastItem, NextPage, Pagination};
use contract_rules::link::HEADER;
use registry::Operation;

/// The extension `x-pagination` of an operation. The description of the document explains it to
/// callers. `None` if the operation has no pages.
pub fn pagination_rule(operation: &Operation) -> Option<Value> {
    operation.manifest.pagination.as_ref().map(|pages| rule(pages, operation.last_item.as_deref()))
}

fn rule(pages: &Pagination, last_item: Option<&LastItem>) -> Value {
    let mut rule = json!({"items": pages.items, "input": pages.input});
    match &pages.next {
        NextPage::Cursor(pointer) => {
            rule["style"] = if last_item.is_some() { "last_item" } else { "cursor" }.into();
            rule["next"] = pointer.as_str().into();
            if let Some(more) = last_item.and_then(|last_item| last_item.more.as_deref()) {
                rule["more"] = more.into();
            }
        }
        NextPage::Link(link) if link.pointer == HEADER => {
            rule["style"] = "link_header".into();
            rule["next"] = "X-Upstream-Link".into();
            rule["parameter"] = link.parameter.as_str().into();
        }
        NextPage::Link(link) => {
            rule["style"] = "link".into();
            rule["next"] = link.pointer.as_str().into();
            rule["parameter"] = link.parameter.as_str().into();
        }
        NextPage::PageNumber(first) => {
            rule["style"] = "page_number".into();
            rule["first"] = (*first).into();
        }
        NextPage::Offset => rule["style"] = "offset".into(),
    }
    rule
}

#[cfg(test)]
mod tests {
    use contract::NextLink;

    use super::*;

    fn rule(next: NextPage) -> Value {
        super::rule(&pages(next), None)
    }

    fn pages(next: NextPage) -> Pagination {
        Pagination { items: "/items".to_owned(), next, input: "/query/page".to_owned() }
    }

    #[test]
    fn each_style_of_pagination_says_where_the_next_page_comes_from() {
        let cursor = rule(NextPage::Cursor("/nextPageToken".to_owned()));
        let common = json!({"items": "/items", "input": "/query/page", "style": "cursor", "next": "/nextPageToken"});
        assert_eq!(cursor, common);
        let link = NextLink { pointer: "/@odata.nextLink".to_owned(), parameter: "$skiptoken".to_owned() };
        let link = rule(NextPage::Link(link));
        assert_eq!((&link["style"], &link["next"]), (&json!("link"), &json!("/@odata.nextLink")));
        assert_eq!(link["parameter"], "$skiptoken");
        let header = NextLink { pointer: "Link".to_owned(), parameter: "page".to_owned() };
        let header = rule(NextPage::Link(header));
        assert_eq!((&header["style"], &header["next"]), (&json!("link_header"), &json!("X-Upstream-Link")));
        assert_eq!(header["parameter"], "page");
        let number = rule(NextPage::PageNumber(1));
        assert_eq!((&number["style"], &number["first"]), (&json!("page_number"), &json!(1)));
        assert_eq!(rule(NextPage::Offset)["style"], "offset");
    }

    #[test]
    fn a_last_item_has_its_own_style_and_the_place_that_tells_the_last_page() {
        let pages = pages(NextPage::Cursor("/id".to_owned()));
        let common = json!({"items": "/items", "input": "/query/page", "style": "last_item", "next": "/id"});
        let mut last_item = LastItem { operation: "list".to_owned(), more: None };
        assert_eq!(super::rule(&pages, Some(&last_item)), common);
        last_item.more = Some("/has_more".to_owned());
        let mut with_more = common;
        with_more["more"] = "/has_more".into();
        assert_eq!(super::rule(&pages, Some(&last_item)), with_more);
    }
}
