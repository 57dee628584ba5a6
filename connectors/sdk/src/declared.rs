//! Converts the constants of a table to the types of the contract, which own their texts.
//!
//! In the macros, `wit` is the module of the contract's types.

/// A constant of a table, with the value that the contract has for it.
pub(crate) trait Declared {
    /// The type of the value.
    type Contract;

    fn declared(&self) -> Self::Contract;
}

impl Declared for &'static str {
    type Contract = String;

    fn declared(&self) -> String {
        (*self).to_owned()
    }
}

impl<T: Declared> Declared for Option<T> {
    type Contract = Option<T::Contract>;

    fn declared(&self) -> Self::Contract {
        self.as_ref().map(T::declared)
    }
}

impl<T: Declared + 'static> Declared for &'static [T] {
    type Contract = Vec<T::Contract>;

    fn declared(&self) -> Self::Contract {
        self.iter().map(T::declared).collect()
    }
}

impl<A: Declared, B: Declared> Declared for (A, B) {
    type Contract = (A::Contract, B::Contract);

    fn declared(&self) -> Self::Contract {
        (self.0.declared(), self.1.declared())
    }
}

/// Types of the contract itself.
macro_rules! same {
    ($($kind:ty),+ $(,)?) => { $(
        impl $crate::declared::Declared for $kind {
            type Contract = Self;

            fn declared(&self) -> Self {
                *self
            }
        }
    )+ };
}

/// Implements [`Declared`] for structs that have the names and the members of records of the contract.
macro_rules! records {
    ($($name:ident { $($member:ident),+ $(,)? })+) => { $(
        impl $crate::declared::Declared for $name {
            type Contract = wit::$name;

            fn declared(&self) -> wit::$name {
                let Self { $($member),+ } = self;
                wit::$name { $($member: $member.declared()),+ }
            }
        }
    )+ };
}

/// Implements [`Declared`] for enums that have the names and the cases of variants of the contract.
macro_rules! variants {
    ($($name:ident { $($case:ident $(($value:ident))?),+ $(,)? })+) => { $(
        impl $crate::declared::Declared for $name {
            type Contract = wit::$name;

            fn declared(&self) -> wit::$name {
                match self {
                    $(Self::$case $(($value))? => wit::$name::$case $(($value.declared()))?,)+
                }
            }
        }
    )+ };
}

same!(bool, u32);

pub(crate) use records;
pub(crate) use same;
pub(crate) use variants;
