//! How far a mean can be trusted: Student-t intervals, warm-up detection, batch means, fairness.

/// The share of intervals that contain the true mean.
const CONFIDENCE: f64 = 0.95;

/// Beyond this many degrees of freedom Student's t is the normal distribution to nine digits.
const MOST_DEGREES: u32 = 1_000_000;

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
    /// The mean and interval of independent `values`, by Student's t. Values that are not numbers are ignored; with an
    /// infinite one the mean is infinite, and has no interval.
    pub fn of(values: &[f64]) -> Interval {
        let values: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
        let Some(&first) = values.first() else {
            return Interval { mean: f64::NAN, lo: f64::NAN, hi: f64::NAN };
        };
        let count = values.len() as f64;
        // Sums of distances from the first value, so that equal values give an interval of exactly zero width.
        let mean = first + values.iter().map(|value| value - first).sum::<f64>() / count;
        if let Some(&infinite) = values.iter().find(|value| value.is_infinite()) {
            return Interval { mean: infinite, lo: f64::NAN, hi: f64::NAN };
        }
        if values.len() < 2 {
            return Interval { mean, lo: f64::NAN, hi: f64::NAN };
        }
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let error = libm::sqrt(squares / (count - 1.0) / count);
        let degrees = u32::try_from(values.len() - 1).unwrap_or(u32::MAX);
        let half = student_t(0.5 + CONFIDENCE / 2.0, degrees) * error;
        Interval { mean, lo: mean - half, hi: mean + half }
    }

    /// The mean and interval of one long, correlated run, whose values are averaged in `batches` batches that count
    /// as independent.
    ///
    /// Values in excess of whole batches are left out at the beginning. Source: [law2015, §9.5.3].
    pub fn of_batches(values: &[f64], batches: usize) -> Interval {
        let length = values.len().checked_div(batches).unwrap_or(0);
        if length == 0 {
            return Interval::of(&[]);
        }
        let means: Vec<f64> = values[values.len() - length * batches..]
            .chunks_exact(length)
            .map(|batch| batch.iter().sum::<f64>() / length as f64)
            .collect();
        Interval::of(&means)
    }

    /// Half the width of the interval over the mean; infinite if the interval is not known.
    pub fn relative_half_width(&self) -> f64 {
        let half = (self.hi - self.lo) / 2.0;
        if half == 0.0 {
            0.0
        } else if half.is_nan() || self.mean == 0.0 {
            f64::INFINITY
        } else {
            half / self.mean.abs()
        }
    }
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

/// How many values at the beginning belong to the warm-up, by MSER-5; `None` if the series is too short to tell.
///
/// The values are averaged in batches of five, and the cut is where the standard error of the mean of what remains
/// is least. A cut in the second half means that the run is too short. Source: [white2000].
pub fn mser5(values: &[f64]) -> Option<usize> {
    const BATCH: usize = 5;
    let batches: Vec<f64> =
        values.chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    // From the end to the beginning, so that the sums of each cut follow from those of the next one.
    for (cut, value) in batches.iter().enumerate().rev() {
        count += 1.0;
        let distance = value - mean;
        mean += distance / count;
        squares += distance * (value - mean);
        // The last few batches may agree by chance.
        if count >= BATCH as f64 && squares / (count * count) <= best.0 {
            best = (squares / (count * count), cut);
        }
    }
    (best.0.is_finite() && best.1 <= batches.len() / 2).then_some(best.1 * BATCH)
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
        assert_eq!(interval.relative_half_width(), f64::INFINITY);
    }

    #[test]
    fn equal_runs_have_an_interval_of_no_width() {
        let interval = Interval::of(&[0.1; 7]);
        assert_eq!((interval.mean, interval.lo, interval.hi), (0.1, 0.1, 0.1));
        assert_eq!(interval.relative_half_width(), 0.0);
    }

    #[test]
    fn the_interval_of_a_worked_example() {
        // Mean 3, standard deviation sqrt(2.5), t(0.975, 4) = 2.7764451052.
        let interval = Interval::of(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!((interval.hi - 3.0 - 2.776_445_105_2 * libm::sqrt(0.5)).abs() < 1e-9);
        assert!((interval.hi + interval.lo - 6.0).abs() < 1e-12);
    }

    #[test]
    fn values_that_are_not_numbers_do_not_count() {
        assert_eq!(Interval::of(&[1.0, f64::NAN, 2.0]), Interval::of(&[1.0, 2.0]));
    }

    #[test]
    fn batches_leave_the_beginning_out() {
        let interval = Interval::of_batches(&[99.0, 1.0, 3.0, 2.0, 4.0], 2);
        assert_eq!(interval, Interval::of(&[2.0, 3.0]));
        assert!(Interval::of_batches(&[1.0], 2).mean.is_nan());
    }

    #[test]
    fn mser5_cuts_a_transient() {
        let values: Vec<f64> =
            (0..200).map(|i| if i < 30 { 100.0 - 3.0 * f64::from(i) } else { f64::from(i % 3) }).collect();
        assert_eq!(mser5(&values), Some(30));
    }

    #[test]
    fn mser5_keeps_a_steady_series_and_refuses_a_drift() {
        assert_eq!(mser5(&[2.0; 100]), Some(0));
        let drift: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(mser5(&drift), None);
        assert_eq!(mser5(&[1.0, 2.0]), None);
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
