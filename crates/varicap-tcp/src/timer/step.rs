//! Division by a fixed step.

use varicap_units::Span;

/// Whole multiples of a step, without a division instruction for each acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) step: u64,
    /// floor(2^64 / step); unused when the step is 1.
    reciprocal: u64,
}

impl Step {
    pub(crate) fn new(step: Span) -> Step {
        let step = step.as_nanos().max(1);
        let reciprocal = u64::try_from((1u128 << 64) / u128::from(step)).unwrap_or(u64::MAX);
        Step { step, reciprocal }
    }

    /// floor(n / step). The product with the rounded-down reciprocal is short by at most one.
    #[inline]
    pub(crate) fn whole(self, n: u64) -> u64 {
        let guess = ((u128::from(n) * u128::from(self.reciprocal)) >> 64) as u64;
        guess + u64::from(n - guess * self.step >= self.step)
    }

    /// ceil(n / step).
    #[inline]
    pub(crate) fn whole_up(self, n: u64) -> u64 {
        let floor = self.whole(n);
        floor + u64::from(floor * self.step != n)
    }

    /// The next multiple, which `n` itself may be.
    #[inline]
    pub(crate) fn round_up(self, n: u64) -> u64 {
        let rest = n - self.whole(n) * self.step;
        if rest == 0 { n } else { n.saturating_add(self.step - rest) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_multiples_agree_with_division() {
        for step in [1, 2, 3, 7, 1_000, 999_983, 1_000_000, 500_000_000, u64::MAX / 3, u64::MAX] {
            let steps = Step::new(Span::from_nanos(step));
            for n in
                [0, 1, 2, step - 1, step, step.saturating_add(1), 123_456_789_012, u64::MAX - 1, u64::MAX]
            {
                assert_eq!(steps.whole(n), n / step, "{n} / {step}");
                assert_eq!(steps.whole_up(n), n.div_ceil(step), "{n} / {step}, up");
                assert_eq!(steps.round_up(n), n.div_ceil(step).saturating_mul(step), "{n}, up to {step}");
            }
        }
    }
}
