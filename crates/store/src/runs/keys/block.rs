//! The form of a block of keys.
//!
//! A block is a checksum and then groups, one for each host: a control byte,
//! the host as the difference from the one before, and the URL halves as
//! they are, in order. URL halves are hashes: at a hundred of them a host the
//! differences would be as long as the values, and raw ones can be searched.
//!
//! ```text
//! control: bits 0-2 bytes of the difference - 1, bits 3-7 count (0: a u16 follows the difference)
//! ```

use xxhash_rust::xxh3::xxh3_64_with_seed;

pub const CHECKSUM_BYTES: usize = 8;
/// More URLs than this never share a group: the count is 16 bits wide.
const GROUP_LIMIT: usize = u16::MAX as usize;
const SHORT_COUNT: usize = 31;
const URL_BYTES: usize = 8;

/// The bytes are not a block.
#[derive(Debug, PartialEq, Eq)]
pub struct NotABlock;

pub fn host_of(key: u128) -> u64 {
    (key >> 64) as u64
}

pub fn url_of(key: u128) -> u64 {
    key as u64
}

pub fn key_of(host: u64, url: u64) -> u128 {
    u128::from(host) << 64 | u128::from(url)
}

/// Builds one block after another from keys in ascending order.
#[derive(Default)]
pub struct BlockBuilder {
    bytes: Vec<u8>,
    first: u128,
    /// Host of the last group in `bytes`.
    written_host: u64,
    host: u64,
    urls: Vec<u8>,
}

impl BlockBuilder {
    pub fn push(&mut self, key: u128) {
        let host = host_of(key);
        if self.is_empty() {
            self.first = key;
            self.host = host;
            self.bytes.extend_from_slice(&[0; CHECKSUM_BYTES]);
        } else if host != self.host || self.urls.len() >= GROUP_LIMIT * URL_BYTES {
            self.end_group();
            self.host = host;
        }
        self.urls.extend_from_slice(&url_of(key).to_le_bytes());
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn len(&self) -> usize {
        self.bytes.len() + self.urls.len()
    }

    /// Append the block to `out`, where it stands at `offset` of its file,
    /// and begin the next. Gives its first key.
    pub fn finish(&mut self, offset: u64, out: &mut Vec<u8>) -> u128 {
        self.end_group();
        let checksum = xxh3_64_with_seed(&self.bytes[CHECKSUM_BYTES..], offset);
        self.bytes[..CHECKSUM_BYTES].copy_from_slice(&checksum.to_le_bytes());
        out.extend_from_slice(&self.bytes);
        self.bytes.clear();
        self.written_host = 0;
        self.first
    }

    fn end_group(&mut self) {
        let step = self.host - self.written_host;
        let step_bytes = (8 - step.leading_zeros() as usize / 8).max(1);
        let count = self.urls.len() / URL_BYTES;
        let short = if count <= SHORT_COUNT { count } else { 0 };
        self.bytes.push((step_bytes - 1) as u8 | (short << 3) as u8);
        self.bytes
            .extend_from_slice(&step.to_le_bytes()[..step_bytes]);
        if short == 0 {
            self.bytes.extend_from_slice(&(count as u16).to_le_bytes());
        }
        self.bytes.append(&mut self.urls);
        self.written_host = self.host;
    }
}

/// A host and its URL halves, in ascending order.
pub type Group<'a> = (u64, &'a [[u8; URL_BYTES]]);

/// The groups of a block whose checksum is right.
pub struct Groups<'a> {
    rest: &'a [u8],
    host: u64,
}

impl<'a> Groups<'a> {
    /// `offset` is where the block stands in its file: a block in another's
    /// place is damage too.
    pub fn open(block: &'a [u8], offset: u64) -> Result<Groups<'a>, NotABlock> {
        let (checksum, rest) = block.split_first_chunk().ok_or(NotABlock)?;
        if u64::from_le_bytes(*checksum) != xxh3_64_with_seed(rest, offset) {
            return Err(NotABlock);
        }
        Ok(Groups { rest, host: 0 })
    }

    pub fn next(&mut self) -> Result<Option<Group<'a>>, NotABlock> {
        let Some((&control, rest)) = self.rest.split_first() else {
            return Ok(None);
        };
        let step_bytes = usize::from(control & 7) + 1;
        // A URL follows, so eight bytes can always be read.
        let wide = u64::from_le_bytes(*rest.first_chunk().ok_or(NotABlock)?);
        let step = wide & (u64::MAX >> (64 - 8 * step_bytes));
        let mut rest = &rest[step_bytes..];
        let mut count = usize::from(control >> 3);
        if count == 0 {
            let (wide, behind) = rest.split_first_chunk().ok_or(NotABlock)?;
            count = usize::from(u16::from_le_bytes(*wide));
            rest = behind;
        }
        let (urls, rest) = rest.split_at_checked(count * URL_BYTES).ok_or(NotABlock)?;
        self.rest = rest;
        self.host = self.host.wrapping_add(step);
        Ok(Some((self.host, urls.as_chunks().0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(keys: &[u128], offset: u64) -> Vec<u8> {
        let mut builder = BlockBuilder::default();
        keys.iter().for_each(|&key| builder.push(key));
        let mut out = Vec::new();
        assert_eq!(builder.finish(offset, &mut out), keys[0]);
        out
    }

    fn read(block: &[u8], offset: u64) -> Result<Vec<u128>, NotABlock> {
        let mut groups = Groups::open(block, offset)?;
        let mut keys = Vec::new();
        while let Some((host, urls)) = groups.next()? {
            keys.extend(
                urls.iter()
                    .map(|url| key_of(host, u64::from_le_bytes(*url))),
            );
        }
        Ok(keys)
    }

    #[test]
    fn keys_come_back_whatever_their_hosts() {
        let mut keys = vec![0, 1, key_of(0, u64::MAX), key_of(1, 0), key_of(u64::MAX, 5)];
        keys.extend((0..200).map(|url| key_of(1 << 40, url)));
        keys.sort_unstable();
        assert_eq!(read(&built(&keys, 7), 7), Ok(keys));
    }

    #[test]
    fn a_block_cut_changed_or_moved_is_told() {
        let block = built(&[3, key_of(1, 4), key_of(9, 9)], 16);
        assert_eq!(read(&block, 17), Err(NotABlock));
        for end in 0..block.len() {
            assert_eq!(read(&block[..end], 16), Err(NotABlock));
        }
        for at in 0..block.len() {
            let mut changed = block.clone();
            changed[at] ^= 4;
            assert_eq!(read(&changed, 16), Err(NotABlock));
        }
    }

    #[test]
    fn groups_that_claim_more_than_there_is_are_told() {
        let payload = [7 | 31 << 3, 1, 2, 3, 4, 5, 6, 7, 8, 9];
        let mut block = xxh3_64_with_seed(&payload, 0).to_le_bytes().to_vec();
        block.extend_from_slice(&payload);
        assert_eq!(read(&block, 0), Err(NotABlock));
    }
}
