//! The wire form of records: tagged fields, so that a reader of another
//! version skips what it does not know and writes it back unchanged.
//!
//! A field is a varint `number << 1 | form`, then either a varint (form 0)
//! or a length and that many bytes (form 1).

use std::fmt;

/// The bytes are not a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed record")]
pub struct Malformed;

/// Fields this version does not know, kept as they came.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Unknown(Vec<u8>);

impl fmt::Debug for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Unknown({} bytes)", self.0.len())
    }
}

pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub fn put_text(out: &mut Vec<u8>, text: &str) {
    put_varint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Appends fields; a value that is zero or empty is left out.
pub struct Fields<'a>(pub &'a mut Vec<u8>);

impl Fields<'_> {
    pub fn number(&mut self, field: u64, value: u64) {
        if value != 0 {
            put_varint(self.0, field << 1);
            put_varint(self.0, value);
        }
    }

    pub fn bytes(&mut self, field: u64, value: &[u8]) {
        if !value.is_empty() {
            put_varint(self.0, field << 1 | 1);
            put_varint(self.0, value.len() as u64);
            self.0.extend_from_slice(value);
        }
    }

    pub fn text(&mut self, field: u64, value: &str) {
        self.bytes(field, value.as_bytes());
    }

    pub fn unknown(&mut self, unknown: &Unknown) {
        self.0.extend_from_slice(&unknown.0);
    }
}

#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    pub fn number(self) -> Result<u64, Malformed> {
        match self {
            Value::Number(n) => Ok(n),
            Value::Bytes(_) => Err(Malformed),
        }
    }

    pub fn bytes(self) -> Result<&'a [u8], Malformed> {
        match self {
            Value::Bytes(b) => Ok(b),
            Value::Number(_) => Err(Malformed),
        }
    }

    pub fn text(self) -> Result<String, Malformed> {
        let text = std::str::from_utf8(self.bytes()?).map_err(|_| Malformed)?;
        Ok(text.to_owned())
    }
}

/// A cursor over encoded bytes.
#[derive(Clone, Copy)]
pub struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first().ok_or(Malformed)?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed)
    }

    pub fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (head, rest) = self.0.split_at_checked(length).ok_or(Malformed)?;
        self.0 = rest;
        Ok(head)
    }

    /// A length, then that many bytes.
    pub fn block(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.varint()?;
        self.take(usize::try_from(length).map_err(|_| Malformed)?)
    }

    pub fn text(&mut self) -> Result<&'a str, Malformed> {
        std::str::from_utf8(self.block()?).map_err(|_| Malformed)
    }

    /// The next field, if there is one.
    pub fn field(&mut self) -> Result<Option<(u64, Value<'a>)>, Malformed> {
        if self.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let value = match tag & 1 {
            0 => Value::Number(self.varint()?),
            _ => Value::Bytes(self.block()?),
        };
        Ok(Some((tag >> 1, value)))
    }
}

/// Hand each known field to `known`; what it declines is kept in the result.
pub fn read_fields<'a>(
    bytes: &'a [u8],
    mut known: impl FnMut(u64, Value<'a>) -> Result<bool, Malformed>,
) -> Result<Unknown, Malformed> {
    let mut cursor = Cursor(bytes);
    let mut unknown = Unknown::default();
    loop {
        let before = cursor.0;
        let Some((field, value)) = cursor.field()? else {
            return Ok(unknown);
        };
        if !known(field, value)? {
            let used = before.len() - cursor.0.len();
            unknown.0.extend_from_slice(&before[..used]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_size_come_back() {
        for shift in 0..64 {
            let value = u64::MAX >> shift;
            let mut out = Vec::new();
            put_varint(&mut out, value);
            assert_eq!(Cursor(&out).varint(), Ok(value));
        }
    }

    #[test]
    fn fields_of_a_later_version_survive() {
        let mut out = Vec::new();
        let mut fields = Fields(&mut out);
        fields.number(1, 7);
        fields.text(90, "from the future");
        fields.number(91, 3);
        let mut seen = 0;
        let unknown = read_fields(&out, |field, value| {
            if field == 1 {
                seen = value.number()?;
            }
            Ok(field == 1)
        })
        .unwrap();
        let mut again = Vec::new();
        let mut fields = Fields(&mut again);
        fields.number(1, seen);
        fields.unknown(&unknown);
        assert_eq!(again, out);
    }

    #[test]
    fn cut_or_overlong_bytes_are_malformed() {
        assert_eq!(Cursor(&[0xff; 11]).varint(), Err(Malformed));
        assert_eq!(Cursor(&[0x05, 1, 2]).block(), Err(Malformed));
        assert!(read_fields(&[0x03], |_, _| Ok(true)).is_err());
    }
}
