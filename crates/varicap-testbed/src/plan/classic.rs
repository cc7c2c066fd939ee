//! The kernel parameters of classic mode.

use varicap_experiment::FlowSpec;
use varicap_tcp::{EcnMode, TcpConfig};

use super::{Notes, timer, unsupported};
use crate::error::TestbedError;

/// The kernel parameters that bring Linux close to the standards; the flag says whether a kernel may lack the
/// parameter.
pub(super) fn classic(
    tcps: &[(&FlowSpec, &TcpConfig)],
    notes: &mut Notes,
) -> Result<Vec<(&'static str, String, bool)>, TestbedError> {
    let Some((first, base)) = tcps.first() else { return Ok(Vec::new()) };
    // Only connections with SACK report duplicates.
    let reporter = tcps.iter().find(|(_, tcp)| tcp.recovery.is_selective());
    // Settings that the kernel has only once for a whole namespace.
    for (flow, tcp) in tcps {
        let differs = |from: &FlowSpec, key: &str, value: String| {
            let why =
                format!("in the kernel it is the same for all flows, and `{}` says otherwise", from.name);
            Err(unsupported(&format!("flows.{}.tcp.{key}", flow.name), value, why))
        };
        if tcp.restart_after_idle != base.restart_after_idle {
            return differs(first, "restart_after_idle", tcp.restart_after_idle.to_string());
        }
        if tcp.duplicate_acks != base.duplicate_acks {
            return differs(first, "duplicate_acks", tcp.duplicate_acks.to_string());
        }
        if let Some((from, other)) = reporter
            && tcp.recovery.is_selective()
            && tcp.dsack != other.dsack
        {
            return differs(from, "dsack", tcp.dsack.to_string());
        }
    }
    let flag = |on: bool| if on { "1" } else { "0" }.to_owned();
    let mut sysctls = vec![
        ("net.ipv4.tcp_early_retrans", "0".to_owned(), false), // no tail loss probes
        ("net.ipv4.tcp_frto", "0".to_owned(), false),
        ("net.ipv4.tcp_recovery", "0".to_owned(), false),
        ("net.ipv4.tcp_dsack", flag(reporter.is_some_and(|(_, tcp)| tcp.dsack)), false),
        ("net.ipv4.tcp_autocorking", "0".to_owned(), false),
        ("net.ipv4.tcp_moderate_rcvbuf", "0".to_owned(), false),
        ("net.ipv4.tcp_comp_sack_nr", "0".to_owned(), true),
        ("net.ipv4.tcp_backlog_ack_defer", "0".to_owned(), true),
        (
            "net.ipv4.tcp_ecn",
            if tcps.iter().any(|(_, tcp)| tcp.ecn_in_force() == EcnMode::Classic) { "2" } else { "0" }
                .to_owned(),
            false,
        ),
        ("net.ipv4.tcp_slow_start_after_idle", flag(base.restart_after_idle), false),
        ("net.ipv4.tcp_reordering", base.duplicate_acks.to_string(), false),
        ("net.ipv4.tcp_max_reordering", base.duplicate_acks.to_string(), true),
    ];
    sysctls.extend(timer::parameters(tcps, notes));
    Ok(sysctls)
}
