//! Random documents: shaping must agree with the model, and with serde_json about valid JSON.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use serde::de::IgnoredAny;
use serde_json::json;

use super::model::{self, Json, ModelFilter};
use super::{Shape, ShapeError};

/// Names as they are written. They are few, so that paths match them often. Some have dots or
/// escapes, and one has half a surrogate pair.
const NAMES: [&str; 14] = [
    r#""a""#,
    r#""b""#,
    r#""c""#,
    r#""a""#,
    r#""b""#,
    r#""a.b""#,
    r#""b.c""#,
    r#""a.b.c""#,
    r#""""#,
    r#"".""#,
    r#""a.""#,
    r#""\u0061""#,
    r#""b\u002ec""#,
    r#""\ud800""#,
];

const SCALARS: [&str; 14] = [
    "1",
    "1.0",
    "-2E3",
    "true",
    "false",
    "null",
    r#""x""#,
    r#""y""#,
    r#""x""#,
    r#""\u0078""#,
    r#""1""#,
    r#""""#,
    r#""ü\"\\""#,
    r#""\udc00""#,
];

const VALUES: [&str; 8] = ["x", "y", "1", "1.0", "true", "null", "", "ü\"\\"];

const SEGMENTS: [&str; 8] = ["a", "b", "c", "a", "b", "a.b", "d", ""];

const GAPS: [&str; 4] = ["", " ", "\n  ", "\r\n\t          "];

fn document() -> impl Strategy<Value = Json> {
    let scalar = prop::sample::select(&SCALARS[..]).prop_map(|text| Json::Scalar(text.to_owned()));
    scalar.prop_recursive(6, 80, 6, |inner| {
        let name = prop::sample::select(&NAMES[..]).prop_map(str::to_owned);
        let object = vec((name, inner.clone()), 0..5).prop_map(Json::Object);
        let objects = vec(prop_oneof![4 => object.clone(), 1 => inner.clone()], 0..5).prop_map(Json::List);
        prop_oneof![4 => object, 4 => objects, 1 => vec(inner, 0..4).prop_map(Json::List)]
    })
}

fn path() -> impl Strategy<Value = String> {
    let segments = vec(prop::sample::select(&SEGMENTS[..]), 1..5);
    segments.prop_map(|segments| segments.join(".")).prop_filter("paths are not empty", |path| !path.is_empty())
}

fn filter() -> impl Strategy<Value = ModelFilter> {
    let values = vec(prop::sample::select(&VALUES[..]).prop_map(str::to_owned), 0..4);
    (prop::option::of(path()), path(), values).prop_map(|(root, field_name, values)| ModelFilter {
        root,
        field_name,
        values,
    })
}

fn shape(fields: &[String], filters: &[ModelFilter]) -> Shape {
    let filters: Vec<_> = filters
        .iter()
        .map(|filter| {
            json!({"type": "string_list", "field_name": filter.field_name, "values": filter.values, "root": filter.root})
        })
        .collect();
    super::from_values(Some(&json!(fields)), Some(&json!(filters))).expect("the envelope is valid")
}

/// Saves failing cases in `properties.regressions` next to this file.
fn config() -> ProptestConfig {
    let persistence = FileFailurePersistence::WithSource("regressions");
    let default = ProptestConfig::default();
    ProptestConfig { cases: default.cases.max(2048), failure_persistence: Some(Box::new(persistence)), ..default }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn shaping_agrees_with_the_model(
        document in document(),
        fields in vec(path(), 0..4),
        filters in vec(filter(), 0..4),
        gap in prop::sample::select(&GAPS[..]),
    ) {
        let text = document.print(gap);
        let answer = shape(&fields, &filters).apply(text.as_bytes()).expect("the document is valid");
        let answer = Json::parse(str::from_utf8(&answer).expect("the answer is UTF-8"));
        prop_assert_eq!(answer, model::shape(document, &fields, &filters));
    }

    #[test]
    fn a_single_filter_agrees_with_the_model(document in document(), filter in filter()) {
        let text = document.print("");
        let answer = shape(&[], std::slice::from_ref(&filter)).apply(text.as_bytes()).expect("the document is valid");
        prop_assert_eq!(String::from_utf8(answer).expect("the answer is UTF-8"), model::shape(document, &[], &[filter]).print(""));
    }

    #[test]
    fn projecting_twice_equals_projecting_once(document in document(), fields in vec(path(), 1..4)) {
        let shape = shape(&fields, &[]);
        let once = shape.apply(document.print(" ").as_bytes()).expect("the document is valid");
        prop_assert_eq!(shape.apply(&once).expect("the answer is valid"), once);
    }

    #[test]
    fn a_damaged_document_is_accepted_only_if_serde_json_accepts_it(
        document in document(),
        gap in prop::sample::select(&GAPS[..]),
        damage in vec((any::<prop::sample::Index>(), prop::sample::select(&b"{}[]:,\"\\ue0.1-tn \n\x00\xc3\xff"[..]), 0..3_u8), 0..3),
        fields in vec(path(), 0..3),
        filters in vec(filter(), 0..2),
    ) {
        let mut bytes = document.print(gap).into_bytes();
        for (index, byte, how) in damage {
            let at = index.index(bytes.len() + 1);
            match how {
                0 => bytes.insert(at, byte),
                1 if at < bytes.len() => bytes[at] = byte,
                _ => drop(bytes.drain(at.min(bytes.len())..(at + 1).min(bytes.len()))),
            }
        }
        agrees_with_serde_json(&shape(&fields, &filters), &bytes)?;
    }

    #[test]
    fn random_bytes_never_cause_a_panic(bytes in vec(any::<u8>(), 0..40), fields in vec(path(), 0..3)) {
        agrees_with_serde_json(&shape(&fields, &[]), &bytes)?;
    }

    #[test]
    fn tokens_in_any_order_are_accepted_only_if_serde_json_accepts_them(
        tokens in vec(prop::sample::select(&["{", "}", "[", "]", ":", ",", "\"a\"", "\"", "1", "-", "true", " "][..]), 0..12),
        fields in vec(path(), 0..3),
    ) {
        agrees_with_serde_json(&shape(&fields, &[]), tokens.concat().as_bytes())?;
    }
}

fn agrees_with_serde_json(shape: &Shape, document: &[u8]) -> Result<(), TestCaseError> {
    let is_json =
        |bytes: &[u8]| str::from_utf8(bytes).is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok());
    match shape.apply(document) {
        Ok(answer) => {
            let document = document.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(document);
            prop_assert!(is_json(document), "accepted");
            prop_assert!(is_json(&answer), "the answer is {:?}", String::from_utf8_lossy(&answer));
        }
        Err(ShapeError::TooDeep { .. } | ShapeError::TooLarge) => {}
        Err(error) => prop_assert!(!is_json(document), "refused: {error}"),
    }
    Ok(())
}
