//! A short number that tells texts apart: not against forgery, only against mistakes.

/// FNV-1a over the parts. The end of each counts, so that parts cannot run into one another.
pub(crate) fn of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut take = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    for part in parts {
        part.iter().copied().for_each(&mut take);
        // No byte of UTF-8.
        take(0xff);
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn it_is_the_same_for_the_same_parts_only() {
        let number = |parts: &[&str]| of(parts.iter().map(|part| part.as_bytes()));
        assert_eq!(number(&["a", "b"]), number(&["a", "b"]));
        for other in [&["ab"][..], &["b", "a"], &["a", "b", ""], &["a"], &["", "ab"]] {
            assert_ne!(number(&["a", "b"]), number(other), "{other:?}");
        }
    }
}
