//! Runs a scenario file and prints how many packets its first link delivered, for profiling and for
//! `tools/count_instructions.py`: `packets FILE [DURATION]`. A scenario that isolates its flows is a run for each.

use std::io::{BufRead, BufReader};
use std::path::Path;

use varicap_experiment::Scenario;
use varicap_sim::{Options, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let file = arguments.get(1).ok_or("packets FILE [DURATION]")?;
    let folder = Path::new(file).parent().unwrap_or(Path::new("")).to_owned();
    let mut open = |name: &str| -> Result<Box<dyn BufRead>, String> {
        let opened = std::fs::File::open(folder.join(name)).map_err(|error| format!("{name}: {error}"))?;
        Ok(Box::new(BufReader::new(opened)))
    };
    let durations = arguments.get(2).map(|duration| ("duration".to_owned(), format!("'{duration}'")));
    let settings: Vec<(String, String)> = durations.into_iter().collect();
    let scenario = Scenario::from_toml(&std::fs::read_to_string(file)?, file, &settings)?;
    #[allow(clippy::disallowed_methods)] // an example may look at the clock; the simulator may not
    let began = std::time::Instant::now();
    let (mut delivered, mut dropped, mut events) = (0, 0, 0);
    for network in scenario.networks(&mut open)? {
        let result = run(&network, 1, 0, &Options::default(), &mut |_| true)?;
        delivered += result.links[0].delivered_packets;
        dropped += result.links[0].dropped_packets;
        events += result.events;
    }
    let nanos = began.elapsed().as_nanos() as f64;
    println!(
        "{delivered} packets delivered, {dropped} dropped, {:.1} ns each, {:.2} events each",
        nanos / delivered as f64,
        events as f64 / delivered as f64
    );
    Ok(())
}
