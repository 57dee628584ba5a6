//! A short hash of texts. It detects mistakes, not forgery.

/// FNV-1a over the parts. The end of each part counts, so that `ab` and `a`, `b` differ.
pub(crate) fn of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut take = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    for part in parts {
        part.iter().copied().for_each(&mut take);
        // UTF-8 never contains this byte.
        take(0xff);
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn only_equal_parts_have_an_equal_fingerprint() {
        let number = |parts: &[&str]| of(parts.iter().map(|part| part.as_bytes()));
        assert_eq!(number(&["a", "b"]), number(&["a", "b"]));
        for other in [&["ab"][..], &["b", "a"], &["a", "b", ""], &["a"], &["", "ab"]] {
            assert_ne!(number(&["a", "b"]), number(other), "{other:?}");
        }
    }
}
