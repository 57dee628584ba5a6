//! Objects of a bucket of Amazon S3, or of a service with the same interface. This connector is an
//! example of signed requests: the gateway signs them, and the connector does not see the secret.

mod listing;
#[cfg(test)]
mod tests;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use connector_sdk::http::{Body, Method, TypedBytes};
use connector_sdk::{Fault, Outcome, Request, Response, UpstreamFault, connector, http};
use serde::Serialize;

connector! {
    /// Objects of a bucket of Amazon S3.
    ///
    /// An account is an access key, the region, and one bucket. For another service with the
    /// interface of S3, the operator sets the URL of the upstream `api`, for example
    /// `https://storage.example.com/{bucket}`.
    connector object_storage "Amazon S3";
    auth Auth::ApiKey(ApiKey {
        placement: KeyPlacement::Header { name: "Authorization", prefix: "" },
        form_field: None,
        check: Some("list"),
    });
    auth_additions &[AuthAddition::AwsSignature(AwsSignature { service: "s3", region: Region::Part("region") })];

    /// Region, for example eu-central-1
    address region: label from user;
    /// Name of the bucket
    address bucket: segment(..=63) from user;
    upstream api "https://s3.{region}.amazonaws.com/{bucket}" site "amazonaws.com";

    /// The objects, in the order of their keys
    ///
    /// With a `delimiter`, keys that have it after the `prefix` are grouped in `prefixes`.
    list: read fn list {
        prefix?: string(..=1024),
        /// for example /
        delimiter?: string(..=16),
        max_keys?: integer(1..=1000),
        /// `next` of the previous page
        page?: string(1..=4096),
    }
    pages "/objects" next cursor "/next" into "/page"
    example { prefix: "photos/", delimiter: "/" };

    /// The content of an object
    get: GET api "/{key}" {
        /// does not begin with a slash
        key: string(1..=1024) pattern "^[^/]" keeps_slashes,
        version_id?: string as "versionId",
    }
    answers file
    example { key: "photos/sea.png" };

    /// Stores an object, and replaces one with the same key
    put: destructive fn put {
        key: string(1..=1024),
        /// The content in base64
        content_base64: string,
        content_type?: string(1..=255) default "application/octet-stream",
    }
    example { key: "notes/hello.txt", content_base64: "aGVsbG8=", content_type: "text/plain" };

    /// A link to an object, which needs no account
    ///
    /// Someone who has the link can get the object, or store it with `upload`, until the link ends.
    link: write fn link {
        key: string(1..=1024),
        /// at most seven days
        seconds?: integer(1..=604800) default 3600,
        /// true for a link to which an object is sent with PUT
        upload?: boolean default false,
    }
    example { key: "photos/sea.png", seconds: 600 };
}

/// A request to an object of the bucket.
fn object(method: Method, key: &str) -> Result<Request, Fault> {
    key.split('/').try_fold(Request::new(method, "api", ""), |request, part| request.segment("key", part))
}

fn list(input: List) -> Result<Outcome, Fault> {
    let mut request = Request::get("api", "").query("list-type", 2).query("encoding-type", "url");
    let parameters = [("prefix", input.prefix), ("delimiter", input.delimiter), ("continuation-token", input.page)];
    for (name, value) in parameters {
        if let Some(value) = value {
            request = request.query(name, value);
        }
    }
    if let Some(most) = input.max_keys {
        request = request.query("max-keys", most);
    }
    let response = checked(http::send(request)?)?;
    let page = listing::parse(&response.text()?)
        .ok_or_else(|| Fault::upstream(502, "The service's list of objects cannot be read."))?;
    Outcome::json(&page)
}

/// The answer of the service after it has stored an object.
#[derive(Serialize)]
struct Stored {
    key: String,
    etag: Option<String>,
    version_id: Option<String>,
}

fn put(input: Put) -> Result<Outcome, Fault> {
    let bytes = STANDARD
        .decode(&input.content_base64)
        .map_err(|_| Fault::invalid_input("/content_base64", "Give the content in base64 with padding."))?;
    let mut request = object(Method::Put, &input.key)?;
    request.body = Some(Body::Bytes(TypedBytes { content_type: input.content_type, bytes }));
    let response = checked(http::send(request)?)?;
    let version_id = response.header("x-amz-version-id");
    Outcome::json(&Stored { key: input.key, etag: response.header("etag"), version_id })
}

/// A link, and the time until it ends.
#[derive(Serialize)]
struct SignedLink {
    url: String,
    expires_in: i64,
}

fn link(input: Link) -> Result<Outcome, Fault> {
    let method = if input.upload { Method::Put } else { Method::Get };
    let seconds = u32::try_from(input.seconds).unwrap_or(u32::MAX);
    let url = object(method, &input.key)?.signed_link(seconds)?;
    Outcome::json(&SignedLink { url, expires_in: input.seconds })
}

/// The response, if the service did what it was asked to do. Its error is XML with a code and a
/// message.
fn checked(response: Response) -> Result<Response, Fault> {
    let status = response.status();
    if (200..300).contains(&status) {
        return Ok(response);
    }
    let retry_after_seconds = response.header("retry-after").and_then(|seconds| seconds.trim().parse().ok());
    let text = response.text()?;
    let detail = listing::error(&text).unwrap_or_else(|| "The service refused the request.".to_owned());
    Err(Fault::Upstream(UpstreamFault { status, detail, body: None, retry_after_seconds }))
}
