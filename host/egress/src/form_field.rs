//! A form field that carries the secret of a user.

/// The form field for a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormField {
    /// The name of the field.
    pub name: String,
    /// Other names by which the service might find a credential in a request. With one of them a
    /// connector could authenticate as someone else, and make the service treat the secret of the
    /// user as ordinary data.
    pub other_names: Vec<String>,
}

impl FormField {
    /// The name of this credential that a server could read `name` as; `None` if there is none.
    pub(super) fn reserved_name(&self, name: &str) -> Option<&str> {
        self.names().find(|reserved| is_spelled(name, reserved))
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.name.as_str()).chain(self.other_names.iter().map(String::as_str))
    }
}

/// Returns `true` if a server could read `name` as `reserved`. Servers are known to ignore case and
/// white space, to read `token[]` as `token`, to end a name at NUL, and to read dots and spaces as
/// `_`.
fn is_spelled(name: &str, reserved: &str) -> bool {
    let canonical = |name: &str| name.trim().replace(['.', ' '], "_").to_lowercase();
    let (name, reserved) = (name.split('\0').next().unwrap_or_default(), canonical(reserved));
    let is_same = |name: &str| {
        let name = name.trim();
        // A long name is not copied.
        name.len() <= MOST_SHRINKAGE.saturating_mul(reserved.len()) && canonical(name) == reserved
    };
    is_same(name) || is_same(name.split('[').next().unwrap_or_default())
}

/// A character in lower case has at least this part of its bytes in upper case: `K`, the sign for
/// kelvin, has three bytes, and `k` has one.
const MOST_SHRINKAGE: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_a_lenient_server_reads_it() {
        let field = FormField { name: "token".to_owned(), other_names: vec!["access_token".to_owned()] };
        let blanks = " ".repeat(1000);
        for (name, reserved) in [
            ("token", Some("token")),
            ("To\u{212a}en", Some("token")),
            ("token[a]", Some("token")),
            ("token\0a", Some("token")),
            ("access.token", Some("access_token")),
            (&*format!("{blanks}token{blanks}"), Some("token")),
            (&*format!("{blanks}TOKEN{blanks}[{blanks}]"), Some("token")),
            (&*format!("token\0{blanks}a"), Some("token")),
            (&*"token".repeat(1000), None),
            ("", None),
            ("tokens", None),
        ] {
            assert_eq!(field.reserved_name(name), reserved, "{name:?}");
        }
    }
}
