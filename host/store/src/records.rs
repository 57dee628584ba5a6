//! Macros for what is stored: records, which are rows, values that are stored by a name, and ids.

/// Reads a record from a row. Its fields are the columns, in this order. A field that is a record
/// itself has several columns. `field = expression` reads a field in another way, and names the row
/// first.
macro_rules! record {
    (@field $row:ident) => { database::value::FromRow::from_row($row)? };
    (@field $row:ident $read:expr) => { $read };
    ($record:ident: $($field:ident),* $(,)?) => { record! { row => $record: $($field),* } };
    ($row:ident => $record:ident: $($field:ident $(= $read:expr)?),* $(,)?) => {
        impl database::value::FromRow for $record {
            fn from_row($row: &mut database::value::Row) -> $crate::Stored<Self> {
                Ok(Self { $($field: record!(@field $row $($read)?)),* })
            }
        }
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
