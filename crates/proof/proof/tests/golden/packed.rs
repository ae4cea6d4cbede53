//! A database's files in one, with runs of the same byte told by their length.
//!
//! ```text
//!   for each file   length of its name (2) │ name │ its bytes (8) │ parts until it is whole
//!   a part          0 │ bytes (4) │ these      or      1 │ how often (4) │ the byte
//! ```

use crate::made::Files;

/// Shorter runs aren't worth a part.
const RUN_MIN: usize = 12;

pub(crate) fn packed(files: &Files) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, bytes) in files {
        out.extend((name.len() as u16).to_le_bytes());
        out.extend(name.as_bytes());
        out.extend((bytes.len() as u64).to_le_bytes());
        let (mut from, mut at) = (0, 0);
        while at < bytes.len() {
            let run = bytes[at..].iter().take_while(|byte| **byte == bytes[at]).count();
            if run >= RUN_MIN {
                literal(&bytes[from..at], &mut out);
                out.push(1);
                out.extend((run as u32).to_le_bytes());
                out.push(bytes[at]);
                from = at + run;
            }
            at += run;
        }
        literal(&bytes[from..], &mut out);
    }
    out
}

fn literal(bytes: &[u8], out: &mut Vec<u8>) {
    if !bytes.is_empty() {
        out.push(0);
        out.extend((bytes.len() as u32).to_le_bytes());
        out.extend(bytes);
    }
}

pub(crate) fn unpacked(mut packed: &[u8]) -> Files {
    let mut files = Files::new();
    while !packed.is_empty() {
        let length = u16::from_le_bytes(take(&mut packed));
        let name = bytes(&mut packed, length.into());
        let name = String::from_utf8(name.to_vec()).expect("names are texts");
        let length = u64::from_le_bytes(take(&mut packed)) as usize;
        let mut content = Vec::with_capacity(length);
        while content.len() < length {
            let [kind] = take(&mut packed);
            let count = u32::from_le_bytes(take(&mut packed)) as usize;
            match kind {
                0 => content.extend_from_slice(bytes(&mut packed, count)),
                _ => {
                    let [byte] = take(&mut packed);
                    content.resize(content.len() + count, byte);
                }
            }
        }
        files.insert(name, content);
    }
    files
}

fn bytes<'p>(packed: &mut &'p [u8], count: usize) -> &'p [u8] {
    let (taken, rest) = packed.split_at(count);
    *packed = rest;
    taken
}

fn take<const N: usize>(packed: &mut &[u8]) -> [u8; N] {
    bytes(packed, N).try_into().expect("so many were taken")
}
