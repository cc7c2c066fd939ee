//! How far a mean can be trusted: intervals over runs, warm-up detection, batch means, fairness.
//!
//! `python/varicap/statistics/interval.py` computes the same intervals for arrays; `docs/background/statistics.md` has
//! how often they cover.

/// The share of intervals that contain the true mean.
const CONFIDENCE: f64 = 0.95;

/// Beyond this many degrees of freedom Student's t is the normal distribution to nine digits.
const MOST_DEGREES: u32 = 1_000_000;

/// Within this distance of one, the cause that makes a share incomplete is rare, such as a timeout: a run of
/// [`Chances::MANY`] counts as `1 / RARE` independent chances of it.
const RARE: f64 = 1e-3;

/// Half a bucket of a histogram, as a share of its value: what quantiles that agree may differ by.
const HALF_A_BUCKET: f64 = 1.0 / 64.0;

/// Which values a measure can have in a run, and how finely it is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// Any number.
    Any,
    /// Zero or more.
    Amount,
    /// Zero or more, of events that are counted.
    Count,
    /// From zero to one; a run may be beyond one only where the meaning of the measure says so.
    Share(Chances),
    /// Zero or more, read from a histogram with buckets of finite width.
    Quantile,
}

impl Range {
    /// How results name it.
    pub const fn name(self) -> &'static str {
        match self {
            Range::Any => "any",
            Range::Amount => "amount",
            Range::Count => "count",
            Range::Share(_) => "share",
            Range::Quantile => "quantile",
        }
    }
}

/// How many independent chances a run is of what a share leaves open where all runs have none, or all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chances {
    /// So many.
    Each(u32),
    /// As many as this column counts.
    Counted(&'static str),
}

impl Chances {
    /// Those of a share of time, or of packets: what makes it incomplete is rare, such as a timeout.
    pub const MANY: Chances = Chances::Each((1.0 / RARE) as u32);
}

/// A mean with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The mean; NaN if there were no values.
    pub mean: f64,
    /// Lower end of the interval; NaN if there were fewer than two values.
    pub lo: f64,
    /// Upper end of the interval; NaN if there were fewer than two values.
    pub hi: f64,
}

impl Interval {
    /// The mean and interval of independent `values` that can be any number; those that are not numbers are ignored.
    pub fn of(values: &[f64]) -> Interval {
        Interval::within(values, Range::Any)
    }

    /// The mean and interval of independent `values` of a measure with this range; those that are not numbers are
    /// ignored.
    ///
    /// Student's interval and the one that corrects it for skewness (see `skewed`), both: each covers less than it says
    /// where the other covers. No end is outside of the range. With an infinite value the mean is infinite, and has no
    /// interval. Chances that a column counts have to be given as a number, or count as one.
    pub fn within(values: &[f64], range: Range) -> Interval {
        let values: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
        let Some(&first) = values.first() else {
            return Interval { mean: f64::NAN, lo: f64::NAN, hi: f64::NAN };
        };
        let count = values.len() as f64;
        // Sums of distances from the first value, so that equal values have exactly that mean.
        let mean = first + values.iter().map(|value| value - first).sum::<f64>() / count;
        if let Some(&infinite) = values.iter().find(|value| value.is_infinite()) {
            return Interval { mean: infinite, lo: f64::NAN, hi: f64::NAN };
        }
        if values.len() < 2 {
            return Interval { mean, lo: f64::NAN, hi: f64::NAN };
        }
        let power = |n: i32| values.iter().map(|value| (value - mean).powi(n)).sum::<f64>();
        let squares = power(2);
        let deviation = libm::sqrt(squares / (count - 1.0));
        let degrees = u32::try_from(values.len() - 1).unwrap_or(u32::MAX);
        let reach = student_t(0.5 + CONFIDENCE / 2.0, degrees) / libm::sqrt(count);
        let skewness = if values.len() > 2 && squares > 0.0 {
            count * libm::sqrt(count - 1.0) / (count - 2.0) * power(3) / (squares * libm::sqrt(squares))
        } else {
            0.0
        };
        let (below, above) = (skewed(reach, skewness, count), -skewed(-reach, skewness, count));
        let lo = mean - deviation * below.max(reach);
        let hi = mean + deviation * above.max(reach);
        let (least, most) =
            values.iter().fold((first, first), |(least, most), &value| (least.min(value), most.max(value)));
        let (lo, hi) = ends(range, Interval { mean, lo, hi }, count, (least, most));
        Interval { mean, lo, hi }
    }
}

/// The deviation of a mean, in standard deviations of a run, of which the transformed one is `reach`.
///
/// The transformation takes the skewness out of Student's statistic; its inverse is `3 (cbrt(1 + g w) - 1) / g`, with
/// `w = reach - g / (6 n)`, which is `reach` where the skewness `g` is zero. Source: [hall92].
fn skewed(reach: f64, skewness: f64, count: f64) -> f64 {
    let shifted = reach - skewness / (6.0 * count);
    let root = libm::cbrt(1.0 + skewness * shifted);
    3.0 * shifted / (root * root + root + 1.0)
}

/// The ends of an interval, none of them outside of the range; `extremes` are the least and the greatest value.
///
/// Runs that agree show no scatter. Where the range says what else may happen, their interval has it; else it has no
/// width, and says nothing of other runs.
fn ends(range: Range, of: Interval, count: f64, (least, most): (f64, f64)) -> (f64, f64) {
    let Interval { mean, lo, hi } = of;
    let agree = least == most;
    let (lo, hi) = if agree { (mean, mean) } else { (lo, hi) };
    // Where a run is beyond one, as the meaning of a few shares allows, nothing bounds the mean from above.
    let bounded = |end: f64| if most > 1.0 { end } else { end.min(1.0) };
    match range {
        Range::Any => (lo, hi),
        Range::Count if agree && mean == 0.0 => (0.0, poisson(0.0).1 / count),
        Range::Quantile if agree => (mean * (1.0 - HALF_A_BUCKET), mean * (1.0 + HALF_A_BUCKET)),
        Range::Amount | Range::Count | Range::Quantile => (lo.max(0.0), hi),
        Range::Share(each) if agree && mean == 0.0 => (0.0, (poisson(0.0).1 / chances(each, count)).min(1.0)),
        Range::Share(each) if mean <= 1.0 && 1.0 - mean < RARE => {
            let chances = chances(each, count);
            let (few, many) = poisson(chances * (1.0 - mean));
            (lo.min(1.0 - many / chances).max(0.0), bounded(hi.max(1.0 - few / chances)))
        }
        Range::Share(_) => (lo.max(0.0), bounded(hi)),
    }
}

/// How many chances `count` runs are.
fn chances(each: Chances, count: f64) -> f64 {
    match each {
        Chances::Each(each) => count * f64::from(each.max(1)),
        Chances::Counted(_) => count,
    }
}

/// The 95 % interval of a Poisson mean of which `seen` events were counted, within one percent of the exact one.
/// Source: [breslow87, §2.3], Byar's approximation.
fn poisson(seen: f64) -> (f64, f64) {
    const NORMAL: f64 = 1.959_963_984_540_054;
    let end = |count: f64, normal: f64| {
        let root = 1.0 - 1.0 / (9.0 * count) + normal / (3.0 * libm::sqrt(count));
        count * root * root * root
    };
    (if seen > 0.0 { end(seen, -NORMAL).max(0.0) } else { 0.0 }, end(seen + 1.0, NORMAL))
}

/// The `p`-quantile of Student's t with `degrees` degrees of freedom, for 0.5 <= p < 1.
///
/// Bisection of the distribution's finite series, to the last bit. Source: [abramowitz64, 26.7.3 and 26.7.4].
pub fn student_t(p: f64, degrees: u32) -> f64 {
    assert!((0.5..1.0).contains(&p) && degrees > 0, "no quantile {p} of Student's t with {degrees} degrees");
    let degrees = degrees.min(MOST_DEGREES);
    let inside = 2.0 * p - 1.0;
    // In terms of the angle whose tangent is t / sqrt(degrees), the search interval has fixed ends.
    let (mut low, mut high) = (0.0, std::f64::consts::FRAC_PI_2);
    loop {
        let angle = low + (high - low) / 2.0;
        if angle <= low || angle >= high {
            return libm::tan(angle) * libm::sqrt(f64::from(degrees));
        }
        if within(angle, degrees) < inside {
            low = angle;
        } else {
            high = angle;
        }
    }
}

/// The probability P(|t| <= sqrt(degrees) tan(angle)).
fn within(angle: f64, degrees: u32) -> f64 {
    let (sine, cosine) = (libm::sin(angle), libm::cos(angle));
    let square = cosine * cosine;
    let is_odd = degrees % 2 == 1;
    // Terms cos, 2/3 cos^3, 2·4/(3·5) cos^5 … up to cos^(degrees - 2), or 1, 1/2 cos^2, 1·3/(2·4) cos^4 …
    let (mut term, mut divisor) = if is_odd { (cosine, 3.0) } else { (1.0, 2.0) };
    let mut sum = 0.0;
    for _ in 0..degrees / 2 {
        sum += term;
        term *= square * (divisor - 1.0) / divisor;
        divisor += 2.0;
        if term < sum * f64::EPSILON / 64.0 {
            break; // the remaining terms are below the last bit
        }
    }
    if is_odd { (angle + sine * sum) / std::f64::consts::FRAC_PI_2 } else { sine * sum }
}

/// Jain's fairness index of `shares`: 1 if all are equal, 1/n if one has everything. Source: [jain84].
///
/// The index of no shares, or of shares that are all zero, is 1.
pub fn jain_index(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    if squares > 0.0 { sum * sum / (shares.len() as f64 * squares) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_infinite_value_makes_the_mean_infinite() {
        let interval = Interval::of(&[1.0, f64::INFINITY, f64::NAN, 3.0]);
        assert!(interval.mean == f64::INFINITY && interval.lo.is_nan() && interval.hi.is_nan());
        assert_eq!(Interval::of(&[f64::INFINITY]).mean, f64::INFINITY);
    }

    #[test]
    fn quantiles_of_t_match_tables() {
        // (p, degrees, value): NIST/SEMATECH e-Handbook §1.3.6.7.2 to its three digits, and where a closed form exists
        // (one, two and four degrees) that.
        let table = [
            (0.975, 1, 12.706),
            (0.975, 3, 3.182),
            (0.975, 5, 2.571),
            (0.975, 9, 2.262),
            (0.975, 10, 2.228),
            (0.975, 19, 2.093),
            (0.975, 29, 2.045),
            (0.975, 30, 2.042),
            (0.975, 60, 2.000),
            (0.975, 100, 1.984),
            (0.95, 7, 1.895),
            (0.99, 12, 2.681),
            (0.995, 4, 4.604),
            (0.999, 2, 22.327),
        ];
        for (p, degrees, value) in table {
            let found = student_t(p, degrees);
            assert!((found - value).abs() <= 0.0005 + 1e-9, "t({p}, {degrees}) = {found}, not {value}");
        }
    }

    #[test]
    fn quantiles_of_t_match_closed_forms() {
        for p in [0.6, 0.9, 0.975, 0.999] {
            let one = libm::tan(std::f64::consts::PI * (p - 0.5));
            let alpha = 4.0 * p * (1.0 - p);
            let two = (2.0 * p - 1.0) * libm::sqrt(2.0 / alpha);
            let q = libm::cos(libm::acos(libm::sqrt(alpha)) / 3.0) / libm::sqrt(alpha);
            let four = 2.0 * libm::sqrt(q - 1.0);
            for (degrees, exact) in [(1, one), (2, two), (4, four)] {
                let found = student_t(p, degrees);
                assert!((found / exact - 1.0).abs() < 1e-12, "t({p}, {degrees}) = {found}, not {exact}");
            }
        }
    }

    #[test]
    fn many_degrees_of_freedom_are_normal() {
        // 1.959963984540054 is the normal quantile; t exceeds it by about (z^3 + z) / (4 degrees).
        assert!((student_t(0.975, u32::MAX) - 1.959_963_984_540_054 - 2.372e-6).abs() < 1e-8);
    }

    #[test]
    fn one_run_has_no_interval() {
        let interval = Interval::of(&[3.0]);
        assert_eq!(interval.mean, 3.0);
        assert!(interval.lo.is_nan() && interval.hi.is_nan());
    }

    #[test]
    fn equal_runs_have_an_interval_of_no_width() {
        let interval = Interval::of(&[0.1; 7]);
        assert_eq!((interval.mean, interval.lo, interval.hi), (0.1, 0.1, 0.1));
    }

    #[test]
    fn the_interval_of_a_worked_example() {
        // Mean 3, standard deviation sqrt(2.5), t(0.975, 4) = 2.7764451052.
        let interval = Interval::of(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!((interval.hi - 3.0 - 2.776_445_105_2 * libm::sqrt(0.5)).abs() < 1e-9);
        assert!((interval.hi + interval.lo - 6.0).abs() < 1e-12);
    }

    #[test]
    fn the_interval_of_skewed_runs_reaches_farther_where_their_tail_is() {
        // Nine runs at 1, one at 2: g = sqrt(10) * 10 / (8 * 3) * 0.8 / 0.3 = 3.16, and Student's half is 0.226.
        let interval = Interval::of(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0]);
        let student = 2.262_157_162_7 * 0.1;
        assert!((interval.mean - interval.lo - student).abs() < 1e-9);
        let shifted =
            -student * libm::sqrt(10.0) / libm::sqrt(10.0) / libm::sqrt(0.1) - libm::sqrt(10.0) / 60.0;
        let transformed = 3.0 / libm::sqrt(10.0) * (libm::cbrt(1.0 + libm::sqrt(10.0) * shifted) - 1.0);
        assert!((interval.hi - interval.mean + libm::sqrt(0.1) * transformed).abs() < 1e-9, "{interval:?}");
        assert!(interval.hi - interval.mean > 1.5 * student);
    }

    #[test]
    fn no_interval_leaves_the_range_of_its_measure() {
        let rare = [0.0, 0.0, 0.0, 0.0, 4.0];
        assert!(Interval::of(&rare).lo < 0.0);
        for range in [Range::Amount, Range::Count, Range::Quantile] {
            assert_eq!(Interval::within(&rare, range).lo, 0.0, "{range:?}");
        }
        let share = Range::Share(Chances::MANY);
        let full = Interval::within(&[1.0, 1.0, 1.0, 0.6], share);
        assert_eq!(full.hi, 1.0);
        assert!((0.0..0.7).contains(&Interval::within(&[1.0, 0.1], share).lo));
        let beyond = Interval::within(&[0.9, 1.0, 1.1], share);
        assert!(beyond.hi > 1.2, "a run itself is beyond one: {beyond:?}");
    }

    #[test]
    fn runs_that_agree_leave_open_what_their_measure_leaves_open() {
        let exact = 3.688_879_454_113_936 / 10.0; // -ln 0.025, of ten runs
        let none = Interval::within(&[0.0; 10], Range::Count);
        assert!(none.lo == 0.0 && (none.hi / exact - 1.0).abs() < 0.01, "{none:?}");
        let share = |each: u32| Range::Share(Chances::Each(each));
        let full = Interval::within(&[1.0; 10], share(1000));
        assert!(full.hi == 1.0 && ((1.0 - full.lo) / (exact / 1e3) - 1.0).abs() < 0.01, "{full:?}");
        for each in [1, 40, 1000] {
            let lossless = Interval::within(&[0.0; 10], share(each));
            assert!(lossless.lo == 0.0 && (lossless.hi - none.hi / f64::from(each)).abs() < 1e-12, "{each}");
        }
        let two = Interval::within(&[0.0; 2], share(1));
        assert_eq!((two.lo, two.hi), (0.0, 1.0), "two chances exclude nothing");
        let delay = Interval::within(&[64.0; 10], Range::Quantile);
        assert_eq!((delay.mean, delay.lo, delay.hi), (64.0, 63.0, 65.0));
        let flat = Interval::within(&[0.5; 10], share(1000));
        assert_eq!((flat.lo, flat.hi), (0.5, 0.5));
    }

    #[test]
    fn the_interval_of_a_count_is_that_of_tables() {
        // Exact limits for 1, 5 and 20 events, from tables of the Poisson distribution.
        for (seen, low, high) in [(1.0, 0.0253, 5.572), (5.0, 1.623, 11.668), (20.0, 12.217, 30.888)] {
            let (few, many) = poisson(seen);
            assert!((few - low).abs() < 0.02 && (many / high - 1.0).abs() < 0.01, "{seen}: {few} {many}");
        }
    }

    #[test]
    fn values_that_are_not_numbers_do_not_count() {
        assert_eq!(Interval::of(&[1.0, f64::NAN, 2.0]), Interval::of(&[1.0, 2.0]));
    }

    #[test]
    fn jain_index_of_the_extremes() {
        assert_eq!(jain_index(&[3.0, 3.0, 3.0]), 1.0);
        assert_eq!(jain_index(&[5.0, 0.0, 0.0, 0.0]), 0.25);
        assert_eq!((jain_index(&[]), jain_index(&[0.0, 0.0])), (1.0, 1.0));
    }

    proptest! {
        #[test]
        fn jain_index_lies_between_one_nth_and_one(shares in prop::collection::vec(0.0f64..1e12, 1..50)) {
            let index = jain_index(&shares);
            let slack = 1e-12; // rounding of the sums
            prop_assert!(index >= 1.0 / shares.len() as f64 - slack && index <= 1.0 + slack, "{index}");
        }

        #[test]
        fn t_falls_with_the_degrees_of_freedom(degrees in 1u32..300) {
            prop_assert!(student_t(0.975, degrees) > student_t(0.975, degrees + 1));
        }
    }
}
