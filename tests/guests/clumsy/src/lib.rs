//! A connector whose author made it with the SDK and made mistakes: its functions panic.

use connector_sdk::{Fault, Outcome, Request, connector};

connector! {
    /// A service that a test stands in for.
    connector clumsy "Clumsy";

    auth Auth::None;

    upstream api "https://service.invalid";

    /// Panic with a message
    panic: read fn panic {
        message: string,
    };

    /// Look up an item of a list that is too short
    out_of_bounds: read fn out_of_bounds {
        index: integer(0..),
    };

    /// Panic on the way of a request
    detour: GET api "/items" {} via lose;
}

#[expect(clippy::panic, reason = "the operation tests a panic")]
fn panic(input: Panic) -> Result<Outcome, Fault> {
    panic!("{}", input.message)
}

fn out_of_bounds(input: OutOfBounds) -> Result<Outcome, Fault> {
    let items = [1, 2, 3];
    let index = usize::try_from(input.index).unwrap_or(usize::MAX);
    Outcome::json(&items[index])
}

#[expect(clippy::panic, reason = "the operation tests a panic")]
fn lose(_: Request) -> Result<Outcome, Fault> {
    panic!("the request is lost")
}
