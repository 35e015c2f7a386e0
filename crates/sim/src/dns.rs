//! The name server: a question in, an answer out, in the wire format of
//! RFC 1035. It knows A records, answers everything else about a known name
//! with an empty answer, and denies all other names.

use crate::name;
use crate::web::Web;

const HEADER: usize = 12;
const MAX_NAME: usize = 255;
const TYPE_A: u16 = 1;
const TYPE_ANY: u16 = 255;
const CLASS_IN: u16 = 1;
const TTL: u32 = 3_600;

const NO_ERROR: u8 = 0;
const FORMAT_ERROR: u8 = 1;
const NAME_ERROR: u8 = 3;
const NOT_IMPLEMENTED: u8 = 4;

/// Says how long a denial holds: an SOA record of the root without servers.
const DENIAL: [u8; 33] = {
    let mut record = [0; 33];
    // Name (root), type 6, class IN, TTL 300, length 22; then two empty
    // names, serial, refresh, retry, expire and minimum.
    record[2] = 6;
    record[4] = 1;
    record[7] = 1;
    record[8] = 44;
    record[10] = 22;
    record[16] = 1;
    record[31] = 1;
    record[32] = 44;
    record
};

struct Question {
    name: Vec<u8>,
    kind: u16,
    class: u16,
    end: usize,
}

/// Write the reply to a packet; false when it deserves none.
pub fn reply(web: &Web, packet: &[u8], out: &mut Vec<u8>) -> bool {
    out.clear();
    let Some(header) = packet.get(..HEADER) else {
        return false;
    };
    let is_response = header[2] & 0x80 != 0;
    if is_response {
        return false;
    }
    let opcode = header[2] >> 3 & 15;
    let questions = u16::from_be_bytes([header[4], header[5]]);
    let question = if opcode == 0 && questions == 1 {
        read_question(packet)
    } else {
        None
    };
    let Some(question) = question else {
        let code = if opcode == 0 {
            FORMAT_ERROR
        } else {
            NOT_IMPLEMENTED
        };
        write_header(header, code, [0; 3], out);
        return true;
    };
    let rank = web.rank_of(&question.name);
    let address = rank
        .filter(|_| {
            matches!(question.kind, TYPE_A | TYPE_ANY)
                && matches!(question.class, CLASS_IN | TYPE_ANY)
        })
        .map(name::address);
    let code = if rank.is_some() { NO_ERROR } else { NAME_ERROR };
    let counts = [1, u8::from(address.is_some()), u8::from(address.is_none())];
    write_header(header, code, counts, out);
    out.extend_from_slice(&packet[HEADER..question.end]);
    match address {
        Some(address) => {
            // A pointer to the name in the question.
            out.extend_from_slice(&[0xc0, HEADER as u8]);
            out.extend_from_slice(&TYPE_A.to_be_bytes());
            out.extend_from_slice(&CLASS_IN.to_be_bytes());
            out.extend_from_slice(&TTL.to_be_bytes());
            out.extend_from_slice(&[0, 4]);
            out.extend_from_slice(&address.octets());
        }
        None => out.extend_from_slice(&DENIAL),
    }
    true
}

/// Counts are those of questions, answers and authority records.
fn write_header(asked: &[u8], code: u8, counts: [u8; 3], out: &mut Vec<u8>) {
    let [questions, answers, authority] = counts;
    // A response, with authority, and with the opcode and the wish for
    // recursion that came with the question.
    let flags = 0x84 | asked[2] & 0x79;
    out.extend_from_slice(&[asked[0], asked[1], flags, code]);
    out.extend_from_slice(&[0, questions, 0, answers, 0, authority, 0, 0]);
}

fn read_question(packet: &[u8]) -> Option<Question> {
    let mut name = Vec::new();
    let mut at = HEADER;
    loop {
        let length = usize::from(*packet.get(at)?);
        at += 1;
        if length == 0 {
            break;
        }
        // Above 63 it is a pointer, and a question has nothing to point to.
        if length > 63 || name.len() + length > MAX_NAME {
            return None;
        }
        if !name.is_empty() {
            name.push(b'.');
        }
        name.extend_from_slice(packet.get(at..at + length)?);
        at += length;
    }
    let rest = packet.get(at..at + 4)?;
    Some(Question {
        name,
        kind: u16::from_be_bytes([rest[0], rest[1]]),
        class: u16::from_be_bytes([rest[2], rest[3]]),
        end: at + 4,
    })
}

#[cfg(test)]
mod tests {
    use super::reply;
    use crate::config::WebConfig;
    use crate::hash::Stream;
    use crate::web::Web;

    fn web() -> Web {
        let config = WebConfig {
            hosts: 30,
            pages: 100,
            seed: 5,
            port: 8080,
        };
        Web::new(&config).unwrap()
    }

    fn question(name: &str, kind: u8) -> Vec<u8> {
        let mut packet = vec![0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.') {
            packet.push(label.len() as u8);
            packet.extend_from_slice(label.as_bytes());
        }
        packet.extend_from_slice(&[0, 0, kind, 0, 1]);
        packet
    }

    fn ask(web: &Web, packet: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        reply(web, packet, &mut out).then_some(out)
    }

    #[test]
    fn a_known_name_has_its_address() {
        let web = web();
        let name = web.host_name(3).to_uppercase();
        let answer = ask(&web, &question(&name, 1)).unwrap();
        assert_eq!(answer[..4], [0xab, 0xcd, 0x85, 0]);
        assert_eq!(answer[7], 1);
        let address = web.address(&name).unwrap();
        assert_eq!(answer[answer.len() - 4..], address.octets());
    }

    #[test]
    fn other_types_are_empty_and_other_names_denied() {
        let web = web();
        let empty = ask(&web, &question(&web.host_name(3), 28)).unwrap();
        assert_eq!((empty[3], empty[7], empty[9]), (0, 0, 1));
        let denied = ask(&web, &question("nobody.test", 1)).unwrap();
        assert_eq!((denied[3], denied[7], denied[9]), (3, 0, 1));
    }

    #[test]
    fn damaged_packets_are_answered_or_dropped() {
        let web = web();
        assert_eq!(ask(&web, &[]), None);
        let whole = question(&web.host_name(0), 1);
        for length in 0..whole.len() {
            let answer = ask(&web, &whole[..length]);
            assert!(answer.is_none_or(|answer| answer[3] == 1));
        }
        let mut chance = Stream::new(9);
        for _ in 0..20_000 {
            let mut packet = whole.clone();
            for _ in 0..1 + chance.below(6) {
                let at = chance.below(packet.len() as u64) as usize;
                packet[at] = chance.next() as u8;
            }
            ask(&web, &packet);
        }
    }
}
