//! The mistakes of a table.

use std::fmt::Display;

use proc_macro2::{Span, TokenStream};
use syn::Error;

/// The mistakes found so far.
#[derive(Default)]
pub(crate) struct Errors(Vec<Error>);

impl Errors {
    pub(crate) fn add(&mut self, error: Error) {
        self.0.push(error);
    }

    pub(crate) fn at(&mut self, span: Span, message: impl Display) {
        self.0.push(Error::new(span, message));
    }

    /// Adds the error of a result.
    pub(crate) fn note<T>(&mut self, result: Result<T, Error>) -> Option<T> {
        result.map_err(|error| self.add(error)).ok()
    }

    /// Adds the error of a rule at a span.
    pub(crate) fn rule(&mut self, span: Span, result: Result<(), impl Display>) {
        if let Err(broken) = result {
            self.at(span, broken);
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The messages.
    #[cfg(test)]
    pub(crate) fn messages(&self) -> Vec<String> {
        self.0.iter().map(ToString::to_string).collect()
    }

    /// A `compile_error!` for each mistake.
    pub(crate) fn into_tokens(self) -> TokenStream {
        self.0.into_iter().map(Error::into_compile_error).collect()
    }
}
