//! One operation of a connector: its description, its schema, and the request that it is.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use contract::{Additions, AnswerSchemas, DeclaredRow, LastItem, Manifest, Purpose};
use metrics::{Metrics, OperationMetrics};
use rows::Row;
use schema::{Input, InputError, Schema, UrlCheck};

/// One operation.
pub struct Operation {
    /// The description in the manifest.
    pub manifest: contract::Operation,
    /// The metrics.
    pub metrics: OperationMetrics,
    /// The request that the operation is. `None` if the connector is invoked for it.
    pub row: Option<Box<Row>>,
    /// The request that the connector may ask for when it is invoked.
    pub request: Option<Arc<Row>>,
    /// Set if the last item of a page leads to the next page.
    pub last_item: Option<Box<LastItem>>,
    /// Checks the callback URLs of an operation that runs in the background.
    check_url: UrlCheck,
    /// The schema of the request body. The first call compiles it, because a compiled schema takes
    /// much memory, and most operations of a gateway with many connectors are never called.
    schema: OnceLock<Result<Box<Schema>, String>>,
}

impl Operation {
    /// An operation whose schemas have passed their trial.
    fn new(
        manifest: contract::Operation,
        metrics: OperationMetrics,
        declared: Option<&DeclaredRow>,
        last_item: Option<Box<LastItem>>,
        check_url: UrlCheck,
    ) -> Self {
        let row =
            |purpose: Purpose| declared.filter(|declared| declared.purpose == purpose).map(|found| Row::of(&found.row));
        let (row, request) = (row(Purpose::Sent).map(Box::new), row(Purpose::Made).map(Arc::new));
        Self { manifest, metrics, row, request, last_item, check_url, schema: OnceLock::new() }
    }

    /// Validates a request body. White space alone and `null` count as `{}`.
    ///
    /// # Errors
    /// If the body is not JSON, or breaks the schema or the rules of the envelope.
    pub fn read_body<'a>(&self, body: &'a [u8]) -> Result<Input<'a>, InputError> {
        let compiled = self.schema.get_or_init(|| {
            let schema = Schema::compile(&self.manifest.input_schema, self.manifest.envelope)?;
            Ok(Box::new(if self.manifest.background { schema.in_background(self.check_url) } else { schema }))
        });
        match compiled {
            Ok(schema) => schema.parse(body),
            Err(reason) => Err(InputError::NotCompiled(reason.clone())),
        }
    }

    /// The schema of the request body as the connector wrote it, for the documentation.
    pub fn input_schema(&self) -> Value {
        parsed(&self.manifest.input_schema)
    }

    /// The request that the operation is, for people, or `code` if the connector composes its
    /// requests.
    pub fn sends(&self) -> String {
        self.row.as_ref().map_or_else(|| "code".to_owned(), ToString::to_string)
    }

    /// The schema of the answer in the manifest, for the documentation.
    pub fn answer_schema(&self) -> Option<Value> {
        self.manifest.answer_schema.as_deref().map(parsed)
    }

    /// The schema of the answer: the one in the manifest, else the one that the module has next to it.
    pub fn known_answer(&self, further: &AnswerSchemas) -> Option<Value> {
        self.answer_schema().or_else(|| further.get(&self.manifest.path))
    }
}

/// The document of a schema. Its trial has parsed the same text.
fn parsed(schema: &str) -> Value {
    serde_json::from_str(schema).unwrap_or_default()
}

/// The operation at a path of a sorted list.
pub(super) fn at<'a>(operations: &'a [Operation], path: &str) -> Option<&'a Operation> {
    let found = operations.binary_search_by(|operation| operation.manifest.path.as_str().cmp(path)).ok()?;
    operations.get(found)
}

/// The operations that only the gateway calls, and the operations of callers, by their paths.
pub(super) fn operations_of(
    manifest: &mut Manifest,
    additions: &Additions,
    metrics: &Metrics,
    check_url: UrlCheck,
) -> (Vec<Operation>, Vec<Operation>) {
    let operations = std::mem::take(&mut manifest.operations).into_iter().map(|operation| {
        let metrics = metrics.operation(&manifest.identifier, &operation.path);
        let declared = additions.rows.iter().find(|declared| declared.operation == operation.path);
        let last_item = additions.last_item(&operation.path).cloned().map(Box::new);
        Operation::new(operation, metrics, declared, last_item, check_url)
    });
    let mut operations: Vec<Operation> = operations.collect();
    operations.sort_unstable_by(|one, other| one.manifest.path.cmp(&other.manifest.path));
    let internal: BTreeSet<&str> = additions.internal_operations().collect();
    operations.into_iter().partition(|operation| internal.contains(operation.manifest.path.as_str()))
}
