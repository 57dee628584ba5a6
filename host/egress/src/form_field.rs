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
    canonical(name) == reserved || canonical(name.split('[').next().unwrap_or_default()) == reserved
}
