use super::*;

#[tokio::test]
async fn a_new_key_of_the_issuer_is_found_and_a_withdrawn_one_is_forgotten() {
    let (old, new) = (Pair::ec(), Pair::ec());
    let published = Published::new(&[old.jwk("old", json!({}))]).await;
    let issuers = published.eager();
    let (by_old, by_new) = (old.sign(es256("old"), &claims(json!({}))), new.sign(es256("new"), &claims(json!({}))));
    issuers.verify(&by_old).await.unwrap();
    assert_eq!(issuers.verify(&by_new).await, Err(JwtError::UnknownKey));
    published.publish(&[new.jwk("new", json!({}))]);
    issuers.verify(&by_new).await.unwrap();
    assert_eq!(issuers.verify(&by_old).await, Err(JwtError::UnknownKey));
}

#[tokio::test]
async fn new_keys_without_ids_are_found_too() {
    let (old, new) = (Pair::ec(), Pair::ec());
    let published = Published::new(&[old.jwk("1", json!({ "kid": null }))]).await;
    let issuers = published.eager();
    let token = |pair: &Pair| pair.sign(json!({ "alg": "ES256" }), &claims(json!({})));
    issuers.verify(&token(&old)).await.unwrap();
    assert_eq!(issuers.verify(&token(&new)).await, Err(JwtError::UnknownKey));
    published.publish(&[old.jwk("1", json!({})), new.jwk("2", json!({}))]);
    issuers.verify(&token(&new)).await.unwrap();
    issuers.verify(&token(&old)).await.unwrap();
}

#[tokio::test]
async fn a_new_key_under_the_id_of_the_previous_one_is_found() {
    let (old, new) = (Pair::ec(), Pair::ec());
    let published = Published::new(&[old.jwk("1", json!({}))]).await;
    let issuers = published.eager();
    let token = |pair: &Pair| pair.sign(es256("1"), &claims(json!({})));
    issuers.verify(&token(&old)).await.unwrap();
    published.publish(&[new.jwk("1", json!({}))]);
    issuers.verify(&token(&new)).await.unwrap();
    assert_eq!(issuers.verify(&token(&old)).await, Err(JwtError::WrongSignature));
    let other_kind = Pair::ed();
    published.publish(&[other_kind.jwk("1", json!({}))]);
    issuers.verify(&other_kind.sign(json!({ "alg": "EdDSA", "kid": "1" }), &claims(json!({})))).await.unwrap();
}

#[tokio::test]
async fn many_forged_tokens_at_once_cause_one_fetch() {
    let pair = Pair::ec();
    let published = Published::new(&[pair.jwk("1", json!({}))]).await;
    let issuers = published.issuers();
    issuers.issuers[0].keys.fetch().await.unwrap();
    let forged: Vec<_> = (0..200).map(|_| Pair::ec().sign(es256("1"), &claims(json!({})))).collect();
    let answers = join_all(forged.iter().map(|token| issuers.verify(token))).await;
    assert!(answers.iter().all(|answer| answer == &Err(JwtError::WrongSignature)));
    assert_eq!(published.fetches(), 2, "the first fetch was at the start");
    issuers.verify(&pair.sign(es256("1"), &claims(json!({})))).await.unwrap();
    // An unknown key has the same pause.
    assert_eq!(issuers.verify(&pair.sign(es256("2"), &claims(json!({})))).await, Err(JwtError::UnknownKey));
    assert_eq!(published.fetches(), 2);
}

#[tokio::test]
async fn many_unknown_keys_at_once_cause_one_fetch() {
    let pair = Pair::ec();
    let published = Published::new(&[pair.jwk("1", json!({}))]).await;
    let issuers = published.issuers();
    let tokens: Vec<_> =
        (0..200).map(|number| pair.sign(es256(&format!("made-up-{number}")), &claims(json!({})))).collect();
    let answers = join_all(tokens.iter().map(|token| issuers.verify(token))).await;
    assert!(answers.iter().all(|answer| answer == &Err(JwtError::UnknownKey)));
    assert_eq!(published.fetches(), 1);
    issuers.verify(&pair.sign(es256("1"), &claims(json!({})))).await.unwrap();
    assert_eq!(published.fetches(), 1);
}

#[tokio::test]
async fn known_keys_stay_in_use_while_the_issuer_fails() {
    let pair = Pair::ec();
    let published = Published::new(&[pair.jwk("1", json!({}))]).await;
    let issuers = published.eager();
    let token = pair.sign(es256("1"), &claims(json!({})));
    issuers.verify(&token).await.unwrap();
    published.fail();
    assert_eq!(issuers.verify(&pair.sign(es256("2"), &claims(json!({})))).await, Err(JwtError::UnknownKey));
    issuers.verify(&token).await.unwrap();
    *published.answer.lock() = (200, json!("no keys at all"));
    assert_eq!(issuers.verify(&pair.sign(es256("2"), &claims(json!({})))).await, Err(JwtError::UnknownKey));
    issuers.verify(&token).await.unwrap();
}

#[tokio::test]
async fn without_any_keys_the_error_is_not_about_the_callers_token() {
    let pair = Pair::ec();
    let published = Published::new(&[pair.jwk("1", json!({}))]).await;
    published.fail();
    let issuers = published.issuers();
    let token = pair.sign(es256("1"), &claims(json!({})));
    for _ in 0..10 {
        assert_eq!(issuers.verify(&token).await, Err(JwtError::KeysUnavailable));
    }
    assert_eq!(published.fetches(), 1);
}

#[tokio::test]
async fn keys_at_a_private_address_are_fetched_only_if_the_operator_allows_it() {
    let pair = Pair::ec();
    let published = Published::new(&[pair.jwk("1", json!({}))]).await;
    let issuers = published.with(JwtIssuer { allow_private_network: false, ..published.settings() });
    let token = pair.sign(es256("1"), &claims(json!({})));
    assert_eq!(issuers.verify(&token).await, Err(JwtError::KeysUnavailable));
    assert_eq!(published.fetches(), 0);
}

#[tokio::test]
async fn keys_are_fetched_before_the_first_call() {
    let pair = Pair::ec();
    let published = Published::new(&[pair.jwk("1", json!({}))]).await;
    let issuers = published.issuers();
    let watching = issuers.follow();
    let fetched = async {
        while issuers.issuers[0].keys.current().is_none() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        () = watching => panic!("following the keys ended"),
        () = fetched => {}
    }
    issuers.verify(&pair.sign(es256("1"), &claims(json!({})))).await.unwrap();
    assert_eq!(published.fetches(), 1);
}
