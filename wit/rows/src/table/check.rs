//! The rules of a row as its author writes it. The same mistake has the same words in every form of a table.

use contract_rules::schema::Kind;
use contract_rules::{Broken, header, name};

use super::{FieldPart, RequestPart, TableField, TableRow, names};
use crate::row::{BodyEncoding, Encoding};

impl TableField {
    /// The rules of a field that do not depend on a request. `takes_null` is `true` if null can be a
    /// value of the field.
    #[must_use]
    pub fn check(&self, envelope: bool, takes_null: bool) -> Vec<(FieldPart, Broken)> {
        let mut found = Vec::new();
        let spec = &self.spec;
        found.extend(name::field(&spec.name, envelope).err().map(|broken| (FieldPart::Name, broken)));
        if spec.default.is_some() && !spec.optional {
            let rule = format!("a field with a default is optional: `{}?`", spec.name);
            found.push((FieldPart::Default, rule.into()));
        }
        if spec.nullable && !takes_null {
            found.push((
                FieldPart::Name,
                "`nullable` is for an optional member of the body of a request: `name?: type nullable`".into(),
            ));
        }
        if self.encoding != Encoding::Segment && !matches!(spec.kind, Kind::String) {
            found.push((FieldPart::Kind, "`keeps_slashes` and `odata_string` are for a string".into()));
        }
        found
    }
}

impl TableRow {
    /// Every rule that a field breaks, except those of its schema.
    #[must_use]
    pub fn check_field(&self, field: &TableField) -> Vec<(FieldPart, Broken)> {
        let mut found = self.check_part(field);
        let takes_null = field.spec.optional && self.part(field) == RequestPart::Body && !self.is_whole_body(field);
        found.extend(field.check(self.envelope, takes_null));
        found
    }

    /// The rules of the part of the request that takes a field.
    fn check_part(&self, field: &TableField) -> Vec<(FieldPart, Broken)> {
        let mut found = Vec::new();
        let name = &field.spec.name;
        let part = self.part(field);
        match (names(&self.path).contains(&name.as_str()), part == RequestPart::Path) {
            (true, false) => {
                let rule = format!("the path has `{{{name}}}`, so the field is a part of it");
                return vec![(FieldPart::RequestPart, rule.into())];
            }
            (false, true) => return vec![(FieldPart::RequestPart, format!("the path has no `{{{name}}}`").into())],
            _ => {}
        }
        if part == RequestPart::Path && field.spec.optional && !field.sent {
            let rule = format!("the path needs `{name}`, so the field is not optional");
            found.push((FieldPart::Name, rule.into()));
        }
        let is_object = |kind: &Kind| matches!(kind, Kind::Object | Kind::Members(_));
        let has_objects = match &field.spec.kind {
            Kind::List(item) => is_object(item),
            kind => is_object(kind),
        };
        let rule = match part {
            _ if field.is_file() => {
                let is_part_of_form = part == RequestPart::Body && self.encoding == BodyEncoding::Multipart;
                let rule = "a `file` is in the body of a row with `multipart`; a function can take one too";
                (!is_part_of_form).then_some(rule)
            }
            RequestPart::Path if has_objects || field.is_entries() => Some("an object cannot be a part of a path"),
            RequestPart::Query | RequestPart::Header if has_objects => {
                Some("an object cannot be a parameter or a header; `entries[name, …]` makes one of each of its members")
            }
            RequestPart::Body if field.is_entries() => {
                Some("entries become query parameters or headers; for a member of the body write its fields in braces")
            }
            _ => None,
        };
        found.extend(rule.map(|rule| (FieldPart::Kind, rule.into())));
        found
    }

    /// The rules between the fields of a body. A mistake has the index of its field, if it is about
    /// one.
    #[must_use]
    pub fn check_body(&self) -> Vec<(Option<usize>, Broken)> {
        let mut found = Vec::new();
        let in_body = |field: &TableField| self.part(field) == RequestPart::Body;
        let word = match self.encoding {
            BodyEncoding::Json => None,
            BodyEncoding::Form => Some("form"),
            BodyEncoding::Multipart => Some("multipart"),
        };
        if let Some(word) = word
            && self.fixed_body.is_empty()
            && !self.fields.iter().any(in_body)
        {
            let rule = format!("a row with `{word}` has a field in its body, which is sent as a form");
            found.push((None, rule.into()));
        }
        let Some(whole) = self.fields.iter().position(|field| self.is_whole_body(field)) else { return found };
        for (index, member) in self.fields.iter().enumerate() {
            if in_body(member) && !self.is_whole_body(member) {
                let rule = format!(
                    "`body` is the whole request body, so `{0}` cannot be a member of it; write `{0}` with `in query`, or leave one out",
                    member.spec.name
                );
                found.push((Some(index), rule.into()));
            }
        }
        if !self.fixed_body.is_empty() {
            let rule = "`body` is sent as it is, so it cannot have the members of `fixed_body`";
            found.push((Some(whole), rule.into()));
        }
        found
    }

    /// The rule that no two fields have the same place in the request, and no field is inside of
    /// another one. A mistake has the index of its field.
    #[must_use]
    pub fn check_sent_names(&self) -> Vec<(usize, FieldPart, Broken)> {
        let mut found = Vec::new();
        for (index, field) in self.fields.iter().enumerate() {
            let part = self.part(field);
            match &field.spec.kind {
                Kind::Entries(entries) | Kind::TextEntries(entries) => {
                    let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
                    let twice =
                        names.iter().enumerate().find(|(at, name)| names.iter().take(*at).any(|known| known == *name));
                    if let Some((_, name)) = twice {
                        found.push((index, FieldPart::Kind, format!("the entry `{name}` is there twice").into()));
                    }
                    if part == RequestPart::Header {
                        let broken = names.iter().filter_map(|name| header::name(name).err());
                        found.extend(broken.map(|broken| (index, FieldPart::Kind, broken)));
                    }
                }
                _ if self.is_whole_body(field) => {}
                _ => {
                    let earlier = self.fields.get(..index).unwrap_or_default();
                    let broken = self.check_sent_name(part, field, earlier).err();
                    found.extend(broken.map(|broken| (index, FieldPart::SentName, broken)));
                }
            }
        }
        found
    }

    fn check_sent_name(&self, part: RequestPart, field: &TableField, earlier: &[TableField]) -> Result<(), Broken> {
        let (name, path) = (field.sent_name(), field.body_path());
        match part {
            RequestPart::Path => return Ok(()),
            RequestPart::Query if name.is_empty() => return Err("the name of a parameter is not empty".into()),
            RequestPart::Body if path.iter().any(|step| step.is_empty()) => {
                return Err("a part of the name is empty: dots lead into inner objects, as in `color.textColor`".into());
            }
            RequestPart::Header => header::name(name)?,
            RequestPart::Query | RequestPart::Body => {}
        }
        let same = |known: &TableField| match part {
            RequestPart::Header => known.sent_name().eq_ignore_ascii_case(name),
            _ => known.sent_name() == name,
        };
        let around = |known: &TableField| {
            let known = known.body_path();
            part == RequestPart::Body && (known.starts_with(&path) || path.starts_with(&known))
        };
        // A field of entries is sent under the names of its entries. A name that is declared twice is
        // another mistake.
        let mut others = earlier
            .iter()
            .filter(|known| self.part(known) == part && known.spec.name != field.spec.name && !known.is_entries());
        let Some(known) = others.find(|known| same(known) || around(known)) else { return Ok(()) };
        let declared = &known.spec.name;
        Err(if same(known) {
            format!("the field `{declared}` is sent under this name too; give one of them another name with `as`")
        } else {
            format!(
                "the field `{declared}` is sent as `{}`, and one of the two would be inside of the other",
                known.sent_name()
            )
        }
        .into())
    }
}
