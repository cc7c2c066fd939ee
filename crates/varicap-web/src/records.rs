//! The records of runs, as an answer.

use serde_json::{Value as Json, json};
use varicap_experiment::packets::PacketLog;
use varicap_experiment::results::Recorded;
use varicap_experiment::series::{FlowSeries, LinkSeries};

use crate::arrays::Arrays;

/// The time series of one network.
pub fn series<'a>(
    arrays: &mut Arrays,
    network: usize,
    flows: impl Iterator<Item = &'a FlowSeries>,
    links: &[LinkSeries],
) -> Json {
    let flows: Vec<Json> = flows.map(|flow| flow_series(arrays, flow)).collect();
    let link_of =
        |link: &LinkSeries| json!({ "name": link.name, "columns": arrays.table(link.table(), |_| true) });
    let links: Vec<Json> = links.iter().map(link_of).collect();
    json!({ "network": network, "flows": flows, "links": links })
}

fn flow_series(arrays: &mut Arrays, flow: &FlowSeries) -> Json {
    let mut columns = arrays.table(flow.table(), |_| true);
    for shown in flow.shown() {
        let values = flow.values(shown.name).into_iter().flatten();
        let mut column = arrays.reals(values);
        column["name"] = json!(shown.name);
        column["unit"] = json!(shown.unit);
        columns.push(column);
    }
    json!({ "name": flow.name, "columns": columns })
}

/// The events of the packets of each network; `wanted` are names of columns, all if there are none.
pub fn packets(arrays: &mut Arrays, recorded: Vec<Recorded>, wanted: &[String]) -> Vec<Json> {
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|other| other == name);
    let logs = recorded.into_iter().filter_map(|one| Some((one.network, one.packets?)));
    logs.map(|(network, log): (usize, PacketLog)| {
        let is_truncated = log.is_truncated();
        json!({ "network": network, "truncated": is_truncated, "columns": arrays.table(log.into_table(), is_wanted) })
    })
    .collect()
}
