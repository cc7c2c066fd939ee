//! Links with ARQ and channels in time: what they are in plain numbers, and whether a packet fits.

use serde_json::{Value as Json, json};
use varicap_net::{ArqParts, CapacityParts, LossConfig, NetError, QueueConfig};
use varicap_units::part::require;
use varicap_units::{Amount, Bytes};

use crate::resolve::network::LinkSpec;
use crate::scenario::LinkConfig;

/// The ARQ of a link over which full packets have `packet` bytes, if it has any.
pub(crate) fn resolve(
    config: &LinkConfig,
    capacity: &CapacityParts,
    queue: &QueueConfig,
    [packet, bdp]: [Bytes; 2],
) -> Result<Option<ArqParts>, NetError> {
    let Some(arq) = &config.arq else { return Ok(None) };
    let parts = ArqParts::new(arq, capacity, &config.framing, packet)?;
    // A drop-tail queue in front of cells counts them.
    if let (QueueConfig::DropTail(queue), Some(cells)) = (queue, config.framing.cells) {
        let number = cells_of(config, packet);
        let needed = cells.payload * number;
        let expected = format!("room for the {number} cells of a packet: at least {needed}");
        let fits = queue.limit.bytes(packet, bdp) >= needed;
        require("queue.drop-tail.limit", fits, queue.limit, expected)?;
    }
    Ok(Some(parts))
}

/// Link-layer packets of a packet.
fn cells_of(config: &LinkConfig, packet: Bytes) -> u64 {
    let framed = config.framing.framed(packet).as_u64();
    config.framing.cells.map_or(1, |cells| framed / cells.size.as_u64().max(1))
}

/// ARQ in plain numbers; null if there is none. The room counts link-layer packets, null if it is unlimited or the
/// queue is not drop-tail.
pub(crate) fn facts(link: &LinkSpec, config: &LinkConfig) -> Json {
    let Some(arq) = &link.parts.arq else { return Json::Null };
    let (packet, cells) = (link.parts.packet, cells_of(config, link.parts.packet));
    let room = match &link.parts.queue {
        QueueConfig::DropTail(queue) => match (queue.limit, config.framing.cells) {
            (Amount::Unlimited, _) => None,
            (Amount::Packets(packets), _) => Some(packets * cells),
            (limit, Some(cells)) => {
                Some(limit.bytes(packet, link.parts.bdp).as_u64() / cells.payload.as_u64().max(1))
            }
            (limit, None) => Some(limit.bytes(packet, link.parts.bdp).as_u64() / packet.as_u64().max(1)),
        },
        _ => None,
    };
    json!({
        "slot_s": arq.slot.as_secs_f64(),
        "aligned": arq.aligned,
        "window": arq.window,
        "ack_delay_s": arq.ack_delay.as_secs_f64(),
        "max_retransmissions": arq.max_retransmissions,
        "cells_per_packet": cells,
        "room_cells": room,
    })
}

/// A channel in time in plain numbers, and its name as `law`; null for a loss that is none.
pub(crate) fn channel_facts(loss: &LossConfig) -> Json {
    let Some(Json::Object(facts)) = loss.channel_facts() else { return Json::Null };
    let law = [("law".to_owned(), Json::from(loss.name()))];
    Json::Object(law.into_iter().chain(facts).collect())
}
