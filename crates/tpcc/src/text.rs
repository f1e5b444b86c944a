//! Text of bounded length, without memory of its own.

use std::fmt;

/// At most `N` bytes of ASCII.
#[derive(Clone, Copy)]
pub struct Text<const N: usize> {
    length: u16,
    bytes: [u8; N],
}

impl<const N: usize> Text<N> {
    /// No text.
    pub const EMPTY: Self = Self { length: 0, bytes: [0; N] };

    /// As much of `text` as fits.
    #[inline]
    pub fn of(text: &[u8]) -> Self {
        let mut new = Self::EMPTY;
        new.push(text);
        new
    }

    /// Appends as much as fits.
    #[inline]
    pub fn push(&mut self, text: &[u8]) {
        let from = usize::from(self.length);
        let count = text.len().min(N - from);
        self.bytes[from..from + count].copy_from_slice(&text[..count]);
        self.length += count as u16;
    }

    /// The bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// As a string; empty where it is not ASCII, which nothing here makes.
    #[inline]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(self.bytes()).unwrap_or_default()
    }

    /// All `N` bytes, zeros at the end: sorts as the text does.
    #[inline]
    pub fn padded(&self) -> &[u8; N] {
        &self.bytes
    }

    /// Writes length and bytes, `N + 2` bytes.
    #[inline]
    pub(crate) fn store(&self, out: &mut [u8]) {
        out[..2].copy_from_slice(&self.length.to_le_bytes());
        out[2..N + 2].copy_from_slice(&self.bytes);
    }

    /// Reads what [`Text::store`] wrote; a length beyond `N` is cut.
    #[inline]
    pub(crate) fn load(from: &[u8]) -> Self {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&from[2..N + 2]);
        Self { length: u16::from_le_bytes([from[0], from[1]]).min(N as u16), bytes }
    }
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<const N: usize> PartialEq for Text<N> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl<const N: usize> Eq for Text<N> {}

impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{:?}", self.as_str())
    }
}

/// The word that makes an item, or stock, an original brand (clause 2.4.2.2).
#[inline]
pub fn is_original(brand: &[u8]) -> bool {
    brand.contains(&b'O') && brand.windows(8).any(|window| window == b"ORIGINAL")
}

/// A number written as decimal digits, without memory of its own.
pub(crate) fn push_number<const N: usize>(text: &mut Text<N>, number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = number;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    text.push(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_cut() {
        let mut text = Text::<5>::of(b"abc");
        text.push(b"defg");
        assert_eq!(text.as_str(), "abcde");
        assert_eq!(Text::<5>::of(b"abcdefg"), text);
    }

    #[test]
    fn a_number_is_written_as_the_library_writes_it() {
        for number in [0, 7, 10, 65_535, u64::MAX] {
            let mut text = Text::<20>::EMPTY;
            push_number(&mut text, number);
            assert_eq!(text.as_str(), number.to_string());
        }
    }
}
