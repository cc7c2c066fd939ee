//! The effects of netem on packets one by one, beside the link and the flows.

use varicap_net::DelayConfig;
use varicap_units::Probability;

use crate::check::{At, Checked};
use crate::resolve::topology::Placed;
use crate::scenario::{DatagramRate, FlowConfig};

/// Packets that take no delay are ahead of others only where packets may overtake. A reverse link that has the delay of the
/// forward link says nothing of its own.
pub(crate) fn check(at: &At, link: &Placed<'_>) -> Checked {
    let Some(DelayConfig::Netem(delay)) = &link.config.delay else { return Ok(()) };
    let keeps_order = delay.reorder > Probability::default() && !link.config.reorder;
    at.inner("delay.netem").require(
        "reorder",
        !keeps_order,
        delay.reorder,
        "0, unless the link has `reorder = true`",
    )
}

/// The feedback of an encoder's packets counts each of them once.
pub(crate) fn check_flow(at: &At, flow: &FlowConfig, link: &Placed<'_>) -> Checked {
    let is_encoder =
        flow.datagrams.is_some_and(|datagrams| matches!(datagrams.rate, DatagramRate::RealTime(_)));
    let copies = link.config.netem.duplicate > Probability::default();
    at.inner("datagrams").require(
        "rate",
        !(is_encoder && copies),
        "real-time",
        format!(
            "a constant rate: link `{}` has `netem.duplicate`, and packets of a camera come once",
            link.name
        ),
    )
}
