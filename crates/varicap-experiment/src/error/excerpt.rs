//! The line that a mistake is in, and the part of it that is wrong.

use std::fmt::Write as _;

use crate::error::ScenarioError;

/// A line as it was written, and the part of it that is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// The line, or the option of the command line; of a very long line what is around the mistake.
    pub text: String,
    /// Where the wrong part begins in it, in characters from 0.
    pub start: usize,
    /// How many characters of it are wrong; at least 1.
    pub length: usize,
}

/// Columns of the first line that are left for the name of the program, and a colon.
const PROGRAM: usize = 9;
/// Characters of a line that are kept on either side of the mistake.
const AROUND: usize = 200;

impl Excerpt {
    /// The bytes from `start` to `end` of a line, of which no more than this line is kept.
    pub(crate) fn of(line: &str, start: usize, end: usize) -> Excerpt {
        let line = line.trim_end_matches(['\n', '\r']);
        let in_line =
            |byte: usize| line.get(..byte.min(line.len())).map_or(0, |before| before.chars().count());
        let (start, end) = (in_line(start), in_line(end));
        let from = start.saturating_sub(AROUND);
        let text = line.chars().skip(from).take(2 * AROUND).collect();
        Excerpt { text, start: start - from, length: end.saturating_sub(start).max(1) }
    }

    /// The line with a caret under each wrong character, cut to `width` columns around them.
    fn draw(&self, width: usize) -> (String, String) {
        let shown: Vec<String> = self.text.chars().map(printable).collect();
        let widths: Vec<usize> = shown.iter().map(|piece| columns(piece)).collect();
        let end = (self.start + self.length).min(shown.len()).max(self.start);
        // The mistake begins in the first third, if the line has to be cut at all.
        let mut from = 0;
        if widths.iter().sum::<usize>() > width {
            let before = |from: usize| widths[from..self.start.min(widths.len())].iter().sum::<usize>();
            while before(from) > width / 3 {
                from += 1;
            }
        }
        let (mut line, mut carets) = (String::new(), String::new());
        let mut room = width.saturating_sub(2);
        if from > 0 {
            line.push('…');
            carets.push(' ');
        }
        for at in from..shown.len() {
            if widths[at] > room {
                line.push('…');
                break;
            }
            room -= widths[at];
            line.push_str(&shown[at]);
            let mark = if (self.start..end).contains(&at) { '^' } else { ' ' };
            carets.extend(std::iter::repeat_n(mark, widths[at]));
        }
        // Text that is missing at the end of a line has no character of its own.
        if self.start >= shown.len() {
            carets.push('^');
        }
        (line, carets.trim_end().to_owned())
    }
}

impl ScenarioError {
    /// The mistake as a terminal of so many columns shows it: the place, the line quoted with carets below what is
    /// wrong, then what was expected. Nothing in it can steer a terminal.
    pub fn show(&self, width: usize) -> String {
        let width = width.clamp(40, 120);
        let mut text = String::new();
        // An option is quoted as a whole.
        let place = if self.line.is_none() && self.excerpt.is_some() { String::new() } else { self.place() };
        let what = self.what();
        let number = self.line.map_or_else(String::new, |line| line.to_string());
        let size = number.len().max(1);
        let margin = " ".repeat(size);
        wrap(&mut text, &place_and(&place, &what), "", width - PROGRAM);
        if let Some(excerpt) = &self.excerpt {
            let (line, carets) = excerpt.draw(width - size - 3);
            let _ = write!(text, "\n{number:>size$} | {line}\n{margin} | {carets}");
        }
        text.push('\n');
        let expected = format!("expected {}", self.expected);
        for note in [Some(expected.as_str()), self.hint.as_deref()].into_iter().flatten() {
            wrap(&mut text, &escape(note), &format!("{margin} = "), width);
            text.push('\n');
        }
        text.truncate(text.trim_end().len());
        text
    }

    /// The file with line and column, as far as they are known.
    fn place(&self) -> String {
        let mut place = escape(&self.file);
        for number in [self.line, self.column].into_iter().flatten() {
            let _ = write!(place, ":{number}");
        }
        place
    }

    /// The key, and what was found there.
    fn what(&self) -> String {
        let key = (!self.key.is_empty()).then(|| escape(&self.key));
        let found = self.found.as_deref().map(|found| format!("found `{}`", escape(found)));
        key.into_iter().chain(found).collect::<Vec<_>>().join(": ")
    }
}

fn place_and(place: &str, what: &str) -> String {
    match (place.is_empty(), what.is_empty()) {
        (true, _) => what.to_owned(),
        (_, true) => place.to_owned(),
        _ => format!("{place}: {what}"),
    }
}

/// Appends `words` in lines of `width` columns, the first of which begins with `head`.
fn wrap(text: &mut String, words: &str, head: &str, width: usize) {
    text.push_str(head);
    let indent = columns(head).max(2);
    let (mut column, mut is_first) = (columns(head), true);
    for word in words.split(' ') {
        let long = columns(word);
        if !is_first && column + 1 + long > width {
            let _ = write!(text, "\n{:indent$}", "");
            (column, is_first) = (indent, true);
        }
        if !is_first {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        (column, is_first) = (column + long, false);
    }
}

/// `text` with all that a terminal would obey spelled out.
fn escape(text: &str) -> String {
    text.chars().map(printable).collect()
}

/// A character, or its number if a terminal would obey it: controls, and marks that change the direction of text.
fn printable(c: char) -> String {
    match c {
        '\t' => " ".to_owned(),
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            format!("\\u{:04x}", u32::from(c))
        }
        c if c.is_control() => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    }
}

/// Columns of a terminal that a text takes.
fn columns(text: &str) -> usize {
    let of = |c: char| match u32::from(c) {
        // Combining marks and joiners.
        0x300..=0x36f | 0x200b..=0x200d | 0xfe00..=0xfe0f => 0,
        // East Asian wide characters, and pictures.
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe6f => 2,
        0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f300..=0x1faff | 0x20000..=0x3fffd => 2,
        _ => 1,
    };
    text.chars().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str, wrong: &str) -> ScenarioError {
        let start = text.find(wrong).unwrap();
        let mut error = ScenarioError::at("flows.a.count", "at least 1").found(wrong);
        error.file = "lte.toml".to_owned();
        (error.line, error.column) = (std::num::NonZeroU32::new(12), std::num::NonZeroU32::new(9));
        error.excerpt = Some(Box::new(Excerpt::of(text, start, start + wrong.len())));
        error
    }

    #[test]
    fn the_line_is_quoted_with_carets_under_what_is_wrong() {
        let shown = error("count = 0 # none\n", "0").hint("leave it out").show(80);
        let expected = "lte.toml:12:9: flows.a.count: found `0`\n12 | count = 0 # none\n   |         ^\n   = expected at least 1\n   = leave it out";
        assert_eq!(shown, expected);
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let long = format!("{}count = 0{}", "x = 1, ".repeat(900), ", y = 2".repeat(900));
        let mut error = error(&long, "0");
        error.expected = "one of ".to_owned() + &"many, ".repeat(40);
        for width in [40, 80, 120] {
            let shown = error.show(width);
            assert!(shown.lines().all(|line| columns(line) <= width), "{shown}");
            let lines: Vec<&str> = shown.lines().collect();
            let at = lines.iter().position(|line| line.contains('^')).unwrap();
            let caret = lines[at].chars().position(|c| c == '^').unwrap();
            assert_eq!(lines[at - 1].chars().nth(caret), Some('0'), "{shown}");
        }
    }

    #[test]
    fn what_a_terminal_would_obey_is_spelled_out_and_the_caret_stays_below() {
        let shown = error("name = \"\u{1b}[31m漢\u{202e}x\"", "x").show(80);
        assert!(shown.contains("\\u001b[31m漢\\u202ex"), "{shown}");
        let lines: Vec<&str> = shown.lines().collect();
        let before = lines[1].split('x').next().unwrap();
        assert_eq!(columns(before), lines[2].find('^').unwrap(), "{shown}");
    }
}
