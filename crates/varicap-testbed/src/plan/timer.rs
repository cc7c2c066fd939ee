//! The retransmission timer in the kernel: by route, by parameters of the namespace, or not at all.

use varicap_experiment::FlowSpec;
use varicap_tcp::{LinuxTimer, TcpConfig, Timer};
use varicap_units::Span;

use super::Notes;
use crate::error::TestbedError;

/// Refuses a timer that the kernel does not have, and notes how one differs that it nearly has.
pub(super) fn check(
    tcp: &TcpConfig,
    key: &impl Fn(&str) -> String,
    notes: &mut Notes,
) -> Result<(), TestbedError> {
    notes.ask(&key("timer"), tcp.timer.name(), &tcp.timer)?;
    let initial = match &tcp.timer {
        Timer::Rfc6298(timer) => timer.initial,
        Timer::Linux(timer) => timer.initial,
        Timer::Ticks(_) | Timer::Multiple(_) => return Ok(()),
    };
    if initial != Span::from_secs(1) {
        notes.add(format!("timer: Linux's first RTO is 1 s, not {initial}"));
    }
    match &tcp.timer {
        Timer::Rfc6298(timer) if timer.granularity > Span::from_millis(10) => {
            notes.add(format!("timer: Linux's clock is finer than {}", timer.granularity));
        }
        Timer::Linux(timer) if !timer.wheel => {
            notes.add("timer: the kernel's timers wait in its wheel");
        }
        _ => {}
    }
    Ok(())
}

/// The least RTO of a flow, which its route has.
pub(super) fn least_rto(tcp: &TcpConfig) -> Span {
    match tcp.timer {
        Timer::Rfc6298(timer) => timer.minimum,
        Timer::Linux(timer) => timer.minimum,
        Timer::Ticks(_) | Timer::Multiple(_) => Span::ZERO,
    }
}

/// The kernel parameters of the timer, which a namespace has only once: those of the first flow, with a note if others
/// differ. The least RTO is a route's, so that each flow has its own.
pub(super) fn parameters(
    tcps: &[(&FlowSpec, &TcpConfig)],
    notes: &mut Notes,
) -> Vec<(&'static str, String, bool)> {
    let mut sysctls = Vec::new();
    let Some((first, base)) = tcps.first() else { return sysctls };
    let Some(largest) = largest_rto(&base.timer) else { return sysctls };
    let maximum = largest.as_nanos() / 1_000_000;
    if (1000..=120_000).contains(&maximum) {
        sysctls.push(("net.ipv4.tcp_rto_max_ms", maximum.to_string(), true));
    }
    if tcps.iter().any(|(_, tcp)| largest_rto(&tcp.timer).is_some_and(|other| other != largest)) {
        notes.add(format!("timer: the largest RTO is that of `{}` for all flows", first.name));
    }
    if let Timer::Linux(timer) = &base.timer {
        for (key, sysctl, value) in counts(timer) {
            sysctls.push((sysctl, value.to_string(), true));
            let differs = |other: &Timer| match other {
                Timer::Linux(other) => counts(other).iter().any(|count| count.0 == key && count.2 != value),
                _ => false,
            };
            if tcps.iter().any(|(_, tcp)| differs(&tcp.timer)) {
                notes.add(format!("timer: `{key}` is that of `{}` for all flows", first.name));
            }
        }
    }
    sysctls
}

/// The counts of Linux's timer: the key, the kernel parameter, and its value.
fn counts(timer: &LinuxTimer) -> [(&'static str, &'static str, u32); 3] {
    [
        ("linear_syn_timeouts", "net.ipv4.tcp_syn_linear_timeouts", timer.linear_syn_timeouts),
        ("retries2", "net.ipv4.tcp_retries2", timer.retries2),
        ("syn_retries", "net.ipv4.tcp_syn_retries", timer.syn_retries),
    ]
}

/// The largest RTO of a timer that Linux can run.
fn largest_rto(timer: &Timer) -> Option<Span> {
    match timer {
        Timer::Rfc6298(timer) => Some(timer.maximum),
        Timer::Linux(timer) => Some(timer.maximum),
        Timer::Ticks(_) | Timer::Multiple(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::plan_of;
    use crate::plan::Mode;

    fn parameter(tcp: &str, mode: Mode, name: &str) -> Option<String> {
        let plan = plan_of(tcp, mode).unwrap();
        plan.sysctls.iter().find(|sysctl| sysctl.0 == name).map(|sysctl| sysctl.1.clone())
    }

    #[test]
    fn the_kernel_runs_its_own_timer_as_written() {
        let tcp = "recovery = \"newreno\", timer = { linux = { minimum = \"0.3 s\", maximum = \"20 s\" } }";
        for mode in [Mode::Classic, Mode::Stock] {
            assert_eq!(plan_of(tcp, mode).unwrap().flows[0].to_receiver.rto_min_ms, 300);
            assert_eq!(parameter(tcp, mode, "net.ipv4.tcp_rto_max_ms").as_deref(), Some("20000"));
            assert_eq!(parameter(tcp, mode, "net.ipv4.tcp_syn_linear_timeouts").as_deref(), Some("4"));
            assert_eq!(parameter(tcp, mode, "net.ipv4.tcp_retries2").as_deref(), Some("15"));
            assert_eq!(parameter(tcp, mode, "net.ipv4.tcp_syn_retries").as_deref(), Some("6"));
        }
        let tcp = "recovery = \"newreno\", timer = { linux = { retries2 = 3 } }";
        assert_eq!(parameter(tcp, Mode::Stock, "net.ipv4.tcp_retries2").as_deref(), Some("3"));
        let notes = plan_of("recovery = \"newreno\", timer = { linux = { initial = \"3 s\" } }", Mode::Stock);
        assert!(notes.unwrap().notes.iter().any(|note| note.contains("first RTO is 1 s, not 3 s")));
    }
}
