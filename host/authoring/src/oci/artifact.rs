//! The layout of a module in a registry: a WebAssembly artifact (CNCF, TAG Runtime), which `wkg`
//! and other tools read.
//!
//! A manifest names one layer, which is the module, and a document about the component. The same
//! module makes the same manifest, so a second push of it changes nothing.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;

use crate::check::report::Report;
use sandbox::provenance::{Interfaces, Provenance};
use store::digest::sha256_hex;

/// The media type of a manifest.
pub(super) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// The media type of a module.
pub(super) const LAYER: &str = "application/wasm";

/// The media type of the document about the component.
pub(super) const CONFIG: &str = "application/vnd.wasm.config.v0+json";

/// The annotation of the layer that has the text of the module's signature.
const SIGNATURE: &str = "org.connector-gateway.module.minisig";

/// A fixed time, because all artifacts of a module must be equal.
const CREATED: &str = "1970-01-01T00:00:00Z";

/// A module with the documents that a registry keeps with it.
pub(crate) struct Artifact {
    pub(super) module: Bytes,
    pub(super) config: Bytes,
    pub(super) manifest: Bytes,
}

impl Artifact {
    /// The artifact of a module that was checked.
    ///
    /// # Errors
    /// If a document cannot be written as JSON.
    pub(crate) fn new(module: Bytes, report: &Report, signature: Option<&str>) -> serde_json::Result<Self> {
        let Interfaces { imports, exports } = Interfaces::read(&module);
        let config = json!({
            "created": CREATED,
            "author": report.summary.author,
            "architecture": "wasm",
            "os": "wasip2",
            "layerDigests": [digest(&module)],
            "component": {"exports": exports, "imports": imports, "target": null},
        });
        let config = serde_json::to_vec(&config)?;
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {"mediaType": CONFIG, "digest": digest(&config), "size": config.len()},
            "layers": [{
                "mediaType": LAYER,
                "digest": digest(&module),
                "size": module.len(),
                "annotations": signature.map(|text| BTreeMap::from([(SIGNATURE, text)])).unwrap_or_default(),
            }],
            "annotations": annotations(&module, report),
        });
        Ok(Self { config: config.into(), manifest: serde_json::to_vec(&manifest)?.into(), module })
    }

    /// The digest of the manifest, by which the artifact can be pulled.
    pub(super) fn digest(&self) -> String {
        digest(&self.manifest)
    }
}

/// The annotations that registries show.
fn annotations(module: &[u8], report: &Report) -> BTreeMap<&'static str, String> {
    let Provenance { source, revision, .. } = Provenance::read(module);
    let known = [
        ("org.opencontainers.image.title", Some(report.summary.title.clone())),
        ("org.opencontainers.image.version", Some(report.summary.version.clone())),
        ("org.opencontainers.image.description", Some(report.description.clone())),
        ("org.opencontainers.image.licenses", report.summary.license.clone()),
        ("org.opencontainers.image.vendor", report.summary.author.clone()),
        ("org.opencontainers.image.url", report.summary.homepage.clone()),
        ("org.opencontainers.image.source", source),
        ("org.opencontainers.image.revision", revision),
    ];
    known.into_iter().filter_map(|(name, text)| Some((name, text.filter(|text| !text.is_empty())?))).collect()
}

/// The parts of a manifest that lead to the module.
#[derive(Deserialize)]
struct ManifestDocument {
    config: Descriptor,
    layers: Vec<Descriptor>,
}

/// The name of a blob.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Descriptor {
    media_type: String,
    pub(super) digest: String,
    pub(super) size: u64,
    #[serde(default)]
    annotations: Option<BTreeMap<String, String>>,
}

/// The module in an artifact that was pulled, and the text of its signature. URLs of other servers
/// in the manifest are ignored: the module is fetched only from the registry that the user named.
///
/// # Errors
/// A sentence without a full stop that says why the artifact has no module.
pub(super) fn layer(manifest: &[u8]) -> Result<(Descriptor, Option<String>), String> {
    let ManifestDocument { config, layers } = serde_json::from_slice(manifest)
        .map_err(|error| format!("it is not a WebAssembly artifact: its manifest is not understood: {error}"))?;
    if config.media_type != CONFIG {
        return Err(format!("it is not a WebAssembly artifact: its config is of type {:?}", config.media_type));
    }
    let Ok([mut layer]) = <[Descriptor; 1]>::try_from(layers) else {
        return Err("it does not have exactly one layer".to_owned());
    };
    if layer.media_type != LAYER {
        return Err(format!("its layer is of type {:?}, not {LAYER}", layer.media_type));
    }
    if !is_digest(&layer.digest) {
        return Err(format!("its layer has the digest {:?}, not one of sha256", layer.digest));
    }
    let signature = layer.annotations.take().and_then(|mut annotations| annotations.remove(SIGNATURE));
    Ok((layer, signature))
}

/// Returns `true` for a digest as [`digest`] makes it.
pub(super) fn is_digest(text: &str) -> bool {
    let hexadecimal = text.strip_prefix("sha256:").unwrap_or_default();
    hexadecimal.len() == 64 && hexadecimal.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The digest of bytes, with its algorithm.
pub(super) fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", sha256_hex(bytes))
}
