//! Statements with syntax errors. The parser still reads the statements after them.

connector_sdk::connector! {
    connector example "Example";
    auth Auth::None;
    upstreams api "https://api.example.com";
    upstream api "https://api.example.com" redirects ["a.example.com"];
    upstream api "https://api.example.com" credential always;
    upstream api "https://api.example.com" pacing { interval_ms: 3000, concurrency: 0, max_wait_ms: 15000 };
    upstream api https;
    upstream "api";
    rate_limit 10 per minute;
    values ["red"];
    setting 5: string;
    "auth" Auth::None;
    rate_limit slow many per minute;
    rate_limit slow 10 each minute;
    rate_limit slow 10 per fortnight;
    rate_limit slow 0 per minute;
    header "X-Version" "1" if query ["q"];
    header "X-Version" "1" when query ["q" except "1"];
    header 1 "1";
    upstream links "https://api.example.com" links "a.example.com";
    lists separated;
    values colors "red";
    fields { a: string };
    icon logo;
    #[cfg(test)]
    icon "logo.svg";
    answer_examples answers;
    answer_examples "answers.json";
    /// The main service.
    upstream api "https://api.example.com";
    via
    values colors ["red"];

    /// A row
    a: GET api "/a";
    /// Nothing follows
}

fn main() {}
