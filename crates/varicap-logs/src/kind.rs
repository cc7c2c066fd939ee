//! The forms of logs, recognised by their beginnings.

use crate::source::Opened;
use crate::{json, printed};

/// The form of a log, by how it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// pcap or pcapng.
    Capture,
    /// JSON, or lines of it.
    Json,
    /// Output of a program for people: ping, iperf.
    Printed,
    /// XML or HTML.
    Markup,
    /// Lines of fields.
    Text,
}

impl Opened<'_> {
    /// The form of the log.
    pub(crate) fn kind(&self) -> Kind {
        const CAPTURES: [[u8; 4]; 5] = [
            [0xa1, 0xb2, 0xc3, 0xd4],
            [0xd4, 0xc3, 0xb2, 0xa1],
            [0xa1, 0xb2, 0x3c, 0x4d],
            [0x4d, 0x3c, 0xb2, 0xa1],
            [0x0a, 0x0d, 0x0d, 0x0a],
        ];
        if CAPTURES.iter().any(|magic| self.look_bytes().starts_with(magic)) {
            return Kind::Capture;
        }
        let text = self.look();
        let text = text.trim_start();
        match text.as_bytes().first() {
            Some(b'{') => Kind::Json,
            Some(b'<') => Kind::Markup,
            Some(b'[') if json::is_list(text) => Kind::Json,
            _ if printed::is_printed(text) => Kind::Printed,
            _ => Kind::Text,
        }
    }
}
