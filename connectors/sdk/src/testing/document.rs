//! A JSON document that keeps the text of its numbers and the order of its members, as the
//! gateway's documents do.

use rows::reader;

use crate::json::Kind;

/// The text of one value.
#[derive(Clone, Debug)]
pub(crate) struct Document(String);

impl Document {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let raw: &serde_json::value::RawValue = serde_json::from_str(text).map_err(|error| error.to_string())?;
        Ok(Self(raw.get().to_owned()))
    }

    pub(crate) fn pointer(&self, pointer: &str) -> Option<Self> {
        let mut value = self.clone();
        if pointer.is_empty() {
            return Some(value);
        }
        for step in pointer.strip_prefix('/')?.split('/') {
            let step = step.replace("~1", "/").replace("~0", "~");
            let index = match value.kind() {
                Kind::Object => value.keys().iter().position(|key| *key == step)?,
                Kind::Array => step.parse().ok()?,
                _ => return None,
            };
            value = value.item(u32::try_from(index).ok()?)?;
        }
        Some(value)
    }

    pub(crate) fn kind(&self) -> Kind {
        match self.0.as_bytes().first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Boolean,
            Some(b'n') | None => Kind::Null,
            Some(_) => Kind::Number,
        }
    }

    fn parts(&self) -> Vec<(Option<String>, String)> {
        match self.kind() {
            Kind::Object => {
                let members = reader::members(&self.0).unwrap_or_default();
                members.into_iter().map(|member| (Some(member.name.into_owned()), member.value.to_owned())).collect()
            }
            Kind::Array => {
                let items = reader::items(&self.0).unwrap_or_default();
                items.into_iter().map(|item| (None, item.to_owned())).collect()
            }
            _ => Vec::new(),
        }
    }

    pub(crate) fn length(&self) -> u32 {
        u32::try_from(self.parts().len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn keys(&self) -> Vec<String> {
        self.parts().into_iter().filter_map(|(name, _)| name).collect()
    }

    pub(crate) fn item(&self, index: u32) -> Option<Self> {
        self.parts().into_iter().nth(usize::try_from(index).ok()?).map(|(_, text)| Self(text))
    }

    pub(crate) fn text(&self) -> String {
        self.0.clone()
    }

    pub(crate) fn as_string(&self) -> Option<String> {
        if self.kind() == Kind::String { serde_json::from_str(&self.0).ok() } else { None }
    }
}
