//! From the parameters of `tools/call` to the tool that they name.

use super::question::{Step, read_state};
use super::tool_call::ToolCall;
use super::{Done, Failed, Stop, headers, own_tools, result};
use contract::words::{nearest, shortened};
use mcp::Catalogue;
use mcp::message::{INVALID_PARAMS, MAX_ID_BYTES, Params, RpcError};
use mcp::own::call_name;

/// The member of `_meta` with which a client asks for progress.
const PROGRESS_TOKEN: &str = "progressToken";

impl ToolCall<'_> {
    /// Runs the call. What the model can mend is a result, and no error.
    pub(super) async fn run(mut self, params: &Params<'_>) -> Result<Done, Failed> {
        match self.call_tool(params).await {
            Ok(done) => Ok(done),
            Err(Stop::Said(text)) => Ok(Done::Text(result::error(self.client.revision, &text))),
            Err(Stop::Failed(failed)) => Err(failed),
        }
    }

    async fn call_tool(&mut self, params: &Params<'_>) -> Result<Done, Stop> {
        let invalid = |text: &str| RpcError::new(INVALID_PARAMS, text);
        let name = params.text("name").ok_or_else(|| invalid("`params.name` must name a tool."))?;
        let arguments = params.raw("arguments");
        if arguments.is_some_and(|arguments| !arguments.get().starts_with('{')) {
            return Err(invalid("`params.arguments` must be an object.").into());
        }
        let named_by_header = self.call_headers.user_identifier.take();
        for account in [self.exchange.fixed_account(), named_by_header.as_deref()].into_iter().flatten() {
            self.use_account(account)?;
        }
        let token = &params.value_with("_meta", PROGRESS_TOKEN)[PROGRESS_TOKEN];
        if (token.is_string() || token.is_i64() || token.is_u64()) && headers::takes_events(self.exchange.headers) {
            let token = token.to_string();
            if token.len() > MAX_ID_BYTES {
                return Err(
                    invalid(&format!("`params._meta.{PROGRESS_TOKEN}` has more than {MAX_ID_BYTES} bytes.")).into()
                );
            }
            self.progress_token = Some(token);
        }
        let pending = Box::pin(read_state(self, &name, params)).await?;
        if let Some(declined) = pending.declined() {
            return Err(Stop::Said(declined.to_owned()));
        }
        let catalogue = self.exchange.catalogue().await;
        let step = Step { tool: &name, arguments, pending: &pending };
        if let Some(own) = catalogue.own(&name) {
            return Box::pin(own_tools::run(self, &catalogue, own, &step)).await;
        }
        match catalogue.find(&name).filter(|tool| tool.name == name) {
            Some(tool) if tool.is_direct => self.call_operation(tool, arguments, &step).await,
            Some(tool) => {
                let (name, call_name) = (shortened(&name), call_name(tool.effect));
                Err(invalid(&format!("`{name}` is no tool here; call it with `{call_name}`.")).into())
            }
            None => Err(invalid(&unknown(&catalogue, &name)).into()),
        }
    }
}

/// The message about a tool that is not there.
fn unknown(catalogue: &Catalogue, name: &str) -> String {
    let shown = shortened(name);
    let known = match nearest(name, catalogue.names()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => "`tools/list` lists those that you may use.".to_owned(),
    };
    format!("There is no tool `{shown}` here; {known}")
}
