//! Covers whole libraries and prints the scorecard: `cargo run --release -p proctor-cover --example scorecard -- FOLDER…`.
#![allow(clippy::print_stdout, reason = "a program for people")]

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use proctor_cover::{Effort, Project, Sandbox, SourceFile, Workshop, faults, find_way, implement, measure, observe};

fn main() -> std::io::Result<()> {
    for root in std::env::args().skip(1) {
        cover(Path::new(&root))?;
    }
    Ok(())
}

fn cover(root: &Path) -> std::io::Result<()> {
    let started = Instant::now();
    let project = Project::open(root);
    let sandbox = Sandbox::new("ruby");
    let mut all = Vec::new();
    for path in project.files() {
        let bytes = std::fs::read(root.join(&path))?;
        match proctor_ruby::analyze(&bytes) {
            Ok(facts) => all.push(SourceFile { path, bytes, facts }),
            Err(errors) => println!("  {path}: {}", errors[0]),
        }
    }
    let targets: Vec<SourceFile> =
        all.iter().filter(|file| file.facts.classes.iter().any(|class| class.public_methods().next().is_some())).cloned().collect();
    let selected: BTreeSet<String> =
        targets.iter().flat_map(|file| file.facts.methods().map(|(class, method)| method.id(&class.name)).collect::<Vec<_>>()).collect();
    let loc: u32 = all.iter().map(|file| file.facts.loc).sum();
    let workshop = Workshop::new(&project, &targets)?;
    let mut usable = Vec::new();
    let mut ways = Vec::new();
    for file in &targets {
        let spec = project.spec_path(&file.path);
        match find_way(&project, &workshop, &sandbox, file, &spec, &all)? {
            Ok(way) => {
                ways.push(way);
                usable.push(file.clone());
            }
            Err(error) => println!("  {}: cannot be loaded: {error}", file.path),
        }
    }
    let prepared = started.elapsed().as_secs_f64();
    let workshop = Workshop::new(&project, &usable)?;
    // The copies moved: absolute paths of the first workshop are not valid any more.
    for (file, way) in usable.iter().zip(ways.iter_mut()) {
        let spec = project.spec_path(&file.path);
        if let Ok(found) = find_way(&project, &workshop, &sandbox, file, &spec, &all)? {
            *way = found;
        }
    }
    let list = faults(&usable, 200);
    let effort = Effort::default();
    let observation = observe(&project, &workshop, &sandbox, (&usable, &all), &selected, &ways, &list, &effort)?;
    let observed = started.elapsed().as_secs_f64();
    for trouble in observation.trouble.iter().take(5) {
        println!("  trouble: {trouble}");
    }
    let mut specs = Vec::new();
    let (mut dropped, mut pending, mut examples) = (0, 0, 0);
    for (index, file) in usable.iter().enumerate() {
        let spec = project.spec_path(&file.path);
        let written = implement(&workshop, &sandbox, (index, file), (&ways[index], &spec), None, &observation, &selected)?;
        if let Some(error) = &written.error {
            println!("  {}: {error}", file.path);
            let _ = std::fs::remove_file(workshop.clean.join(&spec));
            continue;
        }
        dropped += written.dropped;
        pending += written.pending;
        examples += written.examples;
        if let Some(folder) = root.join(&spec).parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(root.join(&spec), &written.text)?;
        specs.push(spec);
    }
    let implemented = started.elapsed().as_secs_f64();
    let files: Vec<String> = usable.iter().map(|file| file.path.clone()).collect();
    let measured = measure(&project, &workshop, &sandbox, (&specs, &files), &list, &effort)?;
    if let Some(error) = &measured.error {
        println!("  review: {error}");
    }
    let branches: u64 = measured.coverage.values().map(|one| one.branches).sum();
    let taken: u64 = measured.coverage.values().map(|one| one.taken).sum();
    println!(
        "{}: {} files, {loc} loc, examples {examples}, pending {pending}, dropped {dropped}, branches {taken}/{branches} = {:.1} %, faults {}/{} = {:.1} %, failed {}, seconds {prepared:.1}/{observed:.1}/{implemented:.1}/{:.1}",
        root.display(), files.len(), 100.0 * taken as f64 / branches.max(1) as f64,
        measured.killed.len(), measured.killed.len() + measured.survived.len(), 100.0 * measured.score().unwrap_or(0.0),
        measured.failed.len(), started.elapsed().as_secs_f64()
    );
    if std::env::var_os("VERBOSE").is_some() {
        for (file, one) in &measured.coverage {
            println!("    {file}: {}/{}", one.taken, one.branches);
        }
        for id in measured.survived.iter().take(40) {
            let fault = &list[*id];
            println!("    survived {}:{} {} -> {:?}", fault.file, fault.mutant.line, fault.mutant.operator, fault.mutant.replacement);
        }
        for (name, message) in measured.failed.iter().take(10) {
            println!("    failed {name}: {message}");
        }
    }
    Ok(())
}
