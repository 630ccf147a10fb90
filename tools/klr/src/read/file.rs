//! The frame of a file: header, metadata, contents.

use super::Reader;
use crate::ast::{Contents, File, Kernel, LncKernel, Payload, Program};
use crate::codec::Wire;
use birsim_kernels::Result;

/// Reads a KLR file. Every defect is an error of code K001 that names the byte where it was seen.
pub fn read(bytes: &[u8]) -> Result<File> {
    let mut r = Reader::new(bytes);
    let head = r.constructor("KLRFile", 0xd9)?;
    if head.index != 0xf7 {
        return Err(r.unknown_constructor(&head));
    }
    r.arguments(&head, 3)?;
    let version = [r.nat()?, r.nat()?, r.nat()?];
    r.leave();
    r.record("KLRMetaData", 235, 1, 1)?;
    let metadata = r.text()?;
    r.leave();

    let head = r.constructor("Contents", 236)?;
    r.arguments(&head, 1)?;
    let next_is_text = r.peek(1).first().is_some_and(|b| b >> 5 == 3);
    let contents = match head.index {
        0 => Contents::Python(payload(&mut r)?),
        1 => Contents::Nki(payload(&mut r)?),
        // `hlo` moved from index 2 to 4 when `kernel` and `lnc` were added.
        2..=4 if next_is_text => Contents::Hlo(r.text()?),
        2 => Contents::Program(Program::Kernel(Kernel::read(&mut r)?)),
        3 => Contents::Program(Program::Lnc(LncKernel::read(&mut r)?)),
        _ => return Err(r.unknown_constructor(&head)),
    };
    Ok(File { version, metadata, contents, trailing_bytes: r.remaining() })
}

/// A syntax tree: only its outermost head is decoded, the rest is taken as it is.
fn payload(r: &mut Reader<'_>) -> Result<Payload> {
    let start = r.position();
    let rest = r.peek(usize::MAX);
    match *rest {
        [0xd9, tag, constructor, fields @ 0x80..=0x97, ..] => {
            r.skip_rest();
            Ok(Payload { tag, constructor, fields: fields - 0x80, bytes: rest.len() })
        }
        _ => Err(r.fail(start, "a tagged syntax tree", "something else")),
    }
}
