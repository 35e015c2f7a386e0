//! The bytes of a buffer's entries, in segments that never move: growing
//! copies nothing, so that no put takes long.

const FIRST_SEGMENT: usize = 4 << 10;
const LARGEST_SEGMENT: usize = 256 << 10;
/// Lengths of key and value before them.
const HEADER: usize = 8;
/// The value length of a key that was removed.
const REMOVED: u32 = u32::MAX;

/// Where an entry lies.
#[derive(Clone, Copy)]
pub(super) struct Place {
    segment: u32,
    offset: u32,
}

#[derive(Default)]
pub(super) struct Arena {
    segments: Vec<Vec<u8>>,
    bytes: usize,
}

impl Arena {
    /// Bytes of all segments, used or not yet.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn add(&mut self, key: &[u8], value: Option<&[u8]>) -> Place {
        let needed = HEADER + key.len() + value.map_or(0, <[u8]>::len);
        let fits = self
            .segments
            .last()
            .is_some_and(|last| last.capacity() - last.len() >= needed);
        if !fits {
            let size = self.bytes.clamp(FIRST_SEGMENT, LARGEST_SEGMENT).max(needed);
            self.segments.push(Vec::with_capacity(size));
            self.bytes += size;
        }
        let at = self.segments.len() - 1;
        let segment = &mut self.segments[at];
        let place = Place {
            segment: at as u32,
            offset: segment.len() as u32,
        };
        let value_length = value.map_or(REMOVED, |value| value.len() as u32);
        segment.extend_from_slice(&(key.len() as u32).to_le_bytes());
        segment.extend_from_slice(&value_length.to_le_bytes());
        segment.extend_from_slice(key);
        segment.extend_from_slice(value.unwrap_or_default());
        place
    }

    /// Write another value over an entry's, if it has the room.
    pub fn overwrite(&mut self, place: Place, value: Option<&[u8]>) -> bool {
        let (key_length, old) = self.lengths(place);
        let room = if old == REMOVED { 0 } else { old as usize };
        let fresh = value.unwrap_or_default();
        if fresh.len() > room {
            return false;
        }
        let segment = &mut self.segments[place.segment as usize];
        let at = place.offset as usize;
        let length = value.map_or(REMOVED, |value| value.len() as u32);
        segment[at + 4..at + HEADER].copy_from_slice(&length.to_le_bytes());
        let start = at + HEADER + key_length as usize;
        segment[start..start + fresh.len()].copy_from_slice(fresh);
        true
    }

    fn lengths(&self, place: Place) -> (u32, u32) {
        let at = place.offset as usize;
        let header = &self.segments[place.segment as usize][at..at + HEADER];
        let number = |from: usize| {
            u32::from_le_bytes([
                header[from],
                header[from + 1],
                header[from + 2],
                header[from + 3],
            ])
        };
        (number(0), number(4))
    }

    pub fn key(&self, place: Place) -> &[u8] {
        let (length, _) = self.lengths(place);
        let start = place.offset as usize + HEADER;
        &self.segments[place.segment as usize][start..start + length as usize]
    }

    /// `None`: the key was removed.
    pub fn value(&self, place: Place) -> Option<&[u8]> {
        let (key_length, length) = self.lengths(place);
        if length == REMOVED {
            return None;
        }
        let start = place.offset as usize + HEADER + key_length as usize;
        Some(&self.segments[place.segment as usize][start..start + length as usize])
    }
}
