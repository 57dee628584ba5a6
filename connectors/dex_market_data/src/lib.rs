//! Prices, pairs and pools of decentralised exchanges, from DEX Screener.

mod pairs;

use connector_sdk::connector;

connector! {
    /// Prices, pairs, pools and paid promotion of tokens on decentralised exchanges.
    ///
    /// DEX Screener's rate limits apply, for the whole installation. An answer that is a list has
    /// no enclosing object.
    connector dex_market_data "DEX Screener";
    icon "../icon.svg";
    answer_examples "answers.json";

    auth Auth::None;

    upstream api "https://api.dexscreener.com";

    rate_limit market 300 per minute;
    rate_limit listings 60 per minute;

    fields token {
        /// for example solana, ethereum, base
        chain_id: string,
        /// address of the token on its chain
        token_address: string,
    };

    /// Pools of a token address
    get_token_pools: GET api "/token-pairs/v1/{chain_id}/{token_address}" { ..token }
    rate_limit market
    example { chain_id: "solana", token_address: "JUPyiwrYJFskUPiHa7hkeR8VUtAeFoSYbKedZNsDvCN" };

    /// Latest token profiles
    get_token_profiles: GET api "/token-profiles/latest/v1" no_envelope rate_limit listings;

    /// Latest boosted tokens
    get_token_boosts: GET api "/token-boosts/latest/v1" no_envelope rate_limit listings;

    /// Tokens with most active boosts
    get_top_token_boosts: GET api "/token-boosts/top/v1" no_envelope rate_limit listings;

    /// Orders paid for a token
    ///
    /// DEX Screener answers with a list or with `{orders: [...]}`.
    check_token_orders: GET api "/orders/v1/{chain_id}/{token_address}" { ..token }
    rate_limit listings
    example { chain_id: "solana", token_address: "A55XjvzRU4KtR3Lrys8PpLZQvPojPqvnv5bJVHMYy3Jv" };

    /// Pairs by chain and pair address (one or several)
    get_pairs_by_address: GET api "/latest/dex/pairs/{chain_id}/{pair_id}" {
        /// for example solana, ethereum, base
        chain_id: string,
        /// one address or several
        pair_id: string | [string](..=30),
    }
    rate_limit market
    example { chain_id: "solana", pair_id: ["JUPyiwrYJFskUPiHa7hkeR8VUtAeFoSYbKedZNsDvCN"] };

    /// Pairs matching a query
    search_pairs: GET api "/latest/dex/search" {
        /// symbols, names or addresses, such as SOL/USDC
        q: string,
    }
    rate_limit market
    example { q: "SOL/USDC" };

    /// Pairs by token address (one or several)
    ///
    /// The answer is a list of the pairs of the chain `chain_id`, or of all chains.
    get_pairs_by_token: read fn pairs::by_token {
        /// one address or several
        token_addresses: string | [string](1..=30) pattern r"[^,\s]",
        /// limits the answer to one chain
        chain_id?: string(1..),
    }
    rate_limit market
    example { chain_id: "solana", token_addresses: ["So11111111111111111111111111111111111111112"] };

    /// Recently updated token profiles
    get_recently_updated_token_profiles: GET api "/token-profiles/recent-updates/v1" rate_limit listings example {};

    /// Latest community takeovers of tokens
    get_community_takeovers: GET api "/community-takeovers/latest/v1" rate_limit listings example {};
}

#[cfg(test)]
mod operation_tests;
