//! The layout of a table's lines: separators, decimals, a header or none.

use std::borrow::Cow;

use crate::instant::date;
use crate::number::Decimals;

/// Rows that are looked at.
const SAMPLE: usize = 400;

/// The separator of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Split {
    /// A character; fields may be quoted.
    At(u8),
    /// Any number of spaces and tabs.
    Spaces,
}

impl Split {
    /// The fields of a line.
    pub fn fields(self, line: &str) -> Vec<Cow<'_, str>> {
        let separator = match self {
            Split::Spaces => return line.split_whitespace().map(Cow::Borrowed).collect(),
            Split::At(separator) => separator,
        };
        if line.contains('"') {
            return quoted(line, separator);
        }
        line.split(separator as char).map(|field| Cow::Borrowed(field.trim())).collect()
    }

    /// The separator of most lines: one that gives each the same number of fields.
    fn of(lines: &[&str]) -> Split {
        let agrees = |separator: &u8| {
            let split = Split::At(*separator);
            let counts: Vec<usize> = lines.iter().map(|line| split.fields(line).len()).collect();
            let Some(middle) = usual(&counts).filter(|many| *many > 1) else { return false };
            counts.len() < 3 || counts.iter().filter(|many| **many == middle).count() * 5 >= counts.len() * 3
        };
        let found = [b'\t', b';', b',', b'|'].into_iter().find(agrees);
        match found {
            // Columns that are lined up by several tabs.
            Some(b'\t')
                if lines.iter().any(|line| line.contains("\t\t"))
                    && !lines.iter().any(|line| line.contains(' ')) =>
            {
                Split::Spaces
            }
            Some(separator) => Split::At(separator),
            None => Split::Spaces,
        }
    }
}

/// The usual number of fields: of few lines the most.
fn usual(counts: &[usize]) -> Option<usize> {
    if counts.len() < 3 { counts.iter().max().copied() } else { counts.get(counts.len() / 2).copied() }
}

/// The fields of a line in which some are quoted.
fn quoted(line: &str, separator: u8) -> Vec<Cow<'static, str>> {
    let mut reader = csv_core::ReaderBuilder::new().delimiter(separator).build();
    let mut text = vec![0; line.len() + 1];
    let mut ends = vec![0; line.len() + 2];
    let (_, _, written, many) = reader.read_record(line.as_bytes(), &mut text, &mut ends);
    // The last field ends with the line.
    let (_, _, more, also) = reader.read_record(&[], &mut text[written..], &mut ends[many..]);
    let (total, mut from) = (written + more, 0);
    let fields = ends[..many + also].iter().map(|end| {
        let field = String::from_utf8_lossy(&text[from..(*end).min(total)]).trim().to_owned();
        from = *end;
        Cow::Owned(field)
    });
    fields.collect()
}

/// A line that counts: neither blank nor a comment, nor Excel's word on separators.
pub(crate) fn is_row(line: &str) -> bool {
    let line = line.trim();
    !(line.is_empty() || line.starts_with('#') || line.starts_with("sep="))
}

/// How the table is laid out, and its first rows.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub split: Split,
    pub decimals: Decimals,
    /// The names of the columns; empty without a header.
    pub names: Vec<String>,
    /// The line of the header; lines up to it are no data.
    pub header: usize,
    /// Lines before the header, or the data, that are neither comments nor data.
    pub preamble: usize,
    /// The first rows of data.
    pub sample: Vec<Vec<String>>,
}

impl Layout {
    /// Finds out from the beginning of a text.
    pub fn of(text: &str) -> Layout {
        let numbered = numbered(text);
        let comment = numbered.iter().rev().find(|(_, line)| line.trim().starts_with('#'));
        let comment = comment.map(|(_, line)| line.trim().trim_start_matches('#').trim().to_owned());
        let rows: Vec<(usize, &str)> =
            numbered.iter().copied().filter(|(_, line)| is_row(line)).take(SAMPLE).collect();
        let texts: Vec<&str> = rows.iter().map(|(_, line)| *line).collect();
        let split = Split::of(&texts[..texts.len().min(60)]);
        let fields: Vec<(usize, Vec<String>)> = rows
            .iter()
            .map(|(number, line)| {
                (*number, split.fields(line).iter().map(|field| field.to_string()).collect())
            })
            .collect();
        let counts: Vec<usize> = fields.iter().map(|(_, fields)| fields.len()).collect();
        let usual = usual(&counts).unwrap_or(1);
        let preamble = fields.iter().take_while(|(_, fields)| fields.len() < usual.min(2)).count();
        let mut fields = fields.into_iter().skip(preamble).peekable();
        let is_comma = split != Split::At(b',')
            && rows.iter().any(|(_, line)| split.fields(line).iter().any(|field| is_decimal(field, ',')))
            && !rows.iter().any(|(_, line)| split.fields(line).iter().any(|field| is_decimal(field, '.')));
        let decimals = Decimals { comma: is_comma };
        let header = fields.next_if(|(_, fields)| is_header(fields, decimals));
        let (header, names) = header.unwrap_or_default();
        let header = if header == 0 { preamble_end(&rows, preamble) } else { header };
        let sample: Vec<Vec<String>> = fields.map(|(_, fields)| fields).collect();
        let names = match comment {
            Some(comment) if names.is_empty() => {
                let named: Vec<String> =
                    split.fields(&comment).iter().map(|field| field.to_string()).collect();
                let fits = sample.first().is_some_and(|row| row.len() == named.len());
                let means = named.iter().filter_map(|name| crate::names::meaning(name)).count();
                if fits && means >= 2 && is_header(&named, decimals) { named } else { names }
            }
            _ => names,
        };
        Layout { split, decimals, names, header, preamble, sample }
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.names.len().max(self.sample.first().map_or(0, Vec::len))
    }

    /// The name of a column, or nothing.
    pub fn name(&self, column: usize) -> Option<&str> {
        self.names.get(column).map(String::as_str).filter(|name| !name.is_empty())
    }

    /// A column in words: `` `kbps` in column 1 ``.
    pub fn column(&self, column: usize) -> String {
        match self.name(column) {
            Some(name) => format!("`{name}` in column {column}"),
            None => format!("column {column}"),
        }
    }

    /// The fields of a column in the sample.
    pub fn values(&self, column: usize) -> impl Iterator<Item = &str> {
        self.sample.iter().filter_map(move |row| row.get(column)).map(String::as_str)
    }

    /// All columns in words.
    pub fn columns(&self) -> String {
        const MANY: usize = 12;
        let shown: Vec<String> = (0..self.width().min(MANY))
            .map(|column| match self.name(column) {
                Some(name) => format!("{column} `{}`", crate::error::quoted(name)),
                None => {
                    format!("{column} `{}`", crate::error::quoted(self.values(column).next().unwrap_or("")))
                }
            })
            .collect();
        let more = if self.width() > MANY { ", …" } else { "" };
        format!("{}{more}", shown.join(", "))
    }
}

/// Where the lines end that are neither header nor data.
fn preamble_end(rows: &[(usize, &str)], preamble: usize) -> usize {
    preamble.checked_sub(1).map_or(0, |last| rows[last].0)
}

/// Lines with their numbers, where `\r\n` is one end.
fn numbered(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut rest = text;
    while !rest.is_empty() && found.len() < 4 * SAMPLE {
        let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
        found.push((found.len() + 1, &rest[..end]));
        rest = &rest[end..];
        rest = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix(['\n', '\r'])).unwrap_or(rest);
    }
    found
}

/// Names and nothing that is a value.
fn is_header(fields: &[String], decimals: Decimals) -> bool {
    let is_value = |field: &String| {
        decimals.split(field).is_some_and(|(_, rest)| rest.is_empty()) || date(field).is_some()
    };
    let named =
        fields.iter().any(|field| field.chars().any(char::is_alphabetic) && !Decimals::is_missing(field));
    named && !fields.iter().any(is_value)
}

/// Digits, a separator, digits.
fn is_decimal(field: &str, separator: char) -> bool {
    let field = field.strip_prefix(['-', '+']).unwrap_or(field);
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    field.split_once(separator).is_some_and(|(whole, rest)| is_digits(whole) && is_digits(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_found_by_what_they_make_of_the_lines() {
        for (text, split, comma) in [
            ("time_s,kbps\n0,1\n1,2\n", Split::At(b','), false),
            ("0.0\t4.0\n0.5\t4.8\n", Split::At(b'\t'), false),
            ("0 4\n1 4\n", Split::Spaces, false),
            ("0   4\n1   4\n", Split::Spaces, false),
            ("time_s;kbps\n0,5;1000,5\n", Split::At(b';'), true),
            ("a,b\n\"x, y\",1\n\"z\",2\n", Split::At(b','), false),
            ("2020-02-14 09:38:20,1\n2020-02-14 09:38:21,2\n", Split::At(b','), false),
        ] {
            let layout = Layout::of(text);
            assert_eq!((layout.split, layout.decimals.comma), (split, comma), "{text}");
        }
    }

    #[test]
    fn a_header_has_names_and_no_values() {
        let layout = Layout::of("# seen\n\ntime_s,kbps\r\n0,1\r\n1,2\r\n");
        assert_eq!((layout.names.join("|"), layout.header), ("time_s|kbps".into(), 3));
        assert!(Layout::of("0,1\n1,2\n").names.is_empty());
        assert!(Layout::of("2020-02-14T09:38:20,1\n").names.is_empty());
        assert_eq!(Layout::of("# time_s kbps\n0 1\n1 2\n").names, ["time_s", "kbps"]);
        let titled = Layout::of("My drive\ntime_s,kbps\n0,1\n1,2\n2,3\n");
        assert_eq!((titled.names.join("|"), titled.preamble), ("time_s|kbps".into(), 1));
    }

    #[test]
    fn quotes_hold_separators() {
        let fields = Split::At(b',').fields("0,\"Oslo, \"\"N\"\"\",1000");
        assert_eq!(fields, ["0", "Oslo, \"N\"", "1000"]);
        assert_eq!(Split::At(b',').fields("\"0\",\"\""), ["0", ""]);
    }
}
