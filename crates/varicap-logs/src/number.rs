//! Numbers as logs write them, and their units.

/// How numbers are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decimals {
    /// Whether a comma separates the decimals.
    pub comma: bool,
}

impl Decimals {
    /// A field without digits to read it: empty, a dash, `NaN`.
    pub fn is_missing(text: &str) -> bool {
        const NOTHING: [&str; 12] =
            ["", "-", "--", "?", "nan", "na", "n/a", "#n/a", "null", "none", "nil", "undefined"];
        let text = text.trim();
        NOTHING.iter().any(|nothing| text.eq_ignore_ascii_case(nothing))
    }

    /// A finite number, and what is written behind it.
    pub fn split(self, text: &str) -> Option<(f64, &str)> {
        let text = text.trim();
        let is_digit =
            |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-') || (self.comma && c == ',');
        let mut end = text.find(|c: char| !is_digit(c)).unwrap_or(text.len());
        if let Some(rest) = text[end..].strip_prefix(['e', 'E']) {
            let signed = rest.strip_prefix(['+', '-']).unwrap_or(rest);
            let digits = signed.find(|c: char| !c.is_ascii_digit()).unwrap_or(signed.len());
            if digits > 0 {
                end += 1 + (rest.len() - signed.len()) + digits;
            }
        }
        let number = if self.comma { text[..end].replace(',', ".").parse() } else { text[..end].parse() };
        let number: f64 = number.ok()?;
        number.is_finite().then_some((number, text[end..].trim()))
    }

    /// A number and nothing else.
    pub fn number(self, text: &str) -> Option<f64> {
        self.split(text).filter(|(_, rest)| rest.is_empty()).map(|(number, _)| number)
    }
}

/// Bits per second in a unit such as `kbps`, `Mbit/s`, `bits_per_second`, `MB/s`; case tells bits from bytes.
pub(crate) fn rate_unit(text: &str) -> Option<f64> {
    let text: String =
        text.chars().filter(|c| !matches!(c, ' ' | '_' | '(' | ')' | '[' | ']' | '.')).collect();
    let lower = text.to_ascii_lowercase();
    // `bytes_sec`, of the FCC, has lost its sign of division.
    const PER: [&str; 8] = ["persecond", "persec", "/second", "/sec", "/s", "ps", "s-1", "sec"];
    let per = PER.iter().find(|per| lower.ends_with(*per))?;
    let base = &text[..text.len() - per.len()];
    let shouts = text.chars().all(|c| !c.is_lowercase()) && text.len() > 2;
    amount_unit(base, shouts)
}

/// Bits in a unit such as `kbit`, `MB`, `bytes`; where all letters are capitals (`shouts`), a `B` says nothing.
fn amount_unit(text: &str, shouts: bool) -> Option<f64> {
    let lower = text.to_ascii_lowercase();
    const BASES: [(&str, f64); 6] =
        [("bits", 1.0), ("bit", 1.0), ("bytes", 8.0), ("byte", 8.0), ("octets", 8.0), ("b", 0.0)];
    let (base, bits) = BASES.iter().find(|(base, _)| lower.ends_with(base))?;
    let bits = match *bits {
        0.0 if text.ends_with('B') && !shouts => 8.0,
        0.0 => 1.0,
        bits => bits,
    };
    let prefix = &lower[..lower.len() - base.len()];
    let factor = match prefix {
        "" => 1.0,
        "k" | "kilo" => 1e3,
        "m" | "mega" => 1e6,
        "g" | "giga" => 1e9,
        "t" | "tera" => 1e12,
        "ki" | "kibi" => 1024.0,
        "mi" | "mebi" => 1024.0 * 1024.0,
        "gi" | "gibi" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some(factor * bits)
}

/// Bits in a unit of data such as `B`, `kB`, `bytes`, `kbit`.
pub(crate) fn data_unit(text: &str) -> Option<f64> {
    amount_unit(text.trim(), false)
}

/// Nanoseconds in a unit of time.
pub(crate) fn time_unit(text: &str) -> Option<f64> {
    let text = text.trim().trim_matches(['(', ')', '[', ']']);
    Some(match text.to_lowercase().as_str() {
        "ns" | "nsec" | "nanos" | "nanoseconds" => 1.0,
        "us" | "µs" | "μs" | "usec" | "micros" | "microseconds" => 1e3,
        "ms" | "msec" | "millis" | "milliseconds" => 1e6,
        "s" | "sec" | "secs" | "second" | "seconds" => 1e9,
        "min" | "mins" | "minutes" => 60e9,
        "h" | "hours" => 3600e9,
        _ => return None,
    })
}

/// The share that a unit of loss stands for.
pub(crate) fn loss_unit(text: &str) -> Option<f64> {
    match text.trim().trim_matches(['(', ')', '[', ']']).to_lowercase().as_str() {
        "1" | "share" | "ratio" | "probability" | "fraction" => Some(1.0),
        "%" | "percent" | "pct" | "percentage" => Some(0.01),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_rates_are_read_as_people_write_them() {
        for (text, expected) in [
            ("kbps", 1e3),
            ("Mbps", 1e6),
            ("MBPS", 1e6),
            ("KBps", 8e3),
            ("MB/s", 8e6),
            ("mb/s", 1e6),
            ("bits_per_second", 1.0),
            ("Mbit/s", 1e6),
            ("Mbits/sec", 1e6),
            ("bytes/s", 8.0),
            ("(Gb/s)", 1e9),
            ("bps", 1.0),
            ("B/s", 8.0),
        ] {
            assert_eq!(rate_unit(text), Some(expected), "{text}");
        }
        for text in ["steps", "ms", "rps", "gps", "s", "kb", "fps"] {
            assert_eq!(rate_unit(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_may_have_units_exponents_and_decimal_commas() {
        let plain = Decimals::default();
        assert_eq!(plain.split("1.2E6 bit/s"), Some((1.2e6, "bit/s")));
        assert_eq!(plain.split("+5"), Some((5.0, "")));
        assert_eq!(plain.split("1000,5"), Some((1000.0, ",5")));
        assert_eq!(Decimals { comma: true }.number("1000,5"), Some(1000.5));
        assert_eq!(plain.number("12 kbps"), None);
        assert_eq!(plain.split("x"), None);
        assert!(Decimals::is_missing(" NaN ") && Decimals::is_missing("-") && !Decimals::is_missing("0"));
    }
}
