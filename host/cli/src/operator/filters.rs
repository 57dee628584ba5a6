//! The options of commands that print a list of the operator. A filter of the list is an option,
//! which follows from the declaration of the list.

use std::marker::PhantomData;

use clap::error::Error;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use humantime::format_rfc3339_millis;

use super::arguments::PagedListArguments;
use crate::time;
use connector_gateway::lists::{List, Parameter, Values, parameters};

/// The options of a list of a running gateway.
#[derive(Clone, Debug, Args)]
pub struct ListOptions<L: List> {
    #[command(flatten)]
    pub filters: Filters<L>,
    #[command(flatten)]
    pub list: PagedListArguments,
}

/// A parameter of a query, with its value.
pub(super) type Given = (&'static str, String);

/// The filters of a list that were given.
#[derive(Clone, Debug)]
pub struct Filters<L> {
    pub given: Vec<Given>,
    list: PhantomData<L>,
}

impl<L: List> Args for Filters<L> {
    fn augment_args(command: Command) -> Command {
        command.args(parameters::<L>().iter().map(option))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<L: List> FromArgMatches for Filters<L> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let value = |filter: Parameter| {
            let value = match filter.values {
                Values::True => matches.get_flag(id(&filter)).then(|| "true".to_owned()),
                _ => matches.get_one::<String>(id(&filter)).cloned(),
            };
            Some((filter.name, value?))
        };
        Ok(Self { given: parameters::<L>().into_iter().filter_map(value).collect(), list: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The name of an option in the matches. A filter may have the name of another option.
fn id(filter: &Parameter) -> &'static str {
    filter.option.unwrap_or(filter.name)
}

fn option(filter: &Parameter) -> Arg {
    let sentence = filter.about.trim_end_matches('.');
    let help = match filter.example {
        Some(example) => format!("{sentence}, such as {example}"),
        None => sentence.to_owned(),
    };
    let name = id(filter);
    let arg = Arg::new(name).long(name.replace('_', "-")).help(help).default_value(filter.default);
    let value_name = || filter.value_name.map_or_else(|| filter.name.to_uppercase(), str::to_owned);
    match filter.values {
        Values::True => arg.action(ArgAction::SetTrue),
        Values::Time => arg.value_name("TIME").value_parser(past),
        Values::OneOf(names) => arg.value_name(value_name()).value_parser(names()),
        _ => arg.value_name(value_name()),
    }
}

/// A time as the routes read it.
fn past(text: &str) -> Result<String, String> {
    time::past(text).map(|time| format_rfc3339_millis(time).to_string())
}

#[cfg(test)]
mod tests {
    use connector_gateway::operator_lists::{AnyIntegrations, AnyWebhooks, Calls, Usage};

    use super::*;

    /// The filters that a command has from these arguments.
    fn given<L: List>(arguments: &[&str]) -> Result<Vec<Given>, String> {
        let command = Filters::<L>::augment_args(Command::new("list").no_binary_name(true));
        let matches = command.try_get_matches_from(arguments).map_err(|error| error.to_string())?;
        Ok(Filters::<L>::from_arg_matches(&matches).unwrap().given)
    }

    #[test]
    fn options_are_the_parameters_of_the_query() {
        let filters = given::<Calls>(&["--user-identifier", "work", "--since", "2026-01-31T12:00:00Z"]).unwrap();
        let since = "2026-01-31T12:00:00.000Z".to_owned();
        assert_eq!(filters, [("user_identifier", "work".to_owned()), ("since", since)]);
        assert_eq!(given::<AnyIntegrations>(&["--overdue"]).unwrap(), [("overdue", "true".to_owned())]);
        assert_eq!(given::<AnyIntegrations>(&[]).unwrap(), []);
        assert_eq!(given::<AnyWebhooks>(&["--to", "https://a.example"]).unwrap()[0].0, "url");
        assert_eq!(given::<Usage>(&[]).unwrap(), [("by", "tenant".to_owned())]);
    }

    #[test]
    fn a_wrong_value_is_refused_before_the_gateway_is_called() {
        assert!(given::<Calls>(&["--owner", "nobody"]).unwrap_err().contains("provider"));
        assert!(given::<Calls>(&["--since", "yesterday"]).unwrap_err().contains("such as 90m"));
    }
}
