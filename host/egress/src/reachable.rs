//! Checks that a host can be reached, without sending a request.

use url::Url;

use super::client::Egress;
use super::error::EgressError;
use super::send::describe;
use super::upstream::Upstream;

impl Egress {
    /// Resolves the host of a URL, checks its addresses, connects, and does the TLS handshake of an
    /// `https` URL. Then it closes the connection.
    ///
    /// # Errors
    /// As a request to the URL: `Denied`, `Unresolved` or `Unreachable`, which name the host.
    pub async fn check_reachable(&self, url: &Url, allow_private_network: bool) -> Result<(), EgressError> {
        let (upstream, path) = Upstream::of_url("address", url, allow_private_network)?;
        let location = upstream.locate(&path, None)?;
        let connected = self.pool(allow_private_network).check(&location).await;
        connected.map_err(|error| describe(&error, location.host()))
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::super::testing::{egress_with, names};
    use super::*;

    #[tokio::test]
    async fn a_host_is_reachable_if_its_name_its_address_and_its_port_are_good() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let egress = egress_with(names(&[("a.test", &["127.0.0.1"])]));
        let check = |host: &str, allow_private| {
            let (egress, url) = (egress.clone(), Url::parse(&format!("http://{host}:{port}/token?a=secret")).unwrap());
            async move { egress.check_reachable(&url, allow_private).await }
        };
        assert_eq!(check("a.test", true).await, Ok(()));
        let denied = check("a.test", false).await.unwrap_err();
        assert!(matches!(&denied, EgressError::Denied { detail } if detail.contains("a.test")), "{denied}");
        assert!(matches!(check("127.0.0.1", false).await, Err(EgressError::Denied { .. })));
        assert!(matches!(check("b.test", true).await, Err(EgressError::Unresolved { .. })));
        drop(listener);
        let unreachable = check("a.test", true).await.unwrap_err();
        assert!(matches!(unreachable, EgressError::Unreachable { .. }), "{unreachable}");
        assert!(!unreachable.to_string().contains("secret"));
    }
}
