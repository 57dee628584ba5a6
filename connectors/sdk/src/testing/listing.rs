//! A table as lines of text, one for each row, so that one comparison covers all rows.

use std::fmt::Write;

use crate::http::Body;
use crate::table::{Connector, NextPage};
use crate::testing::{Gateway, invoke};
use crate::{Outcome, Request, texts};

/// The request that each row forwards for its example, in the order of the table. A line is
/// `row: METHOD upstream path`, then the headers as `[name: value]`, then the body. Rows that
/// forward no request are left out.
///
/// ```
/// # mod dictionary {
/// connector_sdk::connector! {
///     /// Words and their meanings.
///     connector dictionary "Dictionary";
///     auth Auth::None;
///     upstream api "https://api.dictionaryapi.dev/api/v2";
///
///     /// Meanings of an English word.
///     define: GET api "/entries/en/{word}" example { word: "hello" };
/// }
/// # }
/// # use dictionary::CONNECTOR;
/// assert_eq!(connector_sdk::testing::examples(&CONNECTOR), ["define: GET api /entries/en/hello"]);
/// ```
#[must_use]
pub fn examples(connector: &Connector) -> Vec<String> {
    let _gateway = Gateway::new();
    let lines = connector.operations.iter().zip(texts::of(connector)).filter_map(|(operation, texts)| {
        match invoke(connector, operation.path, &texts.example?) {
            Ok(Outcome::Forward(request)) => Some(format!("{}: {}", operation.path, shown(&request))),
            _ => None,
        }
    });
    lines.collect()
}

/// How callers read further pages, for each row that says so, in the order of the table. A line is
/// `row: items, next …, into input`.
#[must_use]
pub fn pages(connector: &Connector) -> Vec<String> {
    let lines = connector.operations.iter().filter_map(|operation| {
        let pages = operation.about.pages?;
        let next = match pages.next {
            NextPage::Cursor(pointer) => format!("cursor {pointer}"),
            NextPage::Link { pointer, parameter } => format!("link {pointer} parameter {parameter}"),
            NextPage::PageNumber(first) => format!("page_number {first}"),
            NextPage::Offset => "offset".to_owned(),
            NextPage::LastItem { pointer, more: None } => format!("last {pointer}"),
            NextPage::LastItem { pointer, more: Some(more) } => format!("last {pointer} while {more}"),
        };
        Some(format!("{}: {}, next {next}, into {}", operation.path, pages.items, pages.input))
    });
    lines.collect()
}

fn shown(request: &Request) -> String {
    // The generated type prints as `Method::Get`.
    let method = format!("{:?}", request.method).trim_start_matches("Method::").to_uppercase();
    let mut line = format!("{method} {} {}", request.upstream, request.path);
    for (name, value) in &request.headers {
        let _ = write!(line, " [{name}: {value}]");
    }
    match &request.body {
        None => {}
        Some(Body::Json(text)) => line.extend([" ", text]),
        Some(other) => {
            let _ = write!(line, " {other:?}");
        }
    }
    line
}
