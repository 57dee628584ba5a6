use super::*;
use crate::jwt::KeyRing;
use tokio::runtime::Handle;
use url::Url;

async fn wait_for_keys(ring: &KeyRing, url: &Url) {
    for _ in 0..6000 {
        if ring.keys(url, true).unwrap().is_some() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("no keys came");
}

#[tokio::test]
async fn keys_are_fetched_in_the_background_and_kept() {
    let published = Published::new(&[Pair::ec().jwk("1", json!({}))]).await;
    let url = published.settings().jwks_url;
    let ring = KeyRing::new(egress(), Handle::current());
    assert!(ring.keys(&url, true).unwrap().is_none(), "no one waits for the issuer");
    assert!(ring.look_for_newer(&url, true).unwrap(), "keys are on their way");
    wait_for_keys(&ring, &url).await;
    assert!(!ring.look_for_newer(&url, true).unwrap(), "the issuer published its keys a moment ago");
    wait_for_keys(&ring, &url).await;
    assert_eq!(published.fetches(), 1);
}

#[tokio::test]
async fn an_issuer_that_fails_may_have_keys_that_are_not_known() {
    let published = Published::new(&[]).await;
    published.fail();
    let url = published.settings().jwks_url;
    let ring = KeyRing::new(egress(), Handle::current());
    assert!(ring.keys(&url, true).unwrap().is_none());
    while published.fetches() == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(ring.look_for_newer(&url, true).unwrap());
    assert!(ring.keys(&url, true).unwrap().is_none());
    assert_eq!(published.fetches(), 1, "a fetch that failed is repeated after a while");
}
