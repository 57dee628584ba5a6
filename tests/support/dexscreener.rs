//! A stand-in for the market data service: three pairs, and lists of promoted tokens.

use serde_json::{Value, json};

use crate::{Reply, Upstream};

/// An answer with numbers that a conversion to floating point would change.
pub const PRECISE_PAIR: &str = r#"{"schemaVersion":"1.0.0","pairs":[{"chainId":"solana","pairAddress":"Precise1111","priceUsd":"0.10","volume":{"h24":1.0,"h6":123456789012345678901234567890},"liquidity":{"usd":1e-7},"pairCreatedAt":1700000000000}]}"#;

/// A pair in the service's form.
pub fn pair(chain: &str, address: &str, dex: &str, price: &str) -> Value {
    json!({
        "chainId": chain,
        "dexId": dex,
        "url": format!("https://dexscreener.com/{chain}/{}", address.to_lowercase()),
        "pairAddress": address,
        "labels": ["v2"],
        "baseToken": {"address": format!("{address}Base"), "name": "Example", "symbol": "EXM"},
        "quoteToken": {"address": "So1", "name": "Wrapped SOL", "symbol": "SOL"},
        "priceNative": "0.0025",
        "priceUsd": price,
        "txns": {"m5": {"buys": 1, "sells": 0}, "h24": {"buys": 240, "sells": 96}},
        "volume": {"h24": 1250.5, "m5": 0},
        "priceChange": {"h24": -2.5},
        "liquidity": {"usd": 98000.25, "base": 40000, "quote": 120.5},
        "fdv": 1_000_000,
        "marketCap": 750_000,
        "pairCreatedAt": 1_700_000_000_000_u64,
        "info": {"imageUrl": "https://images.example/exm.png", "websites": [{"label": "Website", "url": "https://exm.example"}]},
    })
}

/// The pairs of the stand-in.
pub fn pairs() -> Vec<Value> {
    vec![
        pair("solana", "PairOne", "raydium", "0.50"),
        pair("solana", "PairTwo", "orca", "0.51"),
        pair("ethereum", "PairThree", "uniswap", "0.49"),
    ]
}

/// A token with a paid promotion.
pub fn promoted(address: &str, amount: Option<u32>) -> Value {
    let mut token = json!({
        "url": format!("https://dexscreener.com/solana/{address}"),
        "chainId": "solana",
        "tokenAddress": address,
        "icon": "https://images.example/icon.png",
        "description": "An example",
        "links": [{"type": "twitter", "url": "https://social.example/exm"}],
    });
    if let Some(amount) = amount {
        token["amount"] = amount.into();
        token["totalAmount"] = (amount * 10).into();
    }
    token
}

/// Starts the stand-in.
pub fn start() -> Upstream {
    let upstream = Upstream::start();
    let on_chain = |seen: &crate::Seen| {
        let chain = seen.path.split('/').rev().nth(1).unwrap_or_default().to_owned();
        pairs().into_iter().filter(|pair| pair["chainId"] == *chain).collect::<Vec<_>>()
    };
    upstream
        .on("*", move |seen| match seen.path.trim_start_matches('/') {
            path if path.starts_with("token-pairs/v1/") => Reply::json(on_chain(seen).into()),
            path if path.starts_with("tokens/v1/") => Reply::json(on_chain(seen).into()),
            path if path.starts_with("latest/dex/pairs/") => {
                Reply::json(json!({"schemaVersion": "1.0.0", "pairs": on_chain(seen)}))
            }
            path if path.starts_with("latest/dex/tokens/") => {
                Reply::json(json!({"schemaVersion": "1.0.0", "pairs": pairs()}))
            }
            path if path.starts_with("orders/v1/") => Reply::json(json!([
                {"type": "tokenProfile", "status": "approved", "paymentTimestamp": 1_700_000_000_000_u64},
            ])),
            _ => Reply::empty(404),
        })
        .on("/latest/dex/search", |_| Reply::json(json!({"schemaVersion": "1.0.0", "pairs": pairs()})))
        .reply("/token-profiles/latest/v1", Reply::json(json!([promoted("TokenOne", None)])))
        .reply("/token-profiles/recent-updates/v1", Reply::json(json!([promoted("TokenTwo", None)])))
        .reply("/token-boosts/latest/v1", Reply::json(json!([promoted("TokenOne", Some(10))])))
        .reply("/token-boosts/top/v1", Reply::json(json!([promoted("TokenTwo", Some(500))])))
        .reply("/community-takeovers/latest/v1", Reply::json(json!([promoted("TokenThree", None)])));
    upstream
}
