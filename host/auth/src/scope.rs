//! The permissions of a caller.

use std::fmt;

/// A permission of a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Call operations.
    Operate,
    /// Connect and remove users' accounts.
    Integrate,
    /// Send requests to the services of connectors around their operations.
    Proxy,
    /// Change the gateway itself: add, remove and roll back connectors.
    Admin,
}

impl Scope {
    /// All scopes, in the order in which lists show them.
    pub const ALL: [Self; 4] = [Self::Operate, Self::Integrate, Self::Proxy, Self::Admin];

    /// The name on the command line, in answers and in the store. It never changes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Operate => "operate",
            Self::Integrate => "integrate",
            Self::Proxy => "proxy",
            Self::Admin => "admin",
        }
    }

    const fn bit(self) -> u8 {
        match self {
            Self::Operate => 1,
            Self::Integrate => 2,
            Self::Admin => 4,
            Self::Proxy => 8,
        }
    }
}

/// A set of scopes. No scope implies another.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Scopes(u8);

impl Scopes {
    /// The scopes of the first key. A key has the scope `proxy` only if its maker names it.
    pub fn of_first_key() -> Self {
        [Scope::Operate, Scope::Integrate, Scope::Admin].into_iter().collect()
    }

    /// Reads names separated by spaces. Unknown names, such as the scopes of a later version,
    /// are ignored.
    pub fn parse(names: &str) -> Self {
        Scope::ALL.into_iter().filter(|scope| names.split(' ').any(|name| name == scope.name())).collect()
    }

    /// Returns `true` if the scope is in the set.
    pub const fn contains(self, scope: Scope) -> bool {
        self.0 & scope.bit() != 0
    }

    /// The scopes in the set, in the order in which lists show them.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().filter(move |scope| self.contains(*scope))
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |bits, scope| bits | scope.bit()))
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.iter().map(Scope::name).collect();
        formatter.write_str(&names.join(" "))
    }
}

impl fmt::Debug for Scopes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Scopes({self})")
    }
}
