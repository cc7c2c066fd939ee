//! Instants as logs write them: numbers of any unit, dates, times of day.

const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400 * SECOND;

/// How the instants of a column are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Clock {
    /// As a number of so many nanoseconds each.
    Number(f64),
    /// As a date with a time, or a time of day.
    Date,
}

impl Clock {
    /// The instant of a field [ns]; since 1970 if it is a date or large enough.
    pub fn read(self, text: &str, comma: bool) -> Option<i64> {
        match self {
            Clock::Number(nanos) => number(text, nanos, comma),
            Clock::Date => date(text).map(|date| date.nanos),
        }
    }
}

/// A number of so many nanoseconds each, exactly where it has no exponent [ns].
fn number(text: &str, nanos: f64, comma: bool) -> Option<i64> {
    let text = text.trim();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = match digits.find(|c| c == '.' || (comma && c == ',')) {
        Some(at) => (&digits[..at], &digits[at + 1..]),
        None => (digits, ""),
    };
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !(is_plain(whole) && is_plain(fraction)) || whole.len() + fraction.len() == 0 {
        let value: f64 = text.parse().ok()?;
        let nanos = value * nanos;
        return (nanos.abs() < 9e18).then_some(nanos.round() as i64);
    }
    let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let fraction: f64 = if fraction.is_empty() { 0.0 } else { format!("0.{fraction}").parse().ok()? };
    let whole =
        if nanos.fract() == 0.0 { whole.checked_mul(nanos as i64)? } else { (whole as f64 * nanos) as i64 };
    whole.checked_add((fraction * nanos + 0.5) as i64)?.checked_mul(sign)
}

/// Nanoseconds in the unit of a number without one, if it is so large that it must be a time since 1970.
pub(crate) fn epoch_unit(value: f64) -> Option<f64> {
    match value {
        v if (5e8..5e10).contains(&v) => Some(1e9),
        v if (5e11..5e13).contains(&v) => Some(1e6),
        v if (5e14..5e16).contains(&v) => Some(1e3),
        v if (5e17..5e19).contains(&v) => Some(1.0),
        _ => None,
    }
}

/// A date, or a time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Date {
    /// Since 1970, in the log's own zone [ns]; of a time of day, since midnight.
    pub nanos: i64,
    /// Whether it has a day.
    pub has_day: bool,
}

/// Reads `2020-02-14T09:38:22.5Z`, `2020.02.14_09.38.22`, `14/02/2020 09:38`, `20200214093822`, `09:38:22`.
pub(crate) fn date(text: &str) -> Option<Date> {
    let text = text.trim();
    if text.len() == 14 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let part = |from: usize, to: usize| text[from..to].parse::<i64>().ok();
        let day = days(part(0, 4)?, part(4, 6)?, part(6, 8)?)?;
        return of(Some(day), part(8, 10)?, part(10, 12)?, part(12, 14)?, 0);
    }
    let (first, after) = digits(text)?;
    let separator = after.chars().next()?;
    if separator == ':' {
        return time_of_day(text, None);
    }
    if !matches!(separator, '-' | '/' | '.') {
        return None;
    }
    let (second, after) = digits(after.strip_prefix(separator)?)?;
    let (third, after) = digits(after.strip_prefix(separator)?)?;
    let value = |text: &str| text.parse::<i64>().ok();
    let (first, second, third, lengths) =
        (value(first)?, value(second)?, value(third)?, [first.len(), third.len()]);
    let day = match lengths {
        [4, _] => days(first, second, third)?,
        // Day or month first: where both would do, the day.
        [_, 4] if second > 12 => days(third, first, second)?,
        [_, 4] => days(third, second, first)?,
        _ => return None,
    };
    let after = after.trim_start_matches(['T', 't', '_', ' ', ',', '-']);
    if after.is_empty() {
        return of(Some(day), 0, 0, 0, 0);
    }
    time_of_day(after, Some(day))
}

/// `09:38:22.5`, `09.38.22`, `9:38 PM`, with a zone behind it or not.
fn time_of_day(text: &str, day: Option<i64>) -> Option<Date> {
    let (hour, after) = digits(text)?;
    let separator = after.chars().next().filter(|c| matches!(c, ':' | '.' | '-'))?;
    let (minute, after) = digits(after.strip_prefix(separator)?)?;
    let (second, after) = match after.strip_prefix(separator).and_then(digits) {
        Some((second, after)) => (second.parse().ok()?, after),
        None => (0, after),
    };
    let (fraction, after) = match after.strip_prefix(['.', ',', ':']).and_then(digits) {
        Some((digits, after)) => ((format!("0.{digits}").parse::<f64>().ok()? * 1e9).round() as i64, after),
        None => (0, after),
    };
    let mut hour: i64 = hour.parse().ok()?;
    let after = after.trim();
    let half = after.get(..2).unwrap_or_default().to_ascii_uppercase();
    let zone = match half.as_str() {
        "AM" | "PM" => {
            hour = hour % 12 + if half == "PM" { 12 } else { 0 };
            after[2..].trim()
        }
        _ => after,
    };
    let east = offset(zone)?;
    let found = of(day, hour, minute.parse().ok()?, second, fraction)?;
    Some(Date { nanos: found.nanos - east, ..found })
}

/// How far east a zone is [ns]: `Z`, `+02:00`, or a name, which is not looked up.
fn offset(zone: &str) -> Option<i64> {
    let (sign, rest) = match zone.as_bytes().first() {
        None => return Some(0),
        Some(b'+') => (1, &zone[1..]),
        Some(b'-') => (-1, &zone[1..]),
        Some(_) => return zone.chars().all(|c| c.is_ascii_alphabetic()).then_some(0),
    };
    let digits: String = rest.chars().filter(|c| *c != ':').collect();
    if !matches!(digits.len(), 2 | 4) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let hours: i64 = digits[..2].parse().ok()?;
    let minutes: i64 =
        digits.get(2..).filter(|text| !text.is_empty()).map_or(Some(0), |text| text.parse().ok())?;
    Some(sign * (hours * 60 + minutes) * 60 * SECOND)
}

fn of(day: Option<i64>, hour: i64, minute: i64, second: i64, nanos: i64) -> Option<Date> {
    let is_time = (0..=24).contains(&hour) && (0..60).contains(&minute) && (0..=60).contains(&second);
    let seconds = hour * 3600 + minute * 60 + second;
    let within = is_time.then_some(seconds * SECOND + nanos)?;
    Some(Date { nanos: day.unwrap_or(0) * DAY + within, has_day: day.is_some() })
}

/// The digits that a text begins with, and what follows.
fn digits(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (1..=9).contains(&end).then(|| text.split_at(end))
}

/// Days from 1970 to a day of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if !((1900..2200).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day)) {
        return None;
    }
    // Years that begin in March have their leap day at the end.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let before = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Some(before + (153 * month + 2) / 5 + day - 1 - 719_468)
}

/// An instant since 1970 as text, to the second.
pub(crate) fn written(nanos: i64) -> String {
    let seconds = nanos.div_euclid(SECOND);
    let (days, within) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Years that begin in March, of cycles of 400 years.
    let shifted = days + 719_468;
    let (cycle, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = cycle * 400 + year + later;
    let (hour, minute, second) = (within / 3600, within / 60 % 60, within % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Option<i64> {
        date(text).map(|date| date.nanos)
    }

    #[test]
    fn dates_are_read_as_logs_write_them() {
        let noon = 1_581_673_102 * SECOND; // date -u -d '2020-02-14 09:38:22' +%s
        for text in [
            "2020-02-14T09:38:22",
            "2020-02-14 09:38:22",
            "2020.02.14_09.38.22",
            "2020/02/14 09:38:22",
            "14/02/2020 09:38:22",
            "02/14/2020 9:38:22 AM",
            "2020-02-14T09:38:22Z",
            "2020-02-14T11:38:22+02:00",
            "2020-02-14 09:38:22 CDT",
            "20200214093822",
        ] {
            assert_eq!(at(text), Some(noon), "{text}");
        }
        assert_eq!(at("2020-02-14T09:38:22.250"), Some(noon + 250_000_000));
        assert_eq!(date("18:19:50"), Some(Date { nanos: 65_990 * SECOND, has_day: false }));
        for text in ["", "12", "1.5", "2020-13-01", "fast", "1.2.3", "25:61:00", "-5"] {
            assert_eq!(at(text), None, "{text}");
        }
    }

    #[test]
    fn an_instant_is_written_as_it_was_read() {
        for text in
            ["1970-01-01 00:00:00", "2020-02-29 23:59:59", "2100-03-01 00:00:00", "1999-12-31 12:00:00"]
        {
            assert_eq!(written(at(text).unwrap()), text);
        }
    }

    #[test]
    fn numbers_since_1970_keep_their_nanoseconds() {
        let seconds = Clock::Number(1e9);
        assert_eq!(seconds.read("1723489200.167948", false), Some(1_723_489_200_167_948_000));
        assert_eq!(seconds.read("0,5", true), Some(500_000_000));
        assert_eq!(seconds.read("-1.25", false), Some(-1_250_000_000));
        assert_eq!(seconds.read("1e-3", false), Some(1_000_000));
        assert_eq!(Clock::Number(1e6).read("15.0", false), Some(15_000_000));
        for text in ["", ".", "-", "x", "NaN", "inf", "1e30", "1 2"] {
            assert_eq!(seconds.read(text, false), None, "{text}");
        }
    }
}
