//! The permissions that the declarations of `auth-additions` request.

use contract::{AppInstallation, AuthAdditions, DeviceCode, ServiceAccount, Signature};
use contract_rules::signature::Region;

/// A line for each way to authorize, with everything that decides where credentials go.
pub(super) fn lines(additions: &AuthAdditions) -> impl Iterator<Item = String> {
    // A code only says when the user must connect again.
    let AuthAdditions { client_credentials, service_account, app_installation, device_code, signature, ended_codes: _ } =
        additions;
    let client_credentials = client_credentials.then(|| "accounts by their own client credentials".to_owned());
    let service_account = service_account.as_ref().map(|ServiceAccount { audience, needs_subject }| {
        let audience = audience.as_deref().unwrap_or("the token URL");
        let users = if *needs_subject { "for a named user" } else { "for any user or none" };
        format!("accounts by keys of service accounts, for the audience {audience}, {users}")
    });
    let app_installation = app_installation.as_ref().map(|AppInstallation { upstream, path }| {
        format!("accounts by installations of an application, with tokens from upstream {upstream} at {path}")
    });
    let device_code = device_code.as_ref().map(|DeviceCode { device_authorization_url }| {
        format!("accounts by codes on other devices, from {device_authorization_url}")
    });
    let signature = signature.as_ref().map(|signature| match signature {
        Signature::Aws(declared) => {
            let region = match &declared.region {
                Region::Fixed(region) => format!("in {region}"),
                Region::Part(_) => "in the account's region".to_owned(),
            };
            format!("requests and links signed with AWS Signature 4 for {}, {region}", declared.service)
        }
        Signature::Hmac(_) => "requests signed by HMAC".to_owned(),
    });
    [client_credentials, service_account, app_installation, device_code, signature].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::AwsSignature;

    #[test]
    fn each_way_to_authorize_is_a_permission() {
        let additions = AuthAdditions {
            client_credentials: true,
            service_account: Some(ServiceAccount { audience: Some("acme".to_owned()), needs_subject: true }),
            app_installation: Some(AppInstallation {
                upstream: "api".to_owned(),
                path: "/a/{installation_id}".to_owned(),
            }),
            device_code: Some(DeviceCode { device_authorization_url: "https://acme.example/device".to_owned() }),
            signature: Some(Signature::Aws(AwsSignature {
                service: "s3".to_owned(),
                region: Region::Fixed("us-east-1".to_owned()),
            })),
            ended_codes: vec!["refresh_token_consumed".to_owned()],
        };
        let lines: Vec<_> = lines(&additions).collect();
        assert_eq!(
            lines,
            [
                "accounts by their own client credentials",
                "accounts by keys of service accounts, for the audience acme, for a named user",
                "accounts by installations of an application, with tokens from upstream api at /a/{installation_id}",
                "accounts by codes on other devices, from https://acme.example/device",
                "requests and links signed with AWS Signature 4 for s3, in us-east-1",
            ]
        );
    }
}
