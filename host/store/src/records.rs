//! Macros for what is stored: records, which are rows, values that are stored by a name, and ids.

/// Declares a record, and reads it from a row. Its fields are the columns, in this order. A field
/// that is a record itself has several columns. `field: Type = expression` reads a field in another
/// way, and `row =>` before the record names the row for it.
macro_rules! record {
    (@field $row:ident) => { database::value::FromRow::from_row($row)? };
    (@field $row:ident $read:expr) => { $read };
    (
        $row:ident => $(#[$attribute:meta])*
        $visibility:vis struct $record:ident {
            $($(#[$of_field:meta])* $of:vis $field:ident: $type:ty $(= $read:expr)?,)*
        }
    ) => {
        $(#[$attribute])*
        $visibility struct $record { $($(#[$of_field])* $of $field: $type),* }

        impl database::value::FromRow for $record {
            fn from_row($row: &mut database::value::Row) -> $crate::Stored<Self> {
                Ok(Self { $($field: record!(@field $row $($read)?)),* })
            }
        }
    };
    ($(#[$attribute:meta])* $visibility:vis struct $($declaration:tt)*) => {
        record! { row => $(#[$attribute])* $visibility struct $($declaration)* }
    };
}
pub(crate) use record;

/// Declares an enum whose values are stored, and shown, by a name.
macro_rules! named {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $type:ident { $($(#[$of_value:meta])* $value:ident = $name:literal,)* }
    ) => {
        $(#[$attribute])*
        $visibility enum $type { $($(#[$of_value])* $value),* }

        impl $type {
            /// Every value, in the order of the declaration.
            $visibility const ALL: [Self; [$($name),*].len()] = [$(Self::$value),*];

            /// The name in the database and in answers.
            $visibility const fn name(self) -> &'static str {
                match self { $(Self::$value => $name),* }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(self.name())
            }
        }

        impl database::value::FromValue for $type {
            fn from_value(value: database::value::Value) -> Option<Self> {
                let name = String::from_value(value)?;
                Self::ALL.into_iter().find(|known| known.name() == name)
            }
        }
    };
}
pub(crate) use named;

/// Declares a function that makes an id from a prefix and random digits.
macro_rules! new_id {
    ($(#[$doc:meta])* $name:ident = $prefix:literal) => {
        $(#[$doc])*
        ///
        /// # Errors
        /// Fails if the operating system provides no random numbers.
        pub fn $name() -> $crate::Stored<String> {
            database::id::random_id($prefix)
        }
    };
}
pub(crate) use new_id;
