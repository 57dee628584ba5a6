//! The members of an object or the items of an array, one after the other. No list of them is made: a
//! large value of small parts would take many times its size.

use super::{Member, Reader, Unexpected, unquoted};

/// The members of an object in their order. If the text is not an object, the last one is an error.
#[must_use]
pub fn each_member(json: &str) -> Members<'_> {
    Members(Parts::of(json, b'{', b'}'))
}

/// The items of an array, each as JSON text. If the text is not an array, the last one is an error.
#[must_use]
pub fn each_item(json: &str) -> Items<'_> {
    Items(Parts::of(json, b'[', b']'))
}

/// See [`each_member`].
pub struct Members<'a>(Parts<'a>);

/// See [`each_item`].
pub struct Items<'a>(Parts<'a>);

impl<'a> Iterator for Members<'a> {
    type Item = Result<Member<'a>, Unexpected>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = |reader: &mut Reader<'a>| {
            let name = unquoted(reader.value()?)?;
            reader.expect(b':')?;
            reader.skip_blanks()?;
            Some(Member { name, value: reader.value()? })
        };
        self.0.next(read, "an object")
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Result<&'a str, Unexpected>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next(Reader::value, "a list")
    }
}

/// The position between the parts of a value.
struct Parts<'a> {
    reader: Reader<'a>,
    open: u8,
    close: u8,
    place: Place,
}

enum Place {
    /// Before the first bracket.
    Start,
    /// After a part.
    Inside,
    /// After the last bracket, or after a mistake.
    End,
}

impl<'a> Parts<'a> {
    fn of(json: &'a str, open: u8, close: u8) -> Self {
        Self { reader: Reader { json, at: 0 }, open, close, place: Place::Start }
    }

    fn next<T>(
        &mut self,
        read: impl FnOnce(&mut Reader<'a>) -> Option<T>,
        what: &'static str,
    ) -> Option<Result<T, Unexpected>> {
        let part = match self.advance() {
            Some(false) => return None,
            Some(true) => read(&mut self.reader),
            None => None,
        };
        if part.is_none() {
            self.place = Place::End;
        }
        Some(part.ok_or_else(|| self.reader.unexpected(what)))
    }

    /// Goes to the beginning of the next part. `false` after the last one. `None` if the text is
    /// something else.
    fn advance(&mut self) -> Option<bool> {
        let has_next = match self.place {
            Place::End => false,
            Place::Start => {
                self.reader.expect(self.open)?;
                self.reader.skip_blanks()? != self.close
            }
            Place::Inside => match self.reader.skip_blanks()? {
                b',' => {
                    self.reader.at += 1;
                    self.reader.skip_blanks()?;
                    true
                }
                other if other == self.close => false,
                _ => return None,
            },
        };
        self.place = if has_next { Place::Inside } else { Place::End };
        Some(has_next)
    }
}
