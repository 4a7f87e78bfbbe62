//! What the sandbox costs: `/bin/true` bare and confined in turns, as this user. `bench/sandbox/run` builds and runs it.
//!
//! Arguments: a minimal launcher, the `proctor` binary, and how often (200).

#![expect(clippy::print_stdout, reason = "a benchmark that prints its figures")]

use std::error::Error;
use std::ffi::OsString;
use std::time::{Duration, Instant};

use proctor_process::{ChildEnvironment, ShortCommand};
use proctor_sandbox::{Abilities, Confinement, Launcher, Layer};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let [minimal, proctor, rest @ ..] = arguments.as_slice() else {
        return Err("usage: sandbox_bench LAUNCHER PROCTOR [TIMES]".into());
    };
    let times = rest.first().and_then(|word| word.to_str()?.parse().ok()).unwrap_or(200);
    let minimal = Launcher::new(minimal, ["launch"]);
    let proctor = Launcher::new(proctor, ["__sandbox"]);
    let abilities = Abilities::probe(&minimal)?;
    println!("kernel {}, Landlock version {}", abilities.kernel, abilities.landlock_version);
    for shortcoming in abilities.shortcomings() {
        println!("{shortcoming}");
    }
    let all = Confinement::new().with(&abilities);
    let alone = [Layer::Landlock, Layer::SystemCallFilter, Layer::Limits];
    let without_namespaces = all.clone().layers(alone);
    let program = ["/bin/true"];
    let mut rows: Vec<(&str, Vec<OsString>, Vec<Duration>)> = vec![
        ("bare", program.map(OsString::from).to_vec(), Vec::new()),
        ("every layer, minimal launcher", minimal.wrap(&all, program), Vec::new()),
        ("every layer, proctor", proctor.wrap(&all, program), Vec::new()),
        (
            "without namespaces, minimal launcher",
            minimal.wrap(&without_namespaces, program),
            Vec::new(),
        ),
    ];
    for round in 0..times + 5 {
        for (_, argv, taken) in &mut rows {
            let duration = time(argv)?;
            // The first rounds warm the caches.
            if round >= 5 {
                taken.push(duration);
            }
        }
    }
    let bare = median(&mut rows[0].2);
    for (name, _, taken) in &mut rows {
        let median = median(taken);
        let ninety = taken[taken.len() * 9 / 10];
        println!(
            "{name:38} median {:6.2} ms, p90 {:6.2} ms, over bare {:+6.2} ms",
            millis(median),
            millis(ninety),
            millis(median) - millis(bare)
        );
    }
    Ok(())
}

fn time(argv: &[OsString]) -> Result<Duration, Box<dyn Error>> {
    let environment = ChildEnvironment::inherited();
    let start = Instant::now();
    let output = ShortCommand::new(&argv[0], environment, Duration::from_secs(20))
        .args(&argv[1..])
        .folder("/".as_ref())
        .output()?;
    let taken = start.elapsed();
    if output.status.success() {
        Ok(taken)
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned().into())
    }
}

fn median(taken: &mut [Duration]) -> Duration {
    taken.sort_unstable();
    taken[taken.len() / 2]
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
