//! The tools of one caller at one address.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::SetMode;
use super::input_schema::{ACCOUNT, CONFIRM, Extra, InputSchema, OTHER_CONFIRM, is_of_background};
use super::names::{MAX_NAME, MAX_TOOL_NAME, cut_name, operation_name};
use super::output_schema::output_schema;
use super::own::{Own, annotations};
use super::ranking::{Index, Texts};
use auth::Limits;
use contract::{Answer, AnswerSchemas, AuthScheme, Effect};
use database::digest::sha256_hex;
use registry::{Connector, Live, Operation};

/// The most catalogues that are kept. Callers with the same limits share one.
const MAX_KEPT: usize = 64;

/// The member of a tool's `_meta` that tells Claude Code the most characters of a result. Claude
/// Code writes a longer result to a file, and the model does not see it.
const RESULT_SIZE: &str = "anthropic/maxResultSizeChars";

/// The largest size that Claude Code takes.
const MAX_RESULT_SIZE: usize = 500_000;

/// The size of the sentences about a result, such as the one that says how to get less.
const SENTENCES: usize = 1 << 10;

/// The part of a caller and of an address that decides which tools there are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct View {
    /// Only the operations of this connector. Their names have no prefix.
    pub connector: Option<String>,
    /// Only operations that read.
    pub is_readonly: bool,
    /// The limits of the caller's key, and the limits of a tool set. All of them hold.
    pub limits: Vec<Limits>,
    /// `true` if the caller may make links for its users.
    pub may_connect: bool,
    /// Connectors of which the caller has several accounts.
    pub several_accounts: BTreeSet<String>,
    /// The way in which operations become tools.
    pub mode: SetMode,
    /// Operations that are tools in every mode, as `connector/operation`.
    pub pinned: Vec<String>,
    /// `true` if the results of operations that answer JSON have a structured form.
    pub is_structured: bool,
    /// `true` if destructive operations ask first.
    pub confirms: bool,
}

impl View {
    /// Returns `true` if the view has an operation.
    pub fn has(&self, connector: &str, operation: &Operation) -> bool {
        let manifest = &operation.manifest;
        self.connector.as_deref().is_none_or(|only| only == connector)
            && (!self.is_readonly || manifest.effect == Effect::Read)
            && self.limits.iter().all(|limits| limits.admit(connector, &manifest.path, manifest.effect).is_ok())
    }
}

/// The way in which operations become tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Each operation is a tool.
    Direct,
    /// Tools search for operations and call them.
    Search,
}

/// One operation, and its tool.
#[derive(Clone, Debug)]
pub struct Tool {
    /// The name of the tool, or of the operation if it is no tool itself.
    pub name: String,
    /// The identifier of the connector.
    pub connector: String,
    /// The path of the operation.
    pub operation: String,
    /// The effect of the operation.
    pub effect: Effect,
    /// The operation in one line.
    pub summary: String,
    /// `true` if its users need an account.
    pub needs_account: bool,
    /// `true` if the operation runs in the background.
    pub is_background: bool,
    /// `true` if the operation has a member with the name of the argument for the account.
    pub has_own_account: bool,
    /// `true` if the tool is in the list.
    pub is_direct: bool,
    /// The schema of the structured form of results. `None` if they have none.
    pub output: Option<Arc<Value>>,
    /// The argument that confirms a call. `None` if calls need no confirmation.
    pub confirm_argument: Option<&'static str>,
    /// Arguments that have another name than the member of the operation: the argument, the member.
    pub renamed: Vec<(String, String)>,
    /// The members of the operation that are objects or lists, and never texts.
    pub structures: Vec<String>,
}

/// The tools of a view, of the connectors that were live when it was made.
pub struct Catalogue {
    /// How the operations are shown.
    pub mode: Mode,
    /// In the order of their names.
    tools: Vec<Tool>,
    /// Their positions by each name that callers may use.
    by_name: HashMap<String, usize>,
    own: Vec<Own>,
    index: Index,
    /// The tools as JSON text, a list.
    pub list: String,
    /// SHA-256 of the list.
    pub digest: String,
}

/// The catalogues of the connectors that are live now.
pub type Catalogues = Mutex<HashMap<View, Arc<Catalogue>>>;

/// Keeps a catalogue, and forgets others if there are too many.
pub fn keep(catalogues: &Catalogues, view: View, catalogue: Arc<Catalogue>) {
    let mut kept = catalogues.lock();
    if kept.len() >= MAX_KEPT {
        kept.clear();
    }
    kept.insert(view, catalogue);
}

/// A tool with the operation that it calls.
type Listed<'a> = (Tool, &'a Connector, &'a Operation);

/// Adds the schemas of their answers to the tools that answer JSON and are in the list. The schemas
/// of a connector are read once.
fn add_outputs(operations: &mut [Listed<'_>], answer_schemas: impl Fn(&Connector) -> AnswerSchemas) {
    let mut read: HashMap<String, AnswerSchemas> = HashMap::new();
    for (tool, connector, operation) in operations {
        if tool.is_direct && operation.manifest.answer == Answer::Json {
            let known = read.entry(tool.connector.clone()).or_insert_with(|| answer_schemas(connector));
            tool.output = Some(Arc::new(output_schema(operation.known_answer(known).as_ref())));
        }
    }
}

/// The tools of the gateway itself that are of use with these operations.
fn own_tools(operations: &[Listed<'_>], mode: Mode, view: &View) -> Vec<Own> {
    let has_background = operations.iter().any(|(_, _, operation)| operation.manifest.background);
    let needs_account = operations.iter().any(|(tool, ..)| tool.needs_account);
    let has_effect = |effect| operations.iter().any(|(tool, ..)| tool.effect == effect);
    let is_of_use = |own: &Own| match own {
        Own::SearchOperations | Own::DescribeOperations => mode == Mode::Search,
        Own::Call(effect) => mode == Mode::Search && has_effect(*effect),
        Own::ConnectAccount => needs_account && view.may_connect,
        Own::ListAccounts => needs_account,
        Own::GetJob | Own::CancelJob => has_background,
    };
    Own::ALL.into_iter().filter(is_of_use).collect()
}

impl Catalogue {
    /// The tools of a view. Up to `direct_tools` operations each is a tool. A result is cut at
    /// `max_result_bytes`. `answer_schemas` reads the schemas of answers of a connector.
    pub fn make(
        live: &Live,
        view: &View,
        direct_tools: usize,
        max_result_bytes: usize,
        answer_schemas: impl Fn(&Connector) -> AnswerSchemas,
    ) -> Self {
        let mut operations: Vec<Listed<'_>> = Vec::new();
        for connector in live.values() {
            for operation in connector.operations().filter(|operation| view.has(connector.name(), operation)) {
                operations.push((tool(connector, operation, view), &**connector, operation));
            }
        }
        let mode = match view.mode {
            SetMode::Direct => Mode::Direct,
            SetMode::Auto if operations.len() <= direct_tools => Mode::Direct,
            SetMode::Auto | SetMode::Search => Mode::Search,
        };
        for (tool, ..) in &mut operations {
            let is_pinned =
                || view.pinned.iter().any(|name| name.split_once('/') == Some((&*tool.connector, &*tool.operation)));
            tool.is_direct = mode == Mode::Direct || is_pinned();
        }
        cut_names(operations.iter_mut().map(|(tool, ..)| tool).collect());
        if view.is_structured {
            add_outputs(&mut operations, answer_schemas);
        }
        operations.sort_by(|(one, ..), (other, ..)| one.name.cmp(&other.name));
        let own = own_tools(&operations, mode, view);
        let own_document = |own: &Own| {
            let document = own.document(view.confirms);
            if own.has_long_results() { with_size(document, max_result_bytes) } else { document }
        };
        let mut documents: Vec<Value> = own.iter().map(own_document).collect();
        let direct = operations.iter().filter(|(tool, ..)| tool.is_direct);
        let before = documents.len();
        documents.extend(direct.map(|(tool, connector, operation)| {
            let has_account = view.several_accounts.contains(&tool.connector);
            with_size(tool_document(tool, connector, operation, has_account), max_result_bytes)
        }));
        if documents.len() > before {
            documents.sort_by(|one, other| one["name"].as_str().cmp(&other["name"].as_str()));
        }
        // With few operations, nothing is searched.
        let searched = if mode == Mode::Search { operations.as_slice() } else { &[] };
        let index = Index::new(searched.iter().map(|(tool, connector, operation)| Texts {
            name: &operation.manifest.path,
            connector: &tool.connector,
            title: &connector.manifest().title,
            summary: &operation.manifest.summary,
            description: &operation.manifest.description,
            reads: operation.manifest.effect == Effect::Read,
        }));
        let mut by_name = HashMap::with_capacity(3 * operations.len());
        for (number, (tool, ..)) in operations.iter().enumerate() {
            by_name.insert(format!("{}/{}", tool.connector, tool.operation), number);
            by_name.insert(format!("{}__{}", tool.connector, tool.operation), number);
            by_name.insert(tool.name.clone(), number);
        }
        let tools = operations.into_iter().map(|(tool, ..)| tool).collect();
        let list = Value::Array(documents).to_string();
        let digest = sha256_hex(list.as_bytes());
        Self { mode, tools, by_name, own, index, list, digest }
    }

    /// The operation of this name: of the tool, or with the connector.
    pub fn find(&self, name: &str) -> Option<&Tool> {
        self.tools.get(*self.by_name.get(name)?)
    }

    /// The tool of the gateway itself with this name.
    pub fn own(&self, name: &str) -> Option<Own> {
        self.own.iter().copied().find(|own| own.name() == name)
    }

    /// Every name of a tool, for the nearest one.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let direct = self.tools.iter().map(|tool| tool.name.as_str());
        self.own.iter().map(|own| own.name()).chain(direct)
    }

    /// All operations, in the order of their names.
    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// The operations that fit a question, the best first. An exact name is the best. Of operations
    /// that fit about as well, those come first that `prefers` names.
    pub fn search(&self, question: &str, prefers: impl Fn(&Tool) -> bool) -> Vec<&Tool> {
        let exact = self.by_name.get(question.trim()).copied();
        let is_preferred = |number: usize| self.tools.get(number).is_some_and(&prefers);
        let ranked = self.index.search(question, is_preferred).into_iter().filter(|number| Some(*number) != exact);
        exact.into_iter().chain(ranked).filter_map(|number| self.tools.get(number)).collect()
    }
}

/// Cuts the names that are too long. No two tools have the same name then.
fn cut_names(tools: Vec<&mut Tool>) {
    let longest = |tool: &Tool| if tool.is_direct { MAX_TOOL_NAME } else { MAX_NAME };
    let (long, short): (Vec<_>, Vec<_>) = tools.into_iter().partition(|tool| tool.name.len() > longest(tool));
    let mut taken: HashSet<String> = short.into_iter().map(|tool| tool.name.clone()).collect();
    for tool in long {
        tool.name = cut_name(&tool.name, longest(tool), |name| taken.contains(name));
        taken.insert(tool.name.clone());
    }
}

fn tool(connector: &Connector, operation: &Operation, view: &View) -> Tool {
    let manifest = &operation.manifest;
    let schema = InputSchema::of(operation, Extra::default());
    let has_own = |name: &str| schema.document["properties"].get(name).is_some();
    let confirm_argument = if has_own(CONFIRM) { OTHER_CONFIRM } else { CONFIRM };
    let is_own = Own::ALL.iter().any(|own| own.name() == manifest.path);
    Tool {
        name: match view.connector {
            Some(_) if !is_own => manifest.path.clone(),
            _ => operation_name(connector.name(), &manifest.path),
        },
        connector: connector.name().to_string(),
        operation: manifest.path.clone(),
        effect: manifest.effect,
        summary: manifest.summary.clone(),
        needs_account: !matches!(connector.manifest().auth, AuthScheme::None),
        is_background: manifest.background,
        has_own_account: has_own(ACCOUNT),
        is_direct: false,
        output: None,
        confirm_argument: (view.confirms && manifest.effect == Effect::Destructive).then_some(confirm_argument),
        renamed: schema.renamed,
        structures: schema.structures,
    }
}

/// The entry of an operation in a list of tools.
pub fn tool_document(tool: &Tool, connector: &Connector, operation: &Operation, has_account: bool) -> Value {
    let manifest = &operation.manifest;
    let schema = InputSchema::of(operation, Extra { has_account, confirm: tool.confirm_argument });
    let mut document = json!({
        "name": tool.name,
        "title": format!("{}: {}", connector.manifest().title, manifest.path.replace(['_', '-'], " ")),
        "description": description(operation),
        "inputSchema": schema.document,
        "annotations": annotations(manifest.effect),
    });
    if let Some(output) = &tool.output {
        document["outputSchema"] = Value::clone(output);
    }
    document
}

/// The entry of a tool, with the size at which its results are cut.
fn with_size(mut document: Value, max_result_bytes: usize) -> Value {
    document["_meta"] = json!({RESULT_SIZE: (max_result_bytes + SENTENCES).min(MAX_RESULT_SIZE)});
    document
}

/// The arguments in the example of an operation's manifest. `None` if it has no example with
/// arguments.
pub fn example(tool: &Tool, operation: &Operation) -> Option<Value> {
    let example: Value = serde_json::from_str(operation.manifest.example.as_deref()?).ok()?;
    let members = example.as_object()?.iter().filter(|(name, _)| !tool.is_background || !is_of_background(name));
    let arguments: serde_json::Map<String, Value> = members
        .map(|(name, value)| {
            let argument =
                tool.renamed.iter().find(|(_, member)| member == name).map_or(name, |(argument, _)| argument);
            (argument.clone(), value.clone())
        })
        .collect();
    (!arguments.is_empty()).then_some(Value::Object(arguments))
}

/// The summary and the description of an operation.
pub fn description(operation: &Operation) -> String {
    let manifest = &operation.manifest;
    let summary = contract::words::sentence(manifest.summary.trim_end_matches('.'));
    let more = manifest.description.split_whitespace().collect::<Vec<_>>().join(" ");
    if more.is_empty() { summary } else { format!("{summary} {more}") }
}
