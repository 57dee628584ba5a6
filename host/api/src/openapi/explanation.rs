//! The explanation of the API: the description of the whole document.

use config::{Config, Limits};
use contract_rules::limit::PATH_BYTES;
use shape::{MAX_FIELDS, MAX_FILTERS, MAX_PATH_CHARACTERS, MAX_VALUES};

/// Explains what all operations have in common, in CommonMark.
pub(super) fn explanation(config: &Config) -> String {
    let limits = limits(config);
    format!("{CALLS}\n\n{EFFECTS}\n\n{PAGES}\n\n{limits}\n\n{ERRORS}\n\n{FILES}")
}

const CALLS: &str = "Many third-party services through one scheme: each operation is a POST of JSON, and the answer is the service's own \
    JSON. `response_filters` and `response_fields` in the body shape the answer: filters drop items, fields keep members. A shaped \
    answer may lack members that its schema requires.";

const EFFECTS: &str = "## Effects\n\n`x-effect` of an operation says what it does to the user's data. `read` changes nothing. `write` \
    adds or changes data. `destructive` removes or overwrites data that cannot be restored. Operations that write or destroy take \
    `Idempotency-Key`, so that a call that is sent again runs once.";

const PAGES: &str = "## Pages\n\nOperations with further pages have the extension `x-pagination`. `items` is a JSON Pointer to the \
    items in the answer, and `input` is a JSON Pointer to the member of the request body that selects the page. `style` says how the \
    value of `input` for the next page is found. `cursor`: the answer has it at the JSON Pointer `next`; on the last page it is \
    absent, null or empty. `link`: the answer has a URL at `next`, and the query parameter `parameter` of this URL is the value; on \
    the last page the URL is absent. `link_header`: the same with the URL of the link `rel=\"next\"` (RFC 8288) in the header \
    `X-Upstream-Link` of the answer. `page_number`: count pages up from `first`. `offset`: the number of items to skip. With these \
    two, a page without items follows the last page. `last_item`: the last item of the page has the value at the JSON Pointer `next` \
    (the item is the value if `next` is empty). On the last page the boolean of the answer at `more` is false or absent. If there is \
    no `more`, a page without items follows the last page. Do not remove `next` and `more` with `response_fields`.";

const ERRORS: &str = "## Errors\n\nErrors are problem documents (RFC 9457). `type` never changes its meaning. `detail` says what to do, \
    `owner` who can do it, and `retryable` if repeating the call is safe and may succeed; wait for `Retry-After` first. A status of \
    4xx with `upstream` is the service's own. A request that breaks HTTP/1.1 itself gets one too, with the status 400, \
    414 (an address of more than 64 KiB) or 431 (more than 100 headers), and the connection ends.";

const FILES: &str = "## Files\n\nAn operation that answers with a file gives JSON with the file in base64. If `Accept` names the \
    media type of the file itself, such as `application/pdf`, the answer is its bytes. Where an operation has the parameter `Range`, it selects a part of \
    them.";

fn limits(config: &Config) -> String {
    let default = Limits::default();
    format!(
        "## Limits\n\nA request body has at most {} MiB. A call ends after {} s unless the operator has set another time for its \
         connector; `Prefer: wait=N` and `Request-Timeout` shorten it. An answer that is read into memory has at most {} MiB, and a \
         file that is passed on {} MiB. The path and the query of a request to a service, which values of the body are put into, have at \
         most {PATH_BYTES} bytes. A call has at most {MAX_FILTERS} filters of {MAX_VALUES} values, and {MAX_FIELDS} fields of \
         {MAX_PATH_CHARACTERS} characters. Operations with `x-rate-limit` take `requests` calls in `period_s` seconds from all \
         callers together; operations whose limit has the same `name` share it. `RateLimit` says what is left, and calls over the \
         limit get 429 and `Retry-After`.",
        config.max_body_mb, default.timeout_s, default.response_mb, default.download_mb,
    )
}
