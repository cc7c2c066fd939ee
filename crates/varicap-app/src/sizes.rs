//! How the sizes of transfers are distributed.

use serde::{Deserialize, Serialize};
use varicap_units::part::{self, Checked, Part};
use varicap_units::{Bytes, JsonSchema, Stream};

/// How the sizes of transfers are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sizes {
    /// All transfers have the same size.
    Fixed(Bytes),
    /// Exponentially distributed sizes with this mean.
    Exponential(Bytes),
    /// Log-normally distributed sizes.
    Lognormal(Lognormal),
    /// Pareto-distributed sizes: a heavy tail.
    Pareto(Pareto),
}

/// A log-normally distributed size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lognormal {
    /// Mean of the size.
    pub mean: Bytes,
    /// Standard deviation of the size's natural logarithm.
    pub sigma: f64,
}

/// A Pareto-distributed size: P(size > x) = (least/x)^shape.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pareto {
    /// Mean of the size.
    pub mean: Bytes,
    /// Exponent of the distribution, above 1.
    pub shape: f64,
}

impl Part for Lognormal {
    fn check(&self) -> Checked {
        part::size("mean", self.mean)?;
        part::require("sigma", (0.0..=10.0).contains(&self.sigma), self.sigma, "0 to 10")
    }
}

impl Part for Pareto {
    fn check(&self) -> Checked {
        part::size("mean", self.mean)?;
        part::require("shape", self.shape > 1.0, self.shape, "above 1: otherwise there is no mean")
    }
}

impl Part for Sizes {
    fn check(&self) -> Checked {
        match self {
            Sizes::Fixed(size) => part::size("fixed", *size),
            Sizes::Exponential(mean) => part::size("exponential", *mean),
            Sizes::Lognormal(law) => law.check().map_err(|fault| fault.within("lognormal")),
            Sizes::Pareto(law) => law.check().map_err(|fault| fault.within("pareto")),
        }
    }
}

impl Sizes {
    /// Its mean.
    pub fn mean(&self) -> Bytes {
        match self {
            Sizes::Fixed(size) | Sizes::Exponential(size) => *size,
            Sizes::Lognormal(law) => law.mean,
            Sizes::Pareto(law) => law.mean,
        }
    }

    /// Draws a size; at least one byte.
    pub fn draw(&self, stream: &mut Stream) -> Bytes {
        let bytes = match *self {
            Sizes::Fixed(size) => return size,
            Sizes::Exponential(mean) => stream.exponential(mean.as_u64() as f64),
            Sizes::Lognormal(ref law) => {
                // E exp(m + s Z) = exp(m + s^2/2): the location that gives the stated mean.
                let location = libm::log(law.mean.as_u64() as f64) - law.sigma * law.sigma / 2.0;
                libm::exp(location + law.sigma * stream.normal())
            }
            Sizes::Pareto(ref law) => {
                // Mean = least * shape / (shape - 1).
                let least = law.mean.as_u64() as f64 * (law.shape - 1.0) / law.shape;
                least * libm::pow(1.0 - stream.uniform(), -1.0 / law.shape)
            }
        };
        Bytes::new((bytes + 0.5) as u64).max(Bytes::new(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use varicap_units::Streams;

    /// Mean of 200,000 draws; the bound is five standard errors for a coefficient of variation up to 1.3.
    fn mean(sizes: Sizes) -> f64 {
        let mut stream = Streams::new(7, 0).stream("sizes");
        let n = 200_000;
        (0..n).map(|_| sizes.draw(&mut stream).as_u64() as f64).sum::<f64>() / f64::from(n)
    }

    #[test]
    fn every_size_distribution_has_its_stated_mean() {
        let size = Bytes::new(100_000);
        let bound = 5.0 * 1.3 / 200_000f64.sqrt();
        for sizes in [
            Sizes::Fixed(size),
            Sizes::Exponential(size),
            Sizes::Lognormal(Lognormal { mean: size, sigma: 1.0 }),
            Sizes::Pareto(Pareto { mean: size, shape: 2.5 }), // coefficient of variation 0.89
        ] {
            let error = mean(sizes) / sizes.mean().as_u64() as f64 - 1.0;
            assert!(error.abs() < bound, "{sizes:?}: {error}");
        }
    }
}
