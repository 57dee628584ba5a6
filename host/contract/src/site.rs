//! Sites: registrable domains, by the Public Suffix List.

use contract_rules::{Broken, address};

/// The registrable domain of a host name (`acme.co.uk` for `api.acme.co.uk`). `None` if the name is
/// itself a public suffix, as `co.uk` and `herokuapp.com` are.
pub fn registrable(host: &str) -> Option<&str> {
    psl::domain_str(host)
}

/// Checks an entry of a list of link hosts: a host name, or `*.` and a registrable domain or a name
/// below one. A wildcard below a public suffix would cover the hosts of unrelated owners.
///
/// # Errors
/// The rule that the entry breaks.
pub fn link_host(entry: &str) -> Result<(), Broken> {
    address::link_host(entry)?;
    match entry.strip_prefix("*.") {
        Some(domain) if registrable(&domain.to_ascii_lowercase()).is_none() => Err(format!(
            "`{domain}` is a public suffix, below which anyone can have a host; give a registrable domain, as in \
             `*.acme.com`"
        )
        .into()),
        _ => Ok(()),
    }
}

/// Checks the site of an upstream whose host differs from account to account: a registrable domain,
/// or a domain below which its owner gives customers names, although the list has it as a suffix.
///
/// # Errors
/// That it is a suffix below which anyone can register a domain.
pub fn account_site(domain: &str) -> Result<(), Broken> {
    address::link_host(&format!("*.{domain}"))?;
    let suffix = psl::suffix(domain.as_bytes());
    let is_registry = suffix.is_some_and(|suffix| suffix == domain && suffix.typ() != Some(psl::Type::Private));
    match is_registry {
        false => Ok(()),
        true => Err(format!("`{domain}` is a public suffix, below which anyone can register a domain").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_of_accounts_has_one_owner() {
        for domain in ["acme.com", "files.acme.co.uk", "acme.example", "herokuapp.com", "netlify.app"] {
            assert_eq!(account_site(domain), Ok(()), "{domain}");
        }
        for domain in ["com", "co.uk", "acme.com:1", ""] {
            assert!(account_site(domain).is_err(), "{domain}");
        }
    }

    #[test]
    fn a_wildcard_is_below_a_registrable_domain() {
        for entry in ["files.example.com", "*.acme.com", "*.files.acme.co.uk", "*.ada.herokuapp.com"] {
            assert_eq!(link_host(entry), Ok(()), "{entry}");
        }
        for entry in ["*.com", "*.co.uk", "*.CO.UK", "*.herokuapp.com", "*.s3.amazonaws.com"] {
            assert!(link_host(entry).is_err(), "{entry}");
        }
    }

    #[test]
    fn the_site_of_a_host_is_its_registrable_domain() {
        assert_eq!(registrable("api.acme.co.uk"), Some("acme.co.uk"));
        assert_eq!(registrable("co.uk"), None);
    }
}
