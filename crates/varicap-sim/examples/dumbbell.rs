//! N flows over one bottleneck, for profiling: `dumbbell FLOWS RATE DURATION [MORE]`, where MORE is more of the flows'
//! table. They have the stack `rfc` unless MORE says otherwise: SACK, delayed acknowledgements.
//!
//! ```text
//!  senders ──► RATE, 10 ms, 1 BDP drop-tail ──► receivers
//!     ▲                                             │
//!     └────────────────── 10 ms ◄───────────────────┘
//! ```

use varicap_experiment::Scenario;
use varicap_sim::{Options, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let argument = |place: usize, default: &str| arguments.get(place).cloned().unwrap_or(default.to_owned());
    let toml = format!(
        r#"
        duration = "{}"
        tcp.stack = "rfc"
        [topology.dumbbell.forward]
        capacity = "{}"
        delay = "10 ms"
        [topology.dumbbell.reverse]
        capacity = "{}"
        delay = "10 ms"
        queue = {{ drop-tail = {{ limit = "unlimited" }} }}
        [flows.a]
        count = {}
        start_spread = "100 ms"
        {}
        "#,
        argument(3, "60 s"),
        argument(2, "100 Mbit/s"),
        argument(2, "100 Mbit/s"),
        argument(1, "10"),
        argument(4, "")
    );
    let network = Scenario::from_toml(&toml, "dumbbell", &[])?.resolve(&mut |_| Err("no files".into()))?;
    #[allow(clippy::disallowed_methods)] // an example may look at the clock; the simulator may not
    let began = std::time::Instant::now();
    let result = run(&network, 1, 0, &Options::default(), &mut |_| true)?;
    let nanos = began.elapsed().as_nanos() as f64;
    let link = &result.links[0];
    println!(
        "{} packets delivered, {} dropped, {:.1} ns each, {:.2} events each, {:.1} % used",
        link.delivered_packets,
        link.dropped_packets,
        nanos / link.delivered_packets as f64,
        result.events as f64 / link.delivered_packets as f64,
        link.utilisation * 100.0
    );
    Ok(())
}
