//! Tensor names as file names.

/// A tensor name as a file name: letters, digits and `._-+=@,~` stay (a leading dot does not), every other byte becomes `%XX`.
/// The result never leaves the directory it is put in, and `decode_name` restores the name.
pub fn encode_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for (i, b) in name.bytes().enumerate() {
        let plain = b.is_ascii_alphanumeric() || b"_-+=@,~".contains(&b) || (b == b'.' && i > 0);
        if plain {
            out.push(b as char);
        } else {
            out.push_str(&format!("%{b:02X}"));
        }
    }
    out
}

/// Reverses [`encode_name`]; text that is not an encoding comes back unchanged.
pub fn decode_name(file: &str) -> String {
    let bytes = file.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let hex = |k: usize| bytes.get(k).and_then(|b| (*b as char).to_digit(16));
        match (bytes[i], hex(i + 1), hex(i + 2)) {
            (b'%', Some(hi), Some(lo)) => {
                out.push((hi * 16 + lo) as u8);
                i += 3;
            }
            (b, ..) => {
                out.push(b);
                i += 1;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| file.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside_their_directory() {
        assert_eq!(encode_name("out"), "out");
        assert_eq!(encode_name("b.2"), "b.2");
        assert_eq!(encode_name("../x"), "%2E.%2Fx");
        assert_eq!(encode_name(".."), "%2E.");
        assert_eq!(encode_name("a/b\\c:d"), "a%2Fb%5Cc%3Ad");
        assert_eq!(encode_name("100%"), "100%25");
        assert_eq!(encode_name("\0"), "%00");
        for name in ["../x", "a b", "ü", "%41", "x%", "", "..", "plain_1.2"] {
            assert_eq!(decode_name(&encode_name(name)), name);
        }
    }
}
