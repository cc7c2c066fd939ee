//! Room for values that are many: whoever watches the memory of a run is asked before a container grows, by the size that
//! the growth will have. To grow first and to ask afterwards exceeds a limit by what doubling adds.

use std::cell::Cell;

/// Hears how many bytes a container is about to add; where they are too many, it unwinds.
pub type Keeper = fn(u64);

thread_local! {
    static KEEPER: Cell<Option<Keeper>> = const { Cell::new(None) };
}

/// Growth that nobody is asked about [B]: it is lost among what else a run takes.
const SMALL: u64 = 1 << 20;

/// The work of this thread is about to add `bytes`.
#[cold]
pub fn ask(bytes: u64) {
    if bytes >= SMALL
        && let Some(keeper) = KEEPER.get()
    {
        keeper(bytes);
    }
}

/// Does `work`, in which `keeper` is asked on this thread.
pub fn kept<T>(keeper: Keeper, work: impl FnOnce() -> T) -> T {
    struct Before(Option<Keeper>);
    impl Drop for Before {
        fn drop(&mut self) {
            KEEPER.set(self.0);
        }
    }
    let _before = Before(KEEPER.replace(Some(keeper)));
    work()
}

/// Doubles the slots of a full ring whose entry n is in slot n modulo their number, a power of two: afterwards each entry
/// is in both slots that may be its own. The memory grows in place where the allocator can do so; there are never an old
/// and a new copy of a large ring.
pub fn double<T: Clone>(slots: &mut Vec<T>) {
    debug_assert!(slots.len().is_power_of_two(), "{} slots", slots.len());
    ask((slots.len() * size_of::<T>()) as u64);
    slots.reserve_exact(slots.len());
    slots.extend_from_within(..);
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        static ASKED: Cell<u64> = const { Cell::new(0) };
    }

    #[test]
    fn the_keeper_hears_of_large_growth_while_its_work_goes_on_and_no_longer() {
        let keeper: Keeper = |bytes| ASKED.set(ASKED.get() + bytes);
        ask(2 * SMALL);
        kept(keeper, || {
            ask(SMALL - 1);
            ask(3 * SMALL);
        });
        let ended = std::panic::catch_unwind(|| {
            kept(|_| std::panic::resume_unwind(Box::new(())), || ask(SMALL));
        });
        assert!(ended.is_err());
        ask(2 * SMALL);
        assert_eq!(ASKED.get(), 3 * SMALL);
    }

    #[test]
    fn entries_are_found_in_a_ring_of_twice_the_slots() {
        for first in 0..8_usize {
            let mut slots = vec![0; 8];
            (first..first + 8).for_each(|number| slots[number % 8] = number);
            double(&mut slots);
            assert!((first..first + 8).all(|number| slots[number % 16] == number), "{first}: {slots:?}");
        }
    }
}
