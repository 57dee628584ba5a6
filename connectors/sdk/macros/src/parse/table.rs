//! The whole table: the head, the statements and the rows.

use contract_rules::schema::{self, Kind};
use proc_macro2::{Span, TokenStream};
use rows::table::TableRow;
use rows::{Declaration, DeclaredHeader, Lists};
use syn::parse::ParseStream;
use syn::{Error, Ident, LitStr, Path, Token};

use super::address::AddressPart;
use super::answers::AnswerExamples;
use super::block::{self, Item};
use super::field::{self, Field};
use super::row::Row;
use super::statement::{self, Header, RateLimit, Upstream};
use super::{Name, function, literal, literals, skip_statement, word};
use crate::errors::Errors;

/// A table. If a part has a mistake, that part is left out or has its default.
pub(crate) struct Table {
    pub(crate) documentation: String,
    /// `None` if the head is wrong.
    pub(crate) head: Option<Head>,
    /// A Rust expression of the SDK's type `Auth`. `None` if it is missing.
    pub(crate) auth: Option<TokenStream>,
    /// A Rust expression of the type `&[AuthAddition]`, with the span of the statement.
    pub(crate) auth_additions: Option<(Span, TokenStream)>,
    /// A Rust expression of the type `&[Inbox]`.
    pub(crate) inboxes: Option<TokenStream>,
    /// A Rust expression of the type `&[Trigger]`.
    pub(crate) triggers: Option<TokenStream>,
    pub(crate) upstreams: Vec<Upstream>,
    /// The parts of accounts' addresses.
    pub(crate) address: Vec<AddressPart>,
    pub(crate) rate_limits: Vec<RateLimit>,
    pub(crate) settings: Vec<Field>,
    pub(crate) headers: Vec<Header>,
    /// `values name [..]`
    pub(crate) values: Vec<(Ident, Vec<String>)>,
    /// `fields name { .. }`
    pub(crate) shared: Vec<(Ident, Vec<Item>)>,
    /// `entries { .. }`: the descriptions of entries that have no comment in their field.
    pub(crate) entries: Vec<(Name, String)>,
    /// How lists among the query's entries are sent.
    pub(crate) lists: Lists,
    /// Function that gets every request of a row, unless the row names another function.
    pub(crate) via: Option<Path>,
    /// Path of the SVG image, relative to the source file.
    pub(crate) icon: Option<LitStr>,
    /// The file with an answer for each operation.
    pub(crate) answer_examples: Option<AnswerExamples>,
    pub(crate) rows: Vec<Row>,
}

/// `connector identifier "Title";`
pub(crate) struct Head {
    pub(crate) identifier: Ident,
    pub(crate) title: LitStr,
}

const STATEMENTS: &str = "expected a statement (`auth`, `auth_additions`, `upstream`, `address`, `rate_limit`, `setting`, `header`, `values`, \
                          `fields`, `entries`, `lists`, `via`, `inboxes`, `triggers`, `icon` or `answer_examples`) or a row such as `name: GET api \"/path\";`";

impl Default for Table {
    fn default() -> Self {
        Self {
            documentation: String::new(),
            head: None,
            auth: None,
            auth_additions: None,
            inboxes: None,
            triggers: None,
            upstreams: Vec::new(),
            address: Vec::new(),
            rate_limits: Vec::new(),
            settings: Vec::new(),
            headers: Vec::new(),
            values: Vec::new(),
            shared: Vec::new(),
            entries: Vec::new(),
            lists: Lists::Joined(",".into()),
            via: None,
            icon: None,
            answer_examples: None,
            rows: Vec::new(),
        }
    }
}

impl Table {
    pub(crate) fn parse(input: ParseStream<'_>, errors: &mut Errors) -> Self {
        let mut table = Self::default();
        let head = table.head(input);
        if errors.note(head).is_none() {
            skip_statement(input);
        }
        while !input.is_empty() {
            if let Err(error) = table.part(input, errors) {
                errors.add(error);
                skip_statement(input);
            }
        }
        table.complete(errors);
        table
    }

    fn head(&mut self, input: ParseStream<'_>) -> syn::Result<()> {
        const FORM: &str = "a table begins with `connector identifier \"Title\";`";
        self.documentation = field::documentation(input)?;
        let word = word(input, FORM)?;
        if word != "connector" {
            return Err(Error::new(word.span(), FORM));
        }
        let span = input.span();
        let identifier =
            input.parse().map_err(|_: Error| Error::new(span, "expected the identifier of the connector"))?;
        let title = literal(input, "the title of the connector")?;
        self.head = Some(Head { identifier, title });
        end(input)
    }

    fn part(&mut self, input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<()> {
        let documentation = field::documentation(input)?;
        if input.is_empty() {
            return Err(input.error("expected a row after the documentation comment"));
        }
        if input.peek2(Token![:]) {
            self.rows.push(Row::parse(documentation, input, errors)?);
            return Ok(());
        }
        self.statement(documentation, input, errors)?;
        end(input)
    }

    fn statement(&mut self, documentation: String, input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<()> {
        let statement = word(input, STATEMENTS)?;
        if !documentation.is_empty() && statement != "setting" && statement != "address" {
            errors
                .at(statement.span(), "a documentation comment (`///`) belongs to a row or a setting; write `//` here");
        }
        match statement.to_string().as_str() {
            "auth" => self.auth = Some(statement::expression(input)?),
            "auth_additions" => self.auth_additions = Some((statement.span(), statement::expression(input)?)),
            "inboxes" => self.inboxes = Some(statement::expression(input)?),
            "triggers" => self.triggers = Some(statement::expression(input)?),
            "upstream" => self.upstreams.push(input.parse()?),
            "address" => self.address.push(AddressPart { title: documentation, ..input.parse()? }),
            "rate_limit" => self.rate_limits.push(input.parse()?),
            "setting" => {
                let mut setting = Field::parse(input, errors)?;
                setting.spec.documentation = documentation;
                self.settings.push(setting);
            }
            "header" => self.headers.push(input.parse()?),
            "values" => {
                let name = word(input, "expected the name of the values")?;
                self.values.push((name, literals(input)?.iter().map(LitStr::value).collect()));
            }
            "fields" => {
                let name = word(input, "expected the name of the fields")?;
                self.shared.push((name, block::parse(input, errors)?));
            }
            "entries" => self.entries.extend(statement::entries(input)?),
            "lists" => self.lists = statement::lists(input)?,
            "via" => self.via = Some(function(input)?),
            "icon" => self.icon = Some(literal(input, "the path of an SVG image")?),
            "answer_examples" => self.answer_examples = Some(input.parse()?),
            _ => return Err(Error::new(statement.span(), STATEMENTS)),
        }
        Ok(())
    }

    /// The span for the error about a missing statement: the connector's name.
    pub(crate) fn span(&self) -> Span {
        self.head.as_ref().map_or_else(Span::call_site, |head| head.identifier.span())
    }

    /// The request of a row.
    pub(crate) fn declaration(&self, row: &TableRow, upstream: &Ident) -> Declaration {
        let headers: Vec<DeclaredHeader> = self.headers.iter().map(Header::without_spans).collect();
        row.declaration(&upstream.to_string(), &headers, &self.lists)
    }

    /// Resolves the names between parts of the table: shared fields, named values, descriptions of
    /// entries, fields that a path implies.
    fn complete(&mut self, errors: &mut Errors) {
        let (shared, values, entries) = (&self.shared, &self.values, &self.entries);
        for item in shared.iter().flat_map(|(_, items)| items) {
            if let Item::Shared(name) = item {
                errors.at(name.span(), "shared fields belong to a row, not to other shared fields");
            }
        }
        for setting in &mut self.settings {
            complete_field(setting, values, entries, errors);
        }
        let answers = self.answer_examples.take();
        self.answer_examples = answers.filter(|answers| answers.distribute(&mut self.rows, errors));
        for row in &mut self.rows {
            let before = errors.count();
            let mut fields = Vec::new();
            for item in &row.items {
                match item {
                    Item::Field(field) => fields.push((**field).clone()),
                    Item::Shared(name) => fields.extend(shared_fields(shared, name, errors)),
                }
            }
            for field in &mut fields {
                complete_field(field, values, entries, errors);
            }
            row.fields = fields;
            row.complete();
            row.broken |= errors.count() > before;
        }
    }
}

fn shared_fields(shared: &[(Ident, Vec<Item>)], name: &Ident, errors: &mut Errors) -> Vec<Field> {
    let Some((_, items)) = shared.iter().find(|(known, _)| known == name) else {
        let known = known(shared.iter().map(|(name, _)| name));
        errors.at(name.span(), format!("there are no shared fields `{name}`; {known}"));
        return Vec::new();
    };
    let field = |item: &Item| if let Item::Field(field) = item { Some((**field).clone()) } else { None };
    items.iter().filter_map(field).collect()
}

/// Resolves the named values and the descriptions of entries, and makes the type of an object of its
/// members.
fn complete_field(field: &mut Field, values: &[(Ident, Vec<String>)], entries: &[(Name, String)], errors: &mut Errors) {
    if let Some(name) = &field.named_values {
        match values.iter().find(|(known, _)| known == name) {
            Some((_, values)) => field.spec.values = Some(values.clone()),
            None => {
                let known = known(values.iter().map(|(name, _)| name));
                errors.at(name.span(), format!("there are no values `{name}`; {known}"));
            }
        }
    }
    for member in &mut field.members {
        complete_field(member, values, entries, errors);
    }
    if let Kind::Entries(found) = &mut field.spec.kind {
        for entry in found.iter_mut().filter(|entry| entry.documentation.is_empty()) {
            let described = entries.iter().find(|(name, _)| name.text == entry.name);
            entry.documentation = described.map(|(_, text)| text.clone()).unwrap_or_default();
        }
    }
    let members = || field.members.iter().map(|member| member.spec.clone()).collect::<Vec<schema::Field>>();
    match &field.spec.kind {
        Kind::Members(_) => field.spec.kind = Kind::Members(members()),
        Kind::List(item) if matches!(**item, Kind::Members(_)) => {
            field.spec.kind = Kind::List(Box::new(Kind::Members(members())));
        }
        _ => {}
    }
}

/// The declared names, for a message about an unknown name.
pub(crate) fn known<'a>(names: impl Iterator<Item = &'a Ident>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        "nothing of the kind is declared".to_owned()
    } else {
        format!("declared: {}", names.join(", "))
    }
}

fn end(input: ParseStream<'_>) -> syn::Result<()> {
    let span = input.span();
    input.parse::<Token![;]>().map(|_| ()).map_err(|_| Error::new(span, "expected `;` at the end of the statement"))
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::*;

    /// The entries of the first field of the first row with their descriptions, and the mistakes.
    fn described(statements: TokenStream, field: TokenStream) -> (Vec<(String, String)>, String) {
        let mut errors = Errors::default();
        let tokens = quote! {
            connector example "Example";
            #statements
            list: GET api "/list" { #field };
        };
        let table = crate::parse::table(tokens, &mut errors);
        let fields = table.rows.iter().flat_map(|row| &row.fields);
        let entries = fields.flat_map(|field| match &field.spec.kind {
            Kind::Entries(entries) | Kind::TextEntries(entries) => entries.clone(),
            _ => Vec::new(),
        });
        let entries = entries.map(|entry| (entry.name, entry.documentation)).collect();
        (entries, errors.into_tokens().to_string())
    }

    fn pair(name: &str, description: &str) -> (String, String) {
        (name.to_owned(), description.to_owned())
    }

    #[test]
    fn an_entry_has_the_description_of_its_field_or_of_the_statement() {
        let statements = quote! {
            entries {
                /// items of a page, 1 to 100
                per_page,
                /// created or updated
                sort,
            };
            entries {
                /// names of properties
                "$select"
            };
        };
        let field = quote! {
            query?: entries[
                per_page,
                /// created or pushed
                sort one_of ["created", "pushed"],
                "$select", q,
            ]
        };
        let expected = [
            pair("per_page", "items of a page, 1 to 100"),
            pair("sort", "created or pushed"),
            pair("$select", "names of properties"),
            pair("q", ""),
        ];
        assert_eq!(described(statements.clone(), field), (expected.to_vec(), String::new()));
        let headers = (vec![pair("sort", "created or updated")], String::new());
        assert_eq!(described(statements, quote!(headers?: entries[sort])), headers);
    }

    #[test]
    fn a_description_is_a_comment_before_a_name_in_braces() {
        for (statement, mistake) in [
            (quote!(entries [page];), "expected the names of entries in braces, each after a `///` comment"),
            (quote!(entries { page };), "say in a `///` comment what the entry means"),
        ] {
            let (_, mistakes) = described(statement, quote!(query?: entries[page]));
            assert!(mistakes.contains(mistake), "{mistakes}");
        }
    }
}
