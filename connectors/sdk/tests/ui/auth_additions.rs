mod without_oauth2 {
    connector_sdk::connector! {
        connector one "One";
        auth Auth::None;
        auth_additions &[AuthAddition::ClientCredentials];
        upstream api "https://api.example.com";

        /// A row
        a: GET api "/a";
    }
}

mod twice {
    connector_sdk::connector! {
        connector two "Two";
        auth Auth::OAuth2(OAuth2::STANDARD);
        auth_additions &[AuthAddition::ClientCredentials, AuthAddition::ClientCredentials];
        upstream api "https://api.example.com";

        /// A row
        a: GET api "/a";
    }
}

mod elsewhere {
    connector_sdk::connector! {
        connector three "Three";
        auth Auth::OAuth2(OAuth2::STANDARD);
        auth_additions &[AuthAddition::AppInstallation(AppInstallation { upstream: "apis", path: "/x/{installation_id}" })];
        upstream api "https://api.example.com";

        /// A row
        a: GET api "/a";
    }
}

mod without_id {
    connector_sdk::connector! {
        connector four "Four";
        auth Auth::OAuth2(OAuth2::STANDARD);
        auth_additions &[AuthAddition::AppInstallation(AppInstallation { upstream: "api", path: "/x/{id}" })];
        upstream api "https://api.example.com";

        /// A row
        a: GET api "/a";
    }
}

mod without_header {
    connector_sdk::connector! {
        connector five "Five";
        auth Auth::ApiKey(ApiKey { placement: KeyPlacement::Basic, form_field: None, check: None });
        auth_additions &[AuthAddition::AwsSignature(AwsSignature { service: "s3", region: Region::Fixed("eu-central-1") })];
        upstream api "https://api.example.com";

        /// A row
        a: GET api "/a";
    }
}

mod wrong_code {
    connector_sdk::connector! {
        connector six "Six";
        auth Auth::OAuth2(OAuth2::STANDARD);
        auth_additions &[AuthAddition::EndedCodes(&["refresh token consumed"])];
        upstream api "https://api.example.com";

        /// A row
        a: GET api "/a";
    }
}

fn main() {}
