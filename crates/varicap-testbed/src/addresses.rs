//! Addresses and ports of the flows: each group has its own address on either side, so that a route can carry the
//! parameters of its TCP.

/// The address of a group's senders.
pub fn sender(group: u16) -> [u8; 4] {
    let [high, low] = group.to_be_bytes();
    [10, 64 + high, low, 1]
}

/// The address of a group's receivers.
pub fn receiver(group: u16) -> [u8; 4] {
    let [high, low] = group.to_be_bytes();
    [10, 128 + high, low, 1]
}

/// The group whose receivers have this address, if there is one.
pub fn group_of_receiver(address: [u8; 4]) -> Option<u16> {
    match address {
        [10, high @ 128..=191, low, 1] => Some(u16::from_be_bytes([high - 128, low])),
        _ => None,
    }
}

/// The port on which receivers listen.
pub const RECEIVER_PORT: u16 = 5001;

/// The port of a group's first sender; the others follow. The kernel chooses the ports of transfers that come and go.
pub const FIRST_PORT: u16 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_which_group() {
        for group in [0, 1, 255, 256, 1999] {
            assert_eq!(group_of_receiver(receiver(group)), Some(group));
            assert_eq!(group_of_receiver(sender(group)), None);
        }
    }
}
