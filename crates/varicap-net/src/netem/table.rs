//! Tables of distributions: 4,096 quantiles each, in units of 1/8192 of the jitter.
//!
//! iproute2 makes the tables of `tc` at build time, and installs them beside experimental ones as `NAME.dist`; these are
//! the same numbers. Source: iproute2 `netem/normal.c`, `pareto.c`, `paretonormal.c`; Linux `tabledist`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use varicap_units::{JsonSchema, choice};

use crate::check::Lines;
use crate::error::NetError;
use crate::file::Files;

/// Units of a table in a jitter. Source: Linux `NETEM_DIST_SCALE`.
const SCALE: i64 = 8192;
/// Quantiles of a table that is computed.
const SIZE: usize = 4096;
/// The most that a file may have. Source: `tc`'s `MAX_DIST`.
const MOST: usize = 16 * 1024;

/// How jitter is distributed around a delay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = varicap_units::schema::text)]
pub enum Distribution {
    /// Uniform, from a jitter below the delay to a jitter above it.
    #[default]
    Uniform,
    /// Normal; the jitter is the standard deviation.
    Normal,
    /// Pareto with shape 3, moved so that its mean is the delay, nearly; cut off four jitters above it.
    Pareto,
    /// A quarter of a normal and three quarters of a Pareto number.
    Paretonormal,
    /// A table as `tc` reads it: whole numbers, 8192 for one jitter; lines that begin with `#` are comments.
    Table(String),
}
choice!(Distribution);

/// The quantiles of a distribution; none of a uniform one. Cheap to clone.
#[derive(Clone, Debug)]
pub struct DistTable(Option<Arc<[i16]>>);

impl DistTable {
    /// The table of `distribution`, read through `files` if it is one of a file.
    pub fn read(distribution: &Distribution, files: &mut Files<'_>) -> Result<DistTable, NetError> {
        Ok(DistTable(match distribution {
            Distribution::Uniform => None,
            Distribution::Normal => Some(normal().map(clamped).collect()),
            Distribution::Pareto => Some((0..SIZE).map(|place| clamped(pareto(4 * place))).collect()),
            Distribution::Paretonormal => Some(paretonormal()),
            Distribution::Table(file) => {
                let table = files.read(file, String::new(), |text| parse(file, Lines::new(file, text)));
                Some(Arc::clone(&*table.map_err(|error| error.within("table"))?))
            }
        }))
    }

    /// The delay that a random number makes of a delay `mu` with `sigma` of jitter, which is not zero [ns]. Source: Linux `tabledist`.
    pub fn delay(&self, random: u32, mu: i64, sigma: i64) -> i64 {
        debug_assert!(sigma > 0, "without jitter nothing is random");
        let Some(table) = &self.0 else {
            return i64::from(random) % (2 * sigma) + mu - sigma;
        };
        spread(i64::from(table[random as usize % table.len()]), sigma) + mu
    }

    /// The least of all delays around `mu` [ns].
    pub fn least(&self, mu: i64, sigma: i64) -> i64 {
        match &self.0 {
            None => mu - sigma,
            Some(table) => mu + spread(i64::from(table.iter().copied().min().unwrap_or(0)), sigma),
        }
    }

    /// The mean of the delays around `mu`, those below zero counted as zero [ns].
    pub fn mean(&self, mu: i64, sigma: i64) -> f64 {
        match &self.0 {
            None if mu >= sigma => mu as f64,
            None if mu + sigma <= 0 => 0.0,
            None => ((mu + sigma) as f64).powi(2) / (4.0 * sigma as f64),
            Some(table) => {
                let delays = table.iter().map(|&entry| (mu + spread(i64::from(entry), sigma)).max(0) as f64);
                delays.sum::<f64>() / table.len() as f64
            }
        }
    }
}

/// `entry` of a table in nanoseconds, rounded away from zero at half.
fn spread(entry: i64, sigma: i64) -> i64 {
    let rest = (sigma % SCALE) * entry;
    let rest = if rest >= 0 { rest + SCALE / 2 } else { rest - SCALE / 2 };
    rest / SCALE + (sigma / SCALE) * entry
}

fn clamped(value: i64) -> i16 {
    value.clamp(i64::from(i16::MIN), i64::from(i16::MAX)) as i16
}

/// The quantiles of a standard normal distribution: of each, the last step of 0.00005 that is still below the middle of
/// the next of 16,384 shares.
fn normal() -> impl Iterator<Item = i64> {
    let share = |step: u32| {
        let x = f64::from(step) * 0.00005 - 10.0;
        16384.0 * (0.5 + 0.5 * libm::erf(x / std::f64::consts::SQRT_2))
    };
    (0..SIZE).map(move |place| {
        let (mut below, mut beyond) = (0, 401_000);
        while beyond - below > 1 {
            let middle = below + (beyond - below) / 2;
            // To the even share at half, as the C library rounds.
            let is_below = libm::rint(share(middle)) <= (4 * place) as f64;
            (below, beyond) = if is_below { (middle, beyond) } else { (below, middle) };
        }
        libm::rint((f64::from(below) * 0.00005 - 10.0) * SCALE as f64) as i64
    })
}

/// Quantile `share` of 16,384 of a Pareto distribution with shape 3, whose mean is 1.5, as a table has it.
fn pareto(share: usize) -> i64 {
    let left = (65_536 - 4 * share) as f64 / 65_536.0;
    let value = (1.0 / libm::pow(left, 1.0 / 3.0) - 1.5) * (4.0 / 3.0) * SCALE as f64;
    libm::rint(value.min(32_767.0)) as i64
}

fn paretonormal() -> Arc<[i16]> {
    let values = normal().enumerate().map(|(place, normal)| (normal + 3 * pareto(4 * place)) / 4);
    values.map(clamped).collect()
}

/// The numbers of a file.
fn parse<R: std::io::BufRead>(file: &str, mut lines: Lines<'_, R>) -> Result<Arc<[i16]>, NetError> {
    let mut table = Vec::new();
    while let Some((number, line)) = lines.next()? {
        if line.starts_with('#') {
            continue;
        }
        for word in line.split_ascii_whitespace() {
            let value = word.parse::<i16>();
            let expected = "a whole number from -32768 to 32767, 8192 for one jitter";
            table.push(value.map_err(|_| NetError::trace(file, number, word, expected.to_owned()))?);
            if table.len() > MOST {
                return Err(NetError::file(
                    file,
                    format!("has more than {MOST} numbers, more than `tc` reads"),
                ));
            }
        }
    }
    if table.is_empty() {
        return Err(NetError::file(file, "has no numbers, expected a table of a distribution".to_owned()));
    }
    Ok(table.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(distribution: &Distribution) -> Arc<[i16]> {
        let read =
            DistTable::read(distribution, &mut Files::of(&mut |_| Err("no files".to_owned()))).unwrap();
        read.0.unwrap()
    }

    #[test]
    fn the_tables_are_those_that_iproute2_computes() {
        // By its own loop over all steps; it adds them up, which moves no entry.
        let mut last = vec![0.0f64; 16_385];
        for step in 0..401_000u32 {
            let x = -10.0 + f64::from(step) * 0.00005;
            let share = 16384.0 * (0.5 + 0.5 * libm::erf(x / 2f64.sqrt()));
            last[libm::rint(share) as usize] = x;
        }
        let normal: Vec<i16> =
            (0..16_384).step_by(4).map(|place| clamped(libm::rint(last[place] * 8192.0) as i64)).collect();
        assert_eq!(*table(&Distribution::Normal), *normal);
        let pareto = table(&Distribution::Pareto);
        assert_eq!(
            &pareto[..4],
            [-5461, -5460, -5460, -5459],
            "((16 n / 65536 left)^(-1 / 3) - 1.5) x 4 / 3 x 8192"
        );
        assert_eq!((pareto.len(), pareto[4095]), (4096, 32767));
        let both = table(&Distribution::Paretonormal);
        assert_eq!(both[2048], ((i32::from(normal[2048]) + 3 * i32::from(pareto[2048])) / 4) as i16);
    }

    #[test]
    fn the_moments_are_those_of_the_distributions() {
        let moments = |distribution| {
            let table = table(&distribution);
            let mean = table.iter().map(|&entry| f64::from(entry)).sum::<f64>() / 4096.0 / 8192.0;
            let square = table.iter().map(|&entry| (f64::from(entry) / 8192.0).powi(2)).sum::<f64>() / 4096.0;
            (mean, (square - mean * mean).sqrt())
        };
        let (mean, deviation) = moments(Distribution::Normal);
        assert!(mean.abs() < 0.002 && (deviation - 1.0).abs() < 0.005, "{mean} {deviation}");
        // Shape 3: mean 1.5, deviation sqrt(3)/2, times 4/3; the cut takes a little of both.
        let (mean, deviation) = moments(Distribution::Pareto);
        assert!((-0.05..0.0).contains(&mean) && (0.8..1.16).contains(&deviation), "{mean} {deviation}");
    }

    #[test]
    fn a_file_is_read_as_tc_reads_it() {
        let read = |text: &'static str| {
            let distribution = Distribution::Table("d.dist".to_owned());
            DistTable::read(&distribution, &mut Files::of(&mut |_| Ok(Box::new(text.as_bytes()))))
        };
        assert_eq!(*read("# seen\n -8192 0\n8192\n").unwrap().0.unwrap(), [-8192, 0, 8192]);
        let refusal = |text| read(text).unwrap_err().to_string();
        assert_eq!(
            refusal("1\n2 x\n"),
            "d.dist, line 2: found `x`, expected a whole number from -32768 to 32767, 8192 for one jitter"
        );
        assert_eq!(refusal("# nothing\n"), "d.dist: has no numbers, expected a table of a distribution");
        let many: &'static str = Box::leak("1 ".repeat(16_385).into_boxed_str());
        assert!(refusal(many).contains("more than 16384 numbers"));
    }

    #[test]
    fn halves_are_rounded_away_from_zero() {
        assert_eq!([spread(4096, 1), spread(-4096, 1), spread(4095, 1), spread(3, 8192)], [1, -1, 0, 3]);
    }
}
