//! Pairs by token. DEX Screener has a method for one chain, and an older method for all chains.

use connector_sdk::http::Error;
use connector_sdk::json::Kind;
use connector_sdk::{Document, Fault, Outcome, Request, http};

use crate::GetPairsByToken;

/// Maximum number of addresses in a request of DEX Screener.
const MAX_ADDRESSES: usize = 30;

pub(crate) fn by_token(input: GetPairsByToken) -> Result<Outcome, Fault> {
    let addresses = distinct(&input.token_addresses.0);
    if addresses.len() > MAX_ADDRESSES {
        return Err(Fault::invalid_input("/token_addresses", "Give at most 30 different addresses."));
    }
    match input.chain_id {
        Some(chain) => of_chain(&chain, &addresses),
        None => of_all_chains(&addresses),
    }
}

/// The addresses in their order, without duplicates. A string may contain several addresses,
/// separated by commas.
fn distinct(given: &[String]) -> Vec<&str> {
    let mut addresses = Vec::new();
    for address in given.iter().flat_map(|text| text.split(',')).map(str::trim).filter(|address| !address.is_empty()) {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    addresses
}

/// The method for one chain answers with a list of pairs.
fn of_chain(chain: &str, addresses: &[&str]) -> Result<Outcome, Fault> {
    let request =
        Request::get("api", "/tokens/v1").segment("chain_id", chain)?.joined_segment("token_addresses", addresses)?;
    Ok(Outcome::Forward(request))
}

/// The older method answers with `{schemaVersion, pairs}`, in which `pairs` is null if there are no
/// pairs.
fn of_all_chains(addresses: &[&str]) -> Result<Outcome, Fault> {
    let request = Request::get("api", "/latest/dex/tokens").joined_segment("token_addresses", addresses)?;
    let response = http::send(request)?;
    if matches!(response.status(), 404 | 410) {
        return Err(Fault::invalid_input(
            "/chain_id",
            "Give `chain_id`: DEX Screener no longer searches all chains at once.",
        ));
    }
    pairs_of(response.successful()?.document()?)
}

/// # Errors
/// [`Error::BadAnswer`] if `pairs` is neither a list nor null.
fn pairs_of(answer: Document) -> Result<Outcome, Fault> {
    if answer.kind() == Kind::Array {
        return Ok(Outcome::ReplyDocument(answer));
    }
    match answer.pointer("/pairs") {
        Some(pairs) if pairs.kind() == Kind::Array => Ok(Outcome::ReplyDocument(pairs)),
        Some(pairs) if pairs.kind() == Kind::Null => Ok(Outcome::Reply("[]".to_owned())),
        _ => Err(Error::BadAnswer("DEX Screener's response has no list `pairs`".to_owned()).into()),
    }
}
