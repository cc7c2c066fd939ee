//! The bytes of a log as text: unpacked, in UTF-8, with bounds; and what kind of text it is.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;

use crate::LogError;

/// Most bytes of a log, after unpacking.
pub const MOST_BYTES: u64 = 500_000_000;
/// Longest line of a table [B].
const LONGEST_LINE: usize = 1 << 16;
/// How much of a log is looked at to find out what it is [B].
const LOOK: u64 = 1 << 16;

/// The words for a file in XML or HTML.
pub(crate) const MARKUP: &str = "is a document in XML or HTML, which is no series in time; expected a table, JSON or a \
                                 capture (a flow monitor's XML has totals only)";

/// The bytes of a log.
pub type Bytes<'a> = Box<dyn BufRead + 'a>;

/// A log whose beginning has been seen.
pub struct Opened<'a> {
    /// How it begins.
    head: Vec<u8>,
    /// Whether nothing follows the beginning.
    is_whole: bool,
    rest: Bytes<'a>,
}

/// Opens the bytes of a log: unpacks gzip, decodes UTF-16, and takes off a byte order mark.
pub fn open<'a>(file: &str, bytes: impl BufRead + 'a) -> Result<Opened<'a>, LogError> {
    let failed = |error: io::Error| LogError::file(file, error.to_string());
    let (head, rest) = peek(bytes).map_err(failed)?;
    let is_packed = head.starts_with(&[0x1f, 0x8b]);
    let (head, rest): (Vec<u8>, Bytes<'a>) = if is_packed {
        let packed = MultiGzDecoder::new(Cursor::new(head).chain(rest));
        peek(BufReader::new(Bounded { inner: packed, left: MOST_BYTES })).map_err(failed)?
    } else {
        (head, rest)
    };
    let (head, rest): (Vec<u8>, Bytes<'a>) = match head.get(..2) {
        Some([0xff, 0xfe]) => peek(BufReader::new(Utf16::new(head, rest, false))).map_err(failed)?,
        Some([0xfe, 0xff]) => peek(BufReader::new(Utf16::new(head, rest, true))).map_err(failed)?,
        _ => (head, rest),
    };
    let is_whole = (head.len() as u64) < LOOK;
    let mark = "\u{feff}".as_bytes();
    let head = head.strip_prefix(mark).map(<[u8]>::to_vec).unwrap_or(head);
    Ok(Opened { head, is_whole, rest })
}

/// The beginning of a text, and the rest of it.
fn peek<'a>(mut bytes: impl BufRead + 'a) -> io::Result<(Vec<u8>, Bytes<'a>)> {
    let mut head = Vec::new();
    bytes.by_ref().take(LOOK).read_to_end(&mut head)?;
    Ok((head, Box::new(bytes)))
}

impl<'a> Opened<'a> {
    /// The beginning as text, cut after a whole line if more follows.
    pub(crate) fn look(&self) -> std::borrow::Cow<'_, str> {
        let end = if self.is_whole {
            self.head.len()
        } else {
            self.head.iter().rposition(|byte| *byte == b'\n').unwrap_or(self.head.len())
        };
        String::from_utf8_lossy(&self.head[..end])
    }

    /// The beginning as it is.
    pub(crate) fn look_bytes(&self) -> &[u8] {
        &self.head
    }

    /// Whether it is no text at all.
    pub(crate) fn is_binary(&self) -> bool {
        self.head.contains(&0)
    }

    /// A text that is here already.
    pub(crate) fn of(text: String) -> Opened<'a> {
        let is_whole = (text.len() as u64) < LOOK;
        let mut head = text.into_bytes();
        let rest = head.split_off(head.len().min(LOOK as usize));
        Opened { head, is_whole, rest: Box::new(Cursor::new(rest)) }
    }

    /// All of it as text, which may have so many bytes.
    pub(crate) fn into_text(self, file: &str, most: u64) -> Result<String, LogError> {
        let mut bytes = Vec::new();
        let read = self.into_bytes().take(most + 1).read_to_end(&mut bytes);
        read.map_err(|error| LogError::file(file, error.to_string()))?;
        if bytes.len() as u64 > most {
            return Err(LogError::file(
                file,
                format!("has more than {} MB, too much for this form", most / 1_000_000),
            ));
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// All of it.
    pub fn into_bytes(self) -> Bytes<'a> {
        Box::new(Cursor::new(self.head).chain(self.rest))
    }
}

/// Bytes that end with an error after too many: what a small file unpacks to may have no end.
struct Bounded<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            io::Error::other(format!(
                "unpacks to more than {} MB, which no log needs",
                MOST_BYTES / 1_000_000
            ))
        })?;
        Ok(read)
    }
}

/// Text in UTF-16 as UTF-8.
struct Utf16<R> {
    units: R,
    is_big: bool,
    /// The first half of a pair.
    high: Option<u16>,
    ready: Vec<u8>,
}

impl Utf16<()> {
    fn new<'a>(head: Vec<u8>, rest: Bytes<'a>, is_big: bool) -> Utf16<impl BufRead + 'a> {
        let mut units = Cursor::new(head).chain(rest);
        units.consume(2); // the mark
        Utf16 { units, is_big, high: None, ready: Vec::new() }
    }
}

impl<R: BufRead> Read for Utf16<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.ready.is_empty() {
            let mut pair = [0; 2];
            match self.units.read_exact(&mut pair) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                done => done?,
            }
            let unit = if self.is_big { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) };
            if (0xd800..0xdc00).contains(&unit) {
                self.high = Some(unit);
                continue;
            }
            let units = self.high.take().into_iter().chain([unit]);
            for read in char::decode_utf16(units) {
                let read = read.unwrap_or(char::REPLACEMENT_CHARACTER);
                self.ready.extend_from_slice(read.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        let many = self.ready.len().min(buffer.len());
        buffer[..many].copy_from_slice(&self.ready[..many]);
        self.ready.drain(..many);
        Ok(many)
    }
}

/// The lines of a text with their numbers from 1; a carriage return alone ends a line, too.
pub(crate) struct Lines<'a> {
    file: &'a str,
    bytes: Bytes<'a>,
    line: Vec<u8>,
    number: usize,
    read: u64,
}

impl<'a> Lines<'a> {
    pub fn new(file: &'a str, bytes: Bytes<'a>) -> Lines<'a> {
        Lines { file, bytes, line: Vec::new(), number: 0, read: 0 }
    }

    /// The next line, without its end; nothing after the last one. What is not UTF-8 is replaced.
    pub fn next(&mut self) -> Result<Option<(usize, std::borrow::Cow<'_, str>)>, LogError> {
        self.line.clear();
        let mut any = false;
        loop {
            let failed = |error: io::Error| LogError::file(self.file, error.to_string());
            let buffer = self.bytes.fill_buf().map_err(failed)?;
            if buffer.is_empty() {
                break;
            }
            any = true;
            let end = buffer.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let taken = end.unwrap_or(buffer.len());
            self.line.extend_from_slice(&buffer[..taken]);
            let ending = end.map(|end| buffer[end]);
            let used = taken + usize::from(end.is_some());
            self.bytes.consume(used);
            self.read += used as u64;
            if self.line.len() > LONGEST_LINE {
                let found = String::from_utf8_lossy(&self.line[..64]).into_owned();
                let expected = format!("a line of at most {LONGEST_LINE} bytes");
                return Err(LogError::line(self.file, self.number + 1, &found, expected));
            }
            if self.read > MOST_BYTES {
                let reason = format!("has more than {} MB, which no log needs", MOST_BYTES / 1_000_000);
                return Err(LogError::file(self.file, reason));
            }
            match ending {
                None => continue,
                Some(b'\r') => {
                    let next = self.bytes.fill_buf().map_err(failed)?;
                    if next.first() == Some(&b'\n') {
                        self.bytes.consume(1);
                    }
                }
                Some(_) => {}
            }
            break;
        }
        if !any {
            return Ok(None);
        }
        self.number += 1;
        Ok(Some((self.number, String::from_utf8_lossy(&self.line))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> Vec<String> {
        let opened = open("t", Cursor::new(bytes.to_vec())).unwrap();
        let mut lines = Lines::new("t", opened.into_bytes());
        let mut found = Vec::new();
        while let Some((_, line)) = lines.next().unwrap() {
            found.push(line.into_owned());
        }
        found
    }

    #[test]
    fn lines_end_as_on_any_system() {
        assert_eq!(text(b"a\nb\r\nc\rd"), ["a", "b", "c", "d"]);
        assert_eq!(text("\u{feff}a\n\nb\n".as_bytes()), ["a", "", "b"]);
    }

    #[test]
    fn utf_16_of_either_order_is_text() {
        let units: Vec<u16> = "t€😀\nb".encode_utf16().collect();
        let little: Vec<u8> =
            [0xff, 0xfe].into_iter().chain(units.iter().flat_map(|u| u.to_le_bytes())).collect();
        let big: Vec<u8> =
            [0xfe, 0xff].into_iter().chain(units.iter().flat_map(|u| u.to_be_bytes())).collect();
        assert_eq!(text(&little), ["t€😀", "b"]);
        assert_eq!(text(&big), ["t€😀", "b"]);
    }

    #[test]
    fn gzip_is_unpacked() {
        use std::io::Write;
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(b"0 1\n1 2\n").unwrap();
        assert_eq!(text(&packer.finish().unwrap()), ["0 1", "1 2"]);
    }

    #[test]
    fn what_unpacks_without_an_end_is_refused() {
        let mut zeros = Bounded { inner: io::repeat(b'0'), left: 10 };
        let error = io::copy(&mut zeros, &mut io::sink()).unwrap_err();
        assert_eq!(error.to_string(), "unpacks to more than 500 MB, which no log needs");
    }
}
