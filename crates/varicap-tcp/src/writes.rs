//! Where the writes of an application end in the stream of bytes. The segment that carries such an end has the flag PSH.
//! Source: RFC 9293 §3.9.1.2, and `tcp_push` in Linux's net/ipv4/tcp.c.

use std::collections::VecDeque;

use varicap_units::Bytes;

/// The ends of writes; many writes of one size after each other take no more room than one.
#[derive(Clone, Debug, Default)]
pub struct Writes {
    /// In order, without overlap.
    runs: VecDeque<Run>,
}

/// Writes of one size, one after the other.
#[derive(Clone, Copy, Debug)]
struct Run {
    from: u64,
    to: u64,
    size: u64,
}

impl Run {
    /// The last end of a write that is not beyond `place`, or where the first one begins [B].
    fn last_end(&self, place: u64) -> u64 {
        let within = place.clamp(self.from, self.to) - self.from;
        self.from + within / self.size * self.size
    }
}

impl Writes {
    /// `bytes` are written at once, behind all that was written `before`, of which nothing below `done` matters any more [B].
    /// A flow that never ends has no end.
    pub fn add(&mut self, before: u64, bytes: Bytes, done: u64) {
        let size = bytes.as_u64();
        if size == 0 || bytes == Bytes::MAX {
            return;
        }
        while self.runs.front().is_some_and(|run| run.to <= done) {
            self.runs.pop_front();
        }
        let to = before.saturating_add(size);
        match self.runs.back_mut() {
            Some(last) if last.to == before && last.size == size => last.to = to,
            last => {
                debug_assert!(
                    last.is_none_or(|last| last.to <= before),
                    "a write into what was written before"
                );
                self.runs.push_back(Run { from: before, to, size });
            }
        }
    }

    /// Takes back the data that was written from `end` on.
    pub fn cut(&mut self, end: u64) {
        while let Some(last) = self.runs.back_mut() {
            last.to = last.last_end(end);
            if last.to > last.from {
                return;
            }
            self.runs.pop_back();
        }
    }

    /// The first end of a write beyond `place` [B].
    pub fn end_after(&self, place: u64) -> Option<u64> {
        let run = self.runs.get(self.runs.partition_point(|run| run.to <= place))?;
        Some(run.last_end(place.max(run.from)) + run.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(writes: &Writes) -> Vec<u64> {
        std::iter::successors(writes.end_after(0), |&end| writes.end_after(end)).collect()
    }

    #[test]
    fn ends_are_those_of_each_write_whatever_their_sizes() {
        let mut writes = Writes::default();
        let mut written = 0;
        let mut expected = Vec::new();
        for size in [10, 10, 10, 7, 7, 0, 10, 1] {
            writes.add(written, Bytes::new(size), 0);
            written += size;
            expected.push(written);
        }
        expected.dedup();
        assert_eq!(ends(&writes), expected);
        assert_eq!(writes.runs.len(), 4, "runs of 10, 7, 10 and 1");
        assert_eq!(
            (writes.end_after(9), writes.end_after(10), writes.end_after(44)),
            (Some(10), Some(20), Some(54))
        );
    }

    #[test]
    fn what_never_ends_has_no_end() {
        let mut writes = Writes::default();
        writes.add(0, Bytes::MAX, 0);
        assert_eq!(writes.end_after(0), None);
    }

    #[test]
    fn what_is_taken_back_takes_its_ends_along_and_the_next_write_begins_there() {
        let mut writes = Writes::default();
        for before in [0, 10, 20] {
            writes.add(before, Bytes::new(10), 0);
        }
        writes.add(30, Bytes::new(5), 0);
        writes.cut(14);
        assert_eq!(ends(&writes), [10]);
        writes.add(14, Bytes::new(10), 0);
        assert_eq!(ends(&writes), [10, 24]);
        writes.cut(0);
        assert_eq!(ends(&writes), [0; 0]);
    }

    #[test]
    fn what_is_done_takes_no_room() {
        let mut writes = Writes::default();
        for (place, size) in (0..1000).zip([3, 4].into_iter().cycle()) {
            writes.add(7 * place, Bytes::new(size), 7 * place);
        }
        assert!(writes.runs.len() <= 1, "{} runs", writes.runs.len());
    }
}
