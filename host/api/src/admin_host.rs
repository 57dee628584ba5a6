//! The host names by which the routes of the operator may be called.
//!
//! A page in a browser can let its host name lead to the address of the gateway (DNS rebinding).
//! The browser then takes the gateway for the server of the page. Such a call has the page's name
//! in `Host`, so calls of the operator's routes must have a name of the gateway.

use hyper::header::HOST;
use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use url::Host;

use config::Config;

/// Returns `true` if a request names the gateway: by an IP address, `localhost`, the host of
/// `public_url`, the name of the machine, or a name in `admin_hosts`. No page has control of these.
pub(super) fn is_own(config: &Config, head: &Parts) -> bool {
    let in_header = head.headers.get_all(HOST).iter().map(|host| Authority::try_from(host.as_bytes()).ok());
    // HTTP/2 has the name in the URL, and so does HTTP/1.1 for proxies.
    let in_url = head.uri.authority().cloned().map(Some);
    in_header.chain(in_url).all(|authority| authority.is_some_and(|authority| is_own_name(config, authority.host())))
}

fn is_own_name(config: &Config, host: &str) -> bool {
    let Ok(Host::Domain(name)) = Host::parse(host) else { return Host::parse(host).is_ok() };
    let name = name.trim_end_matches('.');
    name == "localhost"
        || name.ends_with(".localhost")
        || config.public_url.host_str().is_some_and(|own| own.eq_ignore_ascii_case(name))
        || config.admin_hosts.iter().any(|own| own == name)
        || whoami::hostname().is_ok_and(|own| own.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    fn is_own_request(url: &str, host: Option<&str>) -> bool {
        let config = Config {
            public_url: "https://gateway.example:8443/base".parse().unwrap(),
            admin_hosts: vec!["gateway.internal".to_owned()],
            ..Config::default()
        };
        let request = host.into_iter().fold(Request::get(url), |request, host| request.header("host", host));
        is_own(&config, &request.body(()).unwrap().into_parts().0)
    }

    #[test]
    fn the_operators_routes_are_called_by_names_of_the_gateway() {
        for host in [
            "127.0.0.1:8080",
            "[::1]:8080",
            "10.0.0.7",
            "localhost",
            "LOCALHOST:1",
            "gateway.example",
            "Gateway.Example:8443",
            "gateway.internal:9090",
            "gateway.internal.",
        ] {
            assert!(is_own_request("/metrics", Some(host)), "{host}");
            assert!(is_own_request(&format!("http://{}/metrics", host), None), "{host}");
        }
        for host in [
            "rebound.example",
            "localhost.rebound.example",
            "gateway.example.rebound.example",
            "127.0.0.1.rebound.example:8080",
            "",
        ] {
            assert!(!is_own_request("/metrics", Some(host)), "{host}");
        }
        assert!(!is_own_request("http://rebound.example/metrics", Some("localhost")));
    }
}
