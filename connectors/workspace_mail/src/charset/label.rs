//! The names of charsets that mail programs write.

use charset::Charset;

use super::code_pages::CodePage;

/// The way to decode a text.
#[derive(Clone, Copy)]
pub(super) enum Decoder {
    /// A charset that browsers know, or UTF-7.
    Standard(Charset),
    CodePage(CodePage),
    /// The family ISO-2022.
    Iso2022,
    Hz,
    /// `true` if the most significant byte is the first.
    Utf32(bool),
}

/// Further names, as lower-case letters and digits, and the name that browsers know, or the number
/// of a code page.
const NAMES: [(&str, &str); 64] = [
    ("646", "us-ascii"),
    ("ascii", "us-ascii"),
    ("usascii", "us-ascii"),
    ("ansix341968", "us-ascii"),
    ("iso646us", "us-ascii"),
    ("ansi", "windows-1252"),
    ("western", "windows-1252"),
    ("utf", "utf-8"),
    ("utf8mb4", "utf-8"),
    ("unicode11utf8", "utf-8"),
    ("unicode11utf7", "utf-7"),
    ("unicode20utf7", "utf-7"),
    ("utf7imap", "utf-7"),
    ("unicode", "utf-16le"),
    ("ucs2", "utf-16le"),
    ("ucs2le", "utf-16le"),
    ("ucs2be", "utf-16be"),
    ("utf16", "utf-16le"),
    ("utf16le", "utf-16le"),
    ("utf16be", "utf-16be"),
    ("unicodefffe", "utf-16be"),
    ("iso10646ucs2", "utf-16be"),
    ("sjis", "shift_jis"),
    ("shiftjis", "shift_jis"),
    ("shiftjis2004", "shift_jis"),
    ("shiftjisx0213", "shift_jis"),
    ("mskanji", "shift_jis"),
    ("eucjp", "euc-jp"),
    ("eucjis2004", "euc-jp"),
    ("eucjisx0213", "euc-jp"),
    ("ujis", "euc-jp"),
    ("euckr", "euc-kr"),
    ("uhc", "euc-kr"),
    ("ksc5601", "euc-kr"),
    ("ksx1001", "euc-kr"),
    ("gb", "gb18030"),
    ("gb2312", "gb18030"),
    ("gb231280", "gb18030"),
    ("gbk", "gb18030"),
    ("gb180302000", "gb18030"),
    ("gb180302005", "gb18030"),
    ("gb18030", "gb18030"),
    ("euccn", "gb18030"),
    ("eucgb2312cn", "gb18030"),
    ("big5", "big5"),
    ("big5tw", "big5"),
    ("big5eten", "big5"),
    ("big5hkscs", "big5"),
    ("big5hkscs2004", "big5"),
    ("thai", "windows-874"),
    ("tactis", "windows-874"),
    ("koi8", "koi8-r"),
    ("koi8r", "koi8-r"),
    ("koi8u", "koi8-u"),
    ("koi8ru", "koi8-u"),
    ("mac", "macintosh"),
    ("macroman", "macintosh"),
    ("maccyrillic", "x-mac-cyrillic"),
    ("macukrainian", "x-mac-cyrillic"),
    ("roman8", "hproman8"),
    ("rk1048", "kz1048"),
    ("cyrillicasian", "ptcp154"),
    ("pt154", "ptcp154"),
    ("greek8", "iso-8859-7"),
];

/// Numbers of code pages that browsers know by a name.
const NUMBERS: [(&str, &str); 34] = [
    ("154", "ptcp154"),
    ("367", "us-ascii"),
    ("819", "windows-1252"),
    ("866", "ibm866"),
    ("874", "windows-874"),
    ("878", "koi8-r"),
    ("932", "shift_jis"),
    ("943", "shift_jis"),
    ("936", "gb18030"),
    ("1386", "gb18030"),
    ("949", "euc-kr"),
    ("970", "euc-kr"),
    ("1363", "euc-kr"),
    ("950", "big5"),
    ("951", "big5"),
    ("954", "euc-jp"),
    ("1051", "hproman8"),
    ("1168", "koi8-u"),
    ("1200", "utf-16le"),
    ("1201", "utf-16be"),
    ("10000", "macintosh"),
    ("10007", "x-mac-cyrillic"),
    ("10017", "x-mac-cyrillic"),
    ("20127", "us-ascii"),
    ("20866", "koi8-r"),
    ("20932", "euc-jp"),
    ("21866", "koi8-u"),
    ("51932", "euc-jp"),
    ("51936", "gb18030"),
    ("51949", "euc-kr"),
    ("54936", "gb18030"),
    ("65000", "utf-7"),
    ("65001", "utf-8"),
    ("28605", "iso-8859-15"),
];

/// Names of the classic Mac OS, and the numbers of their code pages.
const MAC: [(&str, &str); 9] = [
    ("maccentraleurope", "10029"),
    ("macce", "10029"),
    ("maclatin2", "10029"),
    ("macgreek", "10006"),
    ("macturkish", "10081"),
    ("maciceland", "10079"),
    ("macicelandic", "10079"),
    ("maccroatian", "10082"),
    ("macromanian", "10010"),
];

/// The number of the ISO 8859 part that each alphabet `latinN` is.
const LATIN: [&str; 10] = ["1", "2", "3", "4", "9", "10", "13", "14", "15", "16"];

impl Decoder {
    /// Finds a charset. A name that browsers do not know is compared without its punctuation, and
    /// without prefixes such as `x-` or `cs`.
    pub(super) fn named(label: &str) -> Option<Self> {
        let name: String = label.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
        // These come first, because browsers know only one member of the family.
        if let Some(decoder) = with_escapes(&name) {
            return Some(decoder);
        }
        let standard = |label: &str| Charset::for_label_no_replacement(label.as_bytes()).map(Self::Standard);
        standard(label.trim()).or_else(|| {
            let without = ["x", "cs"].into_iter().find_map(|prefix| name.strip_prefix(prefix));
            [Some(name.as_str()), without].into_iter().flatten().find_map(|name| {
                let known = known(name)?;
                CodePage::named(&known).map(Self::CodePage).or_else(|| standard(&known))
            })
        })
    }

    pub(super) fn decode(self, bytes: &[u8]) -> String {
        match self {
            Self::Standard(charset) => charset.decode(bytes).0.into_owned(),
            Self::CodePage(page) => page.decode(bytes),
            Self::Iso2022 => super::escapes::iso_2022(bytes),
            Self::Hz => super::escapes::hz(bytes),
            Self::Utf32(big_endian) => utf_32(bytes, big_endian),
        }
    }

    /// Returns `true` if the bytes below 80 are ASCII.
    pub(super) fn keeps_ascii(self) -> bool {
        match self {
            Self::Standard(charset) => charset.is_ascii_compatible(),
            Self::CodePage(_) => true,
            Self::Iso2022 | Self::Hz | Self::Utf32(_) => false,
        }
    }

    /// Returns `true` if a text of this charset has zero bytes unless all of it is outside of ASCII.
    pub(super) fn is_wide(self) -> bool {
        match self {
            Self::Standard(charset) => charset.name().starts_with("UTF-16"),
            Self::Utf32(_) => true,
            _ => false,
        }
    }
}

/// Charsets that browsers do not know at all, or only in part.
fn with_escapes(name: &str) -> Option<Decoder> {
    let name = name.strip_prefix("cs").or_else(|| name.strip_prefix('x')).unwrap_or(name);
    Some(match name {
        "hz" | "hzgb2312" | "hzgb" | "cp52936" | "windows52936" => Decoder::Hz,
        "utf32" | "utf32le" | "ucs4" | "ucs4le" | "cp12000" => Decoder::Utf32(false),
        "utf32be" | "ucs4be" | "iso10646ucs4" | "cp12001" => Decoder::Utf32(true),
        "cp50220" | "cp50221" | "cp50222" | "cp50225" => Decoder::Iso2022,
        name if name.starts_with("iso2022") => Decoder::Iso2022,
        _ => return None,
    })
}

/// The name that browsers know, or the name of a code page, of a name without punctuation.
fn known(name: &str) -> Option<String> {
    let find = |names: &[(&str, &str)], name: &str| {
        names.iter().find(|(known, _)| *known == name).map(|(_, charset)| (*charset).to_owned())
    };
    if let Some(known) = find(&NAMES, name).or_else(|| find(&MAC, name)) {
        return Some(known);
    }
    if let Some(part) = name.strip_prefix("iso8859").or_else(|| name.strip_prefix("8859")) {
        return iso_8859(part);
    }
    if let Some(number) = name.strip_prefix("latin").or_else(|| name.strip_prefix('l')) {
        let index = number.parse::<usize>().ok()?.checked_sub(1)?;
        return LATIN.get(index).and_then(|part| iso_8859(part));
    }
    let prefixes = ["windows", "codepage", "ibm", "win", "dos", "oem", "cp", "pc", "ms", ""];
    let number = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix))?;
    let number = number.strip_prefix("cp").unwrap_or(number).trim_start_matches('0');
    let number = number.trim_end_matches(|end: char| end.is_ascii_alphabetic());
    if number.len() == 4 && number.starts_with("125") {
        return Some(format!("windows-{number}"));
    }
    if let Some(part) = number.strip_prefix("28").filter(|part| part.len() == 3)
        && let Ok(part) = part.parse::<u16>()
    {
        return iso_8859(&part.checked_sub(590)?.to_string());
    }
    find(&NUMBERS, number)
        .or_else(|| CodePage::named(name).or_else(|| CodePage::named(number)).map(|_| number.to_owned()))
}

/// The name of a part of ISO 8859. Mail programs add the year, and the direction of writing.
fn iso_8859(part: &str) -> Option<String> {
    let digits = part.trim_end_matches(['e', 'i']);
    let digits = ["1987", "1988", "1989", "1992", "1998", "1999", "2001"]
        .iter()
        .find_map(|year| digits.strip_suffix(year))
        .unwrap_or(digits);
    digits.parse::<u8>().ok().filter(|part| (1..=16).contains(part)).map(|part| format!("iso-8859-{part}"))
}

fn utf_32(bytes: &[u8], big_endian: bool) -> String {
    let (bytes, big_endian) = match bytes {
        [0xFF, 0xFE, 0, 0, rest @ ..] => (rest, false),
        [0, 0, 0xFE, 0xFF, rest @ ..] => (rest, true),
        _ => (bytes, big_endian),
    };
    let character = |four: &[u8]| {
        let four = <[u8; 4]>::try_from(four).ok()?;
        char::from_u32(if big_endian { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) })
    };
    bytes.chunks(4).map(|four| character(four).unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}
