//! The pages of an operation, as the list of connectors and the API's description show them.

use serde_json::{Value, json};

use contract::{NextPage, Pagination};
use contract_rules::link::HEADER;

/// The extension `x-pagination`. The description of the document explains it to callers.
pub(super) fn pagination_rule(pages: &Pagination) -> Value {
    let mut rule = json!({"items": pages.items, "input": pages.input});
    match &pages.next {
        NextPage::Cursor(pointer) => {
            rule["style"] = "cursor".into();
            rule["next"] = pointer.as_str().into();
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
        pagination_rule(&Pagination { items: "/items".to_owned(), next, input: "/query/page".to_owned() })
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
}
