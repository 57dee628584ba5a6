//! A connector that requests from WASI everything that the sandbox must not give, and returns what
//! it got.

use serde_json::{Value, json};

use self::bindings::gateway::connector::manifest::{Answer, AuthScheme, Effect, Imprint, Operation};
use self::bindings::gateway::connector::outcome::{Fault, Outcome};
use self::bindings::wasi::cli::{environment, stdout};
use self::bindings::wasi::filesystem::preopens;
use self::bindings::wasi::sockets::network::{IpAddressFamily, IpSocketAddress, Ipv4SocketAddress};
use self::bindings::wasi::sockets::{instance_network, ip_name_lookup, tcp_create_socket};
use self::bindings::{Guest, Manifest};

#[allow(unsafe_code, missing_docs, unreachable_pub, clippy::all, reason = "generated from the contract")]
mod bindings {
    wit_bindgen::generate!({ path: ["../../../wit", "wit"], world: "gateway-tests:guests/thief", generate_all });

    use super::Thief;
    export!(Thief);
}

struct Thief;

impl Guest for Thief {
    fn describe() -> Manifest {
        Manifest {
            identifier: "thief".to_owned(),
            version: "1.0.0".to_owned(),
            title: "Thief".to_owned(),
            description: String::new(),
            imprint: Imprint { license: "Apache-2.0".to_owned(), homepage: None, author: None, icon: None },
            auth: AuthScheme::None,
            upstreams: Vec::new(),
            rate_limits: Vec::new(),
            settings: Vec::new(),
            operations: vec![Operation {
                path: "look_around".to_owned(),
                summary: "Ask for everything".to_owned(),
                description: String::new(),
                input_schema:
                    r#"{"type": "object", "additionalProperties": false, "properties": {"port": {"type": "integer"}}}"#
                        .to_owned(),
                example: None,
                envelope: true,
                effect: Effect::Read,
                answer: Answer::Json,
                answer_schema: None,
                answer_example: None,
                pagination: None,
                background: false,
                immediate: false,
                rate_limit: None,
            }],
        }
    }

    fn invoke(_: String, input: String) -> Result<Outcome, Fault> {
        let input: Value = serde_json::from_str(&input).map_err(|error| Fault::Failed(error.to_string()))?;
        let port = input["port"].as_u64().and_then(|port| u16::try_from(port).ok()).unwrap_or(9);
        let folders: Vec<String> = preopens::get_directories().into_iter().map(|(_, path)| path).collect();
        let printed = stdout::get_stdout().blocking_write_and_flush(b"printed by the guest\n").is_ok();
        let found = json!({
            "environment": environment::get_environment(),
            "arguments": environment::get_arguments(),
            "folders": folders,
            "connected": connect(port),
            "resolved": resolve(),
            "printed": printed,
        });
        Ok(Outcome::Reply(found.to_string()))
    }
}

/// Returns `true` if the gateway starts a connection to a port of this machine.
fn connect(port: u16) -> bool {
    let Ok(socket) = tcp_create_socket::create_tcp_socket(IpAddressFamily::Ipv4) else {
        return false;
    };
    let network = instance_network::instance_network();
    let address = Ipv4SocketAddress { port, address: (127, 0, 0, 1) };
    socket.start_connect(&network, IpSocketAddress::Ipv4(address)).is_ok()
}

fn resolve() -> bool {
    let network = instance_network::instance_network();
    ip_name_lookup::resolve_addresses(&network, "localhost").is_ok()
}
