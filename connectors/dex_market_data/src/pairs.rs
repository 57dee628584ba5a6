//! Pairs by token: the service has one method for a chain, and an older one for all chains.

use connector_sdk::json::Kind;
use connector_sdk::{Document, Fault, Outcome, Request, http};

use crate::GetPairsByToken;

/// The service takes no more addresses in one call.
const MOST_ADDRESSES: usize = 30;

pub(crate) fn by_token(input: GetPairsByToken) -> Result<Outcome, Fault> {
    let addresses = distinct(&input.token_addresses.0);
    if addresses.len() > MOST_ADDRESSES {
        return Err(Fault::invalid_input("/token_addresses", "Give at most 30 different addresses."));
    }
    match input.chain_id {
        Some(chain) => of_chain(&chain, &addresses),
        None => of_all_chains(&addresses),
    }
}

/// Each address once, in the order given. A string may hold several with commas between them, as the service itself takes them.
fn distinct(given: &[String]) -> Vec<&str> {
    let mut addresses = Vec::new();
    for address in given.iter().flat_map(|text| text.split(',')).map(str::trim).filter(|address| !address.is_empty()) {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    addresses
}

/// The present method answers the list itself.
fn of_chain(chain: &str, addresses: &[&str]) -> Result<Outcome, Fault> {
    let request =
        Request::get("api", "/tokens/v1").segment("chain_id", chain)?.joined_segment("token_addresses", addresses)?;
    Ok(Outcome::Forward(request))
}

/// The older method answers `{schemaVersion, pairs}`, where `pairs` is null when there are none.
fn of_all_chains(addresses: &[&str]) -> Result<Outcome, Fault> {
    let request = Request::get("api", "/latest/dex/tokens").joined_segment("token_addresses", addresses)?;
    let response = http::send(request)?;
    if matches!(response.status(), 404 | 410) {
        return Err(Fault::invalid_input(
            "/chain_id",
            "Give `chain_id`: the service no longer searches all chains at once.",
        ));
    }
    let answer = response.successful()?.document()?;
    Ok(pairs_of(answer))
}

fn pairs_of(answer: Document) -> Outcome {
    match answer.pointer("/pairs") {
        Some(pairs) if pairs.kind() == Kind::Array => Outcome::ReplyDocument(pairs),
        _ if answer.kind() == Kind::Array => Outcome::ReplyDocument(answer),
        _ => Outcome::Reply("[]".to_owned()),
    }
}
