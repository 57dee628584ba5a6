//! Requests of anyone.

use super::*;
use crate::{answer_after_verification, answer_before_verification};
use contract::trigger_types::{AccountKey, EchoMember, Handshake};
use proptest::prelude::*;

fn places() -> impl Strategy<Value = Place> {
    prop_oneof![
        "[a-c]{1,2}".prop_map(Place::Header),
        ("[a-c]{1,2}", "[a-c]{1}").prop_map(Place::HeaderField),
        "(/[a-c0-2~]{0,2}){0,3}".prop_map(Place::Pointer),
        "[a-c]{1}".prop_map(Place::Query),
        Just(Place::BodyHash),
    ]
}

/// JSON and what is nearly JSON.
fn bodies() -> impl Strategy<Value = Vec<u8>> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("1769860800".to_owned()),
        Just("-1e999".to_owned()),
        "[a-c]{0,3}".prop_map(|text| format!("\"{text}\"")),
        Just("\"eyJhIjpbMV19\"".to_owned()),
        Just("\"\\ud800\"".to_owned()),
    ];
    let json = leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec(("[a-c]{0,2}", inner), 0..4).prop_map(|members| {
                let members: Vec<String> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    });
    prop_oneof![
        4 => json.prop_map(String::into_bytes),
        1 => "[\\[\\]{}\",:a1\\\\ ]{0,40}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..40),
    ]
}

proptest! {
    #[test]
    fn no_request_makes_the_reading_panic(
        body in bodies(),
        query in "[a-c=&%+0-9]{0,20}",
        lines in prop::collection::vec(("[a-c]{1,2}", "[a-c=, 0-9]{0,10}"), 0..4),
        place in places(),
        other in places(),
        pointers in prop::collection::vec(prop::option::of("(/[a-c0-2]{0,2}){0,2}"), 3),
    ) {
        let mut inbox = inbox(Check::Hmac(HmacCheck { timestamp: Some(other.clone()), ..signed_body() }));
        inbox.decode = pointers[0].clone();
        inbox.items = pointers[1].clone();
        inbox.data = pointers[2].clone().unwrap_or_default();
        inbox.id = vec![place.clone(), other.clone()];
        inbox.kind = vec![other.clone()];
        inbox.time = Some(place.clone());
        inbox.accounts = vec![AccountKey { place: place.clone(), account: String::new() }];
        inbox.handshakes = vec![
            Handshake::EchoQuery("a".to_owned()),
            Handshake::EchoMember(EchoMember { when: (String::new(), "a".to_owned()), member: "/a".to_owned() }),
        ];
        let mut request = Request::post(body).query(&query);
        for (name, value) in lines {
            request = request.header(&name, value);
        }
        let _ = request.verify(&inbox, &[SECRET]);
        inbox.checks = vec![Check::Token(place)];
        let _ = request.verify(&inbox, &["a", ""]);
        let _ = answer_before_verification(&inbox, &request.notification(), &secrets_of(&[SECRET]), true);
        // A whole notification that was verified may be anything too.
        let all = super::verified(&super::inbox(Check::Hmac(signed_body())), &signed("{}"));
        let _ = answer_after_verification(&inbox, &request.notification(), &all);
        for item in crate::items(&inbox, &request.notification(), &all).items {
            prop_assert!(serde_json::from_str::<&serde_json::value::RawValue>(item.data()).is_ok());
            prop_assert!(serde_json::from_str::<&serde_json::value::RawValue>(item.text()).is_ok());
            prop_assert_eq!(item.key.len(), 64);
        }
    }

    #[test]
    fn no_changed_byte_is_ever_verified(
        body in prop::collection::vec(any::<u8>(), 1..60),
        position in any::<prop::sample::Index>(),
        mask in 1_u8..,
        in_signature in any::<bool>(),
    ) {
        let inbox = inbox(Check::Hmac(signed_body()));
        let signature = format!("sha256={}", hmac_hex(SECRET, &body));
        let right = Request::post(body.clone()).header("x-hub-signature-256", &signature);
        prop_assert!(right.verify(&inbox, &[SECRET]).is_ok());
        let mut changed = right;
        if in_signature {
            let mut signature = signature.into_bytes();
            let position = position.index(signature.len());
            let before = signature[position];
            signature[position] ^= mask;
            // Hexadecimal digits may have either case.
            prop_assume!(position < 7 || !before.eq_ignore_ascii_case(&signature[position]));
            let Ok(value) = HeaderValue::from_bytes(&signature) else { return Ok(()) };
            changed.headers.insert("x-hub-signature-256", value);
        } else {
            let position = position.index(changed.body.len());
            changed.body[position] ^= mask;
        }
        prop_assert!(changed.verify(&inbox, &[SECRET]).is_err());
    }
}
