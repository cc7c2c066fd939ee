//! Equitable shares of a capacity among load-reactive links (max-min), which [lrl, §5] leaves open.

use varicap_units::Rate;

/// The claim of one link to a capacity that several share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The rate that it is to have at least.
    pub minimum: Rate,
    /// The rate that its controller wants.
    pub wanted: Rate,
}

/// Gives each link what it wants up to a level that is the same for all, and no less than its minimum: the level is as
/// high as `total` allows. If not even the minimums fit, they are cut at a level as well.
pub fn max_min(total: Rate, claims: &[Claim]) -> Vec<Rate> {
    let share = |claim: &Claim, level: u64| claim.wanted.as_bps().max(claim.minimum.as_bps()).min(level);
    let floored = |claim: &Claim, level: u64| share(claim, level).max(claim.minimum.as_bps());
    let fits = |of: &dyn Fn(&Claim, u64) -> u64, level: u64| {
        claims.iter().map(|claim| u128::from(of(claim, level))).sum::<u128>() <= u128::from(total.as_bps())
    };
    let with_minimums = fits(&floored, 0);
    let of: &dyn Fn(&Claim, u64) -> u64 = if with_minimums { &floored } else { &share };
    let (mut low, mut high) = (0, total.as_bps());
    // The greatest level that fits.
    while low < high {
        let middle = high - (high - low) / 2;
        if fits(of, middle) { low = middle } else { high = middle - 1 }
    }
    claims.iter().map(|claim| Rate::from_bps(of(claim, low))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(total: u64, claims: &[(u64, u64)]) -> Vec<u64> {
        let claims: Vec<Claim> = claims
            .iter()
            .map(|&(minimum, wanted)| Claim {
                minimum: Rate::from_bps(minimum),
                wanted: Rate::from_bps(wanted),
            })
            .collect();
        max_min(Rate::from_bps(total), &claims).into_iter().map(Rate::as_bps).collect()
    }

    #[test]
    fn small_claims_are_met_and_large_ones_share_the_rest() {
        assert_eq!(shares(100, &[(0, 10), (0, 80), (0, 90)]), [10, 45, 45]);
        assert_eq!(shares(100, &[(0, 10), (0, 20)]), [10, 20], "enough for all");
        assert_eq!(shares(0, &[(0, 10)]), [0]);
        assert_eq!(shares(5, &[]), [] as [u64; 0]);
    }

    #[test]
    fn minimums_come_first_and_are_cut_only_if_they_do_not_fit() {
        assert_eq!(shares(100, &[(60, 90), (0, 90), (0, 90)]), [60, 20, 20]);
        assert_eq!(shares(100, &[(30, 0), (0, 90)]), [30, 70], "a minimum needs no wish");
        assert_eq!(shares(50, &[(60, 60), (10, 10)]), [40, 10]);
    }
}
