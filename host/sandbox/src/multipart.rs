//! The `multipart` interface: bodies of forms with files. They are built here and stay in the
//! gateway, and the guest gets a media type that stands for each.

use contract_rules::limit::PARTS;
use egress::{Multipart, PartContent, SentPart};
use ring::rand::{SecureRandom, SystemRandom};

use super::bindings::gateway::connector::http::TypedBytes;
use super::bindings::gateway::connector::multipart::{BrokenPart, Content, Host, Part};
use super::guest::Guest;

/// Random bytes of a boundary. It separates parts safely because no content can have it by chance.
const BOUNDARY_BYTES: usize = 16;

/// The bytes that a body takes in addition to its content and its names: its entry in the table.
const ENTRY_BYTES: usize = 256;

impl Guest {
    /// The body that the guest built and that this body stands for.
    pub(super) fn built_multipart(&self, body: &TypedBytes) -> Option<Multipart> {
        if body.bytes.is_empty() { self.multiparts.get(&body.content_type).cloned() } else { None }
    }

    /// Builds a body and keeps it. Returns the media type that stands for it.
    pub(super) fn keep_multipart(
        &mut self,
        parts: &[egress::Part<'_>],
        boundary: &str,
    ) -> wasmtime::Result<Result<String, egress::BrokenPart>> {
        let held = self.host_memory.hold(kept_bytes(parts, boundary))?;
        Ok(Multipart::build(parts, boundary, |body| held.tie(body)).map(|built| {
            let content_type = built.content_type().to_owned();
            self.multiparts.insert(content_type.clone(), built);
            content_type
        }))
    }
}

/// The memory that a body takes while it is built, and afterwards. The estimate has each name three
/// times: twice for the names that are kept in addition to the body.
fn kept_bytes(parts: &[egress::Part<'_>], boundary: &str) -> usize {
    let entries = parts.len().saturating_mul(size_of::<SentPart>());
    Multipart::most_bytes(parts, boundary).saturating_add(entries).saturating_add(ENTRY_BYTES)
}

impl Host for Guest {
    async fn build(&mut self, parts: Vec<Part>) -> wasmtime::Result<Result<String, BrokenPart>> {
        if parts.len() > PARTS {
            let index = u32::try_from(PARTS)?;
            return Ok(Err(BrokenPart { index, detail: format!("Give at most {PARTS} parts.") }));
        }
        let boundary = boundary()?;
        let parts: Vec<egress::Part<'_>> = parts.iter().map(to_send).collect();
        let build = |guest: &mut Self| {
            Ok(match guest.keep_multipart(&parts, &boundary)? {
                Ok(content_type) => Ok(content_type),
                Err(broken) => Err(BrokenPart { index: u32::try_from(broken.index)?, detail: broken.detail }),
            })
        };
        self.compute(kept_bytes(&parts, &boundary), build).await
    }
}

fn to_send(part: &Part) -> egress::Part<'_> {
    egress::Part {
        name: &part.name,
        file_name: part.file_name.as_deref(),
        content_type: part.content_type.as_deref(),
        content: match &part.content {
            Content::Text(text) => PartContent::Bytes(text.as_bytes()),
            Content::Bytes(bytes) => PartContent::Bytes(bytes),
            Content::Base64(text) => PartContent::Base64(text),
        },
    }
}

pub(crate) fn boundary() -> wasmtime::Result<String> {
    let mut bytes = [0; BOUNDARY_BYTES];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| wasmtime::format_err!("the operating system gives no random values"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_bodies_have_the_same_boundary() {
        let boundaries = [boundary().unwrap(), boundary().unwrap()];
        assert_ne!(boundaries[0], boundaries[1]);
        assert!(boundaries.iter().all(|boundary| boundary.len() == 2 * BOUNDARY_BYTES));
    }
}
