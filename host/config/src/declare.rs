//! Declares settings: a field, its default, and the key that sets it, in one line. The reading of
//! the key and its value for operators follow from this line.
//!
//! A section whose keys depend on each other implements [`Entry`] by hand instead.

use std::collections::BTreeMap;

use super::kind::Kind;
use super::list::List;
use super::section::Section;

/// Declares a struct of settings. Each line is a field with its default, then the key that sets it
/// and the kind of the key's values. The file does not set a field without a key.
macro_rules! settings {
    ($(#[$about:meta])* pub struct $name:ident {
        $( $(#[$doc:meta])* pub $field:ident: $type:ty = $default:expr $( => $key:literal: $entry:expr )?; )*
    }) => {
        $(#[$about])*
        pub struct $name {
            $( $(#[$doc])* pub $field: $type, )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $( $field: $default, )* }
            }
        }

        $crate::declare::keys! { for $name { $($( $field => $key: $entry; )?)* } }
    };
}

/// Declares the keys of a struct that has its fields and its defaults elsewhere.
macro_rules! keys {
    (for $name:ty { $( $field:ident => $key:literal: $entry:expr; )* }) => {
        impl $crate::declare::Settings for $name {
            fn read(&mut self, section: &mut $crate::section::Section<'_>) {
                $( $crate::declare::Entry::read(&$entry, section, $key, &mut self.$field); )*
            }

            fn show(&self, list: &mut $crate::list::List) {
                $( $crate::declare::Entry::show(&$entry, list, $key, &self.$field); )*
            }
        }
    };
}

pub(super) use {keys, settings};

/// The settings of one section.
pub(super) trait Settings {
    /// Reads the keys of the section. Keys that are not set keep their values.
    fn read(&mut self, section: &mut Section<'_>);

    /// Lists the values of the keys.
    fn show(&self, list: &mut List);
}

/// A key or a section that sets a `T`.
pub(super) trait Entry<T> {
    /// Reads the key into `target`, which keeps its value if the key is absent or wrong.
    fn read(&self, section: &mut Section<'_>, key: &'static str, target: &mut T);

    /// Lists the value.
    fn show(&self, list: &mut List, key: &'static str, value: &T);
}

impl<T> Entry<T> for Kind<T> {
    fn read(&self, section: &mut Section<'_>, key: &'static str, target: &mut T) {
        section.value(key, target, |given| self.convert(given));
    }

    fn show(&self, list: &mut List, key: &'static str, value: &T) {
        list.add(key, self.shown(value));
    }
}

/// See [`section`] and [`checked_section`].
pub(super) struct Nested<T>(fn(&T, &mut Section<'_>));

/// A section with declared settings.
pub(super) fn section<T>() -> Nested<T> {
    Nested(|_, _| ())
}

/// A section with declared settings. `check` reports what is wrong with them together.
pub(super) fn checked_section<T>(check: fn(&T, &mut Section<'_>)) -> Nested<T> {
    Nested(check)
}

impl<T: Settings> Entry<T> for Nested<T> {
    fn read(&self, section: &mut Section<'_>, key: &'static str, target: &mut T) {
        section.section(key, |section| {
            target.read(section);
            (self.0)(target, section);
        });
    }

    fn show(&self, list: &mut List, key: &'static str, value: &T) {
        list.section(key, |list| value.show(list));
    }
}

/// A section with declared settings, which is `None` if the section is absent.
pub(super) struct OptionalSection;

impl<T: Settings + Default> Entry<Option<T>> for OptionalSection {
    fn read(&self, section: &mut Section<'_>, key: &'static str, target: &mut Option<T>) {
        let is_set = section.has(key);
        section.section(key, |section| {
            let mut settings = T::default();
            settings.read(section);
            *target = is_set.then_some(settings);
        });
    }

    fn show(&self, list: &mut List, key: &'static str, value: &Option<T>) {
        if let Some(value) = value {
            list.section(key, |list| value.show(list));
        }
    }
}

/// See [`only`].
pub(super) struct Only<E>(&'static str, E);

/// A section with one key or one section in it.
pub(super) fn only<E>(key: &'static str, entry: E) -> Only<E> {
    Only(key, entry)
}

impl<T, E: Entry<T>> Entry<T> for Only<E> {
    fn read(&self, section: &mut Section<'_>, key: &'static str, target: &mut T) {
        section.section(key, |section| self.1.read(section, self.0, target));
    }

    fn show(&self, list: &mut List, key: &'static str, value: &T) {
        list.section(key, |list| self.1.show(list, self.0, value));
    }
}

/// See [`values_by_name`].
pub(super) struct ValuesByName<T> {
    refusal: fn(&str) -> Option<&'static str>,
    kind: Kind<Option<T>>,
}

/// A section whose keys are names that the operator chose. `refusal` is the reason why a name
/// cannot be accepted. A value that is read as `None` is left out.
pub(super) fn values_by_name<T>(refusal: fn(&str) -> Option<&'static str>, kind: Kind<Option<T>>) -> ValuesByName<T> {
    ValuesByName { refusal, kind }
}

impl<T: Clone> Entry<BTreeMap<String, T>> for ValuesByName<T> {
    fn read(&self, section: &mut Section<'_>, key: &'static str, target: &mut BTreeMap<String, T>) {
        section.each(key, |name, section| {
            if let Some(reason) = (self.refusal)(name) {
                section.refuse(name, reason);
                return;
            }
            let mut value = None;
            section.value(name, &mut value, |given| self.kind.convert(given));
            target.extend(value.map(|value| (name.to_owned(), value)));
        });
    }

    fn show(&self, list: &mut List, key: &'static str, values: &BTreeMap<String, T>) {
        list.section(key, |list| {
            for (name, value) in values {
                list.add(name, self.kind.shown(&Some(value.clone())));
            }
        });
    }
}
