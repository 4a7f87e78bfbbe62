//! Factories that the selected methods need and the project lacks: made in the copies before calls are observed, verified there
//! by building and storing objects, and put into the project when a spec that holds uses them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use proctor_files::limits;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::PipelineRun;
use super::wave::{ExecutionSite, LoadedTarget};
use crate::factories::{
    FactoryDefinition, Quotes, attribute_of, extended, factory_files, new_file, trait_name,
};
use crate::load_methods::load_paths_at;
use crate::stop::Stop;

/// How often what failed is taken out and the rest checked again.
const MAX_CHECKS: usize = 4;

/// A file of factories that was made or added to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactoryFile {
    /// Relative to the project.
    pub path: String,
    /// Factories that are new in it.
    pub factories: Vec<String>,
    /// Traits that are new in it.
    pub traits_added: Vec<String>,
    /// Its whole text.
    #[serde(skip)]
    pub(super) text: String,
    /// Factories whose traits or attributes it adds.
    #[serde(skip)]
    pub(super) definitions: Vec<FactoryDefinition>,
}

/// What the Ruby side answers.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer {
    installed: bool,
    factories: Vec<FactoryDefinition>,
    troubles: BTreeMap<String, String>,
    /// By `factory` or `factory trait`.
    failures: BTreeMap<String, String>,
}

impl PipelineRun<'_> {
    /// Makes what is missing for these targets, in the copies only.
    pub(super) fn prepare_factories(
        &mut self,
        parts: &[LoadedTarget<'_>],
        site: &ExecutionSite,
    ) -> Result<(), Stop> {
        let models = self.models();
        let wanted: BTreeSet<String> =
            parts.iter().flat_map(|part| self.needed_models(part, &models)).collect();
        let Some(part) = parts.first().filter(|_| !wanted.is_empty()) else { return Ok(()) };
        let requires: BTreeSet<&String> =
            parts.iter().flat_map(|part| &part.way.requires).collect();
        let mut requires: Vec<&String> = requires.into_iter().collect();
        // The helper comes first, as in a spec.
        requires.sort_by_key(|path| {
            part.way.requires.iter().position(|one| one == *path).unwrap_or(usize::MAX)
        });
        let job = json!({ "requires": requires, "classes": wanted, "states": self.states(parts) });
        let answer = self.ask_factories(site, job.clone())?;
        if !answer.installed {
            return Ok(());
        }
        for (what, reason) in &answer.troubles {
            self.report.warnings.push(format!("no factory was written for {what}: {reason}"));
        }
        self.note("implement", format!("{} factories to add or extend", answer.factories.len()));
        let mut definitions = answer.factories;
        for _ in 0..MAX_CHECKS {
            let files = self.placed(&definitions);
            Self::put_into_copies(&files, site)?;
            if files.is_empty() {
                return Ok(());
            }
            let mut check = job.clone();
            check["check"] = checks(&files);
            let answer = self.ask_factories(site, check)?;
            if answer.installed && answer.failures.is_empty() {
                self.factory_files = files;
                return Ok(());
            }
            self.take_back(&files, site)?;
            self.take_out(&mut definitions, &answer);
        }
        Ok(())
    }

    /// Models that a target defines, mentions, or is given by a name.
    fn needed_models(&self, part: &LoadedTarget<'_>, models: &BTreeSet<String>) -> Vec<String> {
        let facts = &part.target.source.facts;
        let last = |name: &str| name.rsplit("::").next().unwrap_or(name).to_owned();
        let proposed: BTreeSet<String> = self
            .metadata
            .get(&part.target.source.path)
            .into_iter()
            .flat_map(|(_, metadata)| &metadata.factories)
            .map(|one| one.class.clone())
            .collect();
        let params: BTreeSet<&str> = facts
            .methods()
            .flat_map(|(_, method)| &method.params)
            .map(|param| param.name.trim_end_matches("_id"))
            .collect();
        let needed = |model: &&String| {
            facts.classes.iter().any(|class| class.name == **model)
                || facts.mentions.iter().any(|name| last(name) == last(model))
                || params.contains(proctor_ruby::underscore(&last(model)).as_str())
                || proposed.contains(*model)
        };
        models.iter().filter(needed).cloned().collect()
    }

    /// States that the methods distinguish: class to attribute, value and the name of a trait.
    fn states(&self, parts: &[LoadedTarget<'_>]) -> BTreeMap<String, Vec<Value>> {
        let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        let metadata = parts.iter().filter_map(|part| self.metadata.get(&part.target.source.path));
        for one in metadata.flat_map(|(_, metadata)| &metadata.factories) {
            if one.exists && one.missing_trait.is_none() {
                continue;
            }
            let attribute = attribute_of(&one.class, &one.characteristic);
            let state = json!({
                "attribute": attribute, "value": one.value, "trait": trait_name(&attribute, &one.value),
            });
            let list = found.entry(one.class.clone()).or_default();
            if !list.contains(&state) {
                list.push(state);
            }
        }
        found
    }

    fn ask_factories(&mut self, site: &ExecutionSite, mut job: Value) -> Result<Answer, Stop> {
        let root = &site.workshop.clean;
        job["root"] = json!(root);
        job["load_paths"] = json!(load_paths_at(&self.project, root));
        let folder = site.workshop.folder.path();
        let (path, result) = (folder.join("factories.json"), folder.join("factories-made.json"));
        proctor_files::write_private(&path, job.to_string())?;
        proctor_files::write_private(&result, "{}")?;
        let program = site.workshop.programs.join("write_factories.rb");
        let arguments = [program.into(), path.into(), result.clone().into()];
        let finished = site.sandbox.run(&arguments, root, &[], Duration::from_mins(1))?;
        if !finished.success {
            let error = finished.stderr.lines().find(|line| !line.trim().is_empty());
            let error = error
                .unwrap_or("it ended without an answer")
                .replace(&format!("{}/", root.to_string_lossy()), "");
            self.report.warnings.push(format!("factories could not be looked for: {error}"));
        }
        let text = proctor_files::read_text(&result, limits::PROGRAM_OUTPUT)?;
        Ok(serde_json::from_str(&text).unwrap_or_default())
    }

    /// Files with these definitions in them; what has no place is reported.
    fn placed(&mut self, definitions: &[FactoryDefinition]) -> Vec<FactoryFile> {
        let existing = factory_files(self.root());
        let texts: Vec<String> = existing.iter().map(|(_, text)| text.clone()).collect();
        let quotes = Quotes::of(texts.iter().map(String::as_str));
        let mut files: BTreeMap<String, FactoryFile> = BTreeMap::new();
        let known = crate::factories::read(self.root());
        for one in definitions {
            let path = match &one.attributes {
                Some(_) => new_path(&existing, &one.plural),
                None => known
                    .all
                    .get(&one.factory)
                    .and_then(|factory| factory.place.rsplit_once(':'))
                    .map(|(file, _)| file.to_owned())
                    .unwrap_or_default(),
            };
            let before = files.get(&path).map(|file| file.text.clone()).or_else(|| {
                existing.iter().find(|(known, _)| *known == path).map(|(_, text)| text.clone())
            });
            let text = match before {
                Some(before) => extended(&before, one, quotes),
                None if path.is_empty() => None,
                None => Some(new_file(&[one], quotes)),
            };
            let Some(text) = text.filter(|_| self.is_inside(&path)) else {
                self.report.warnings.push(format!(
                    "factory :{} was not extended: {path} has no block to which traits can be added",
                    one.factory
                ));
                continue;
            };
            let file = files.entry(path.clone()).or_default();
            file.path = path;
            file.text = text;
            file.factories.extend(one.attributes.is_some().then(|| one.factory.clone()));
            file.traits_added.extend(one.traits.iter().map(|one| one.name.clone()));
            file.definitions.push(one.clone());
        }
        files.into_values().collect()
    }

    /// Whether a file lies in the project, whatever links lead to it.
    fn is_inside(&self, path: &str) -> bool {
        let Ok(root) = self.root().canonicalize() else { return false };
        let full = self.root().join(path);
        let nearest = full.ancestors().find_map(|folder| folder.canonicalize().ok());
        nearest.is_some_and(|folder| folder.starts_with(&root))
    }

    fn put_into_copies(files: &[FactoryFile], site: &ExecutionSite) -> io::Result<()> {
        for file in files {
            for copy in [&site.workshop.clean, &site.workshop.probed] {
                write_into(copy, &file.path, &file.text)?;
            }
        }
        Ok(())
    }

    fn take_back(&self, files: &[FactoryFile], site: &ExecutionSite) -> io::Result<()> {
        for file in files {
            for copy in [&site.workshop.clean, &site.workshop.probed] {
                match fs::read(self.root().join(&file.path)) {
                    Ok(bytes) => fs::write(copy.join(&file.path), bytes)?,
                    Err(_) => fs::remove_file(copy.join(&file.path))?,
                }
            }
        }
        Ok(())
    }

    /// Drops what could not be built where it stands, with the reason.
    fn take_out(&mut self, definitions: &mut Vec<FactoryDefinition>, answer: &Answer) {
        if answer.failures.is_empty() {
            let names: Vec<&str> = definitions.iter().map(|one| one.factory.as_str()).collect();
            self.report.warnings.push(format!(
                "factories {} were not written: the project does not load with them",
                names.join(", ")
            ));
            definitions.clear();
            return;
        }
        for (what, reason) in &answer.failures {
            self.report.warnings.push(format!(
                "factory :{} was not written: {reason}",
                what.replace(' ', ", trait :")
            ));
            match what.split_once(' ') {
                Some((factory, name)) => definitions
                    .iter_mut()
                    .filter(|one| one.factory == factory)
                    .for_each(|one| one.traits.retain(|one| one.name != name)),
                None => definitions.retain(|one| one.factory != *what),
            }
        }
        definitions.retain(|one| one.attributes.is_some() || !one.traits.is_empty());
    }

    /// Puts the factories that a spec uses into the project, and those that they need in turn.
    pub(super) fn deliver_factories(&mut self, spec: &str) -> Result<Vec<FactoryFile>, Stop> {
        let mut wanted: Vec<FactoryFile> = Vec::new();
        let mut open: Vec<FactoryFile> =
            self.factory_files.iter().filter(|file| is_used(file, spec)).cloned().collect();
        while let Some(file) = open.pop() {
            if wanted.iter().any(|one| one.path == file.path) {
                continue;
            }
            let lines = file.definitions.iter().flat_map(|one| one.attributes.iter().flatten());
            let needed: BTreeSet<&str> = lines.map(|line| line.factory.as_str()).collect();
            let others = self.factory_files.iter();
            open.extend(
                others
                    .filter(|other| {
                        other.factories.iter().any(|name| needed.contains(name.as_str()))
                    })
                    .cloned(),
            );
            wanted.push(file);
        }
        wanted.sort_by(|a, b| a.path.cmp(&b.path));
        for file in &wanted {
            self.write_spec(&file.path, &file.text)?;
        }
        self.factory_files.retain(|file| !wanted.iter().any(|one| one.path == file.path));
        Ok(wanted)
    }
}

/// Whether a spec names one of the factories that are new in a file, or a trait that is.
fn is_used(file: &FactoryFile, spec: &str) -> bool {
    file.definitions.iter().any(|one| {
        let made = [")", ","].iter().any(|end| spec.contains(&format!("(:{}{end}", one.factory)));
        let with =
            |name: &str| [")", ","].iter().any(|end| spec.contains(&format!(", :{name}{end}")));
        made && (one.attributes.is_some() || one.traits.iter().any(|one| with(&one.name)))
    })
}

fn checks(files: &[FactoryFile]) -> Value {
    let definitions = files.iter().flat_map(|file| &file.definitions);
    let list = definitions.map(|one| {
        let traits: Vec<&str> = one.traits.iter().map(|one| one.name.as_str()).collect();
        json!({ "factory": one.factory, "traits": traits })
    });
    Value::Array(list.collect())
}

/// Where a new factory goes: beside the others, or into the one file that there is.
fn new_path(existing: &[(String, String)], plural: &str) -> String {
    let in_folder = existing.iter().find_map(|(path, _)| {
        ["spec/factories/", "test/factories/", "factories/"]
            .into_iter()
            .find(|folder| path.starts_with(folder))
    });
    let single = existing.iter().map(|(path, _)| path).find(|path| {
        matches!(path.as_str(), "spec/factories.rb" | "test/factories.rb" | "factories.rb")
    });
    match (in_folder, single) {
        (Some(folder), _) => format!("{folder}{plural}.rb"),
        (None, Some(single)) => single.clone(),
        (None, None) => format!("spec/factories/{plural}.rb"),
    }
}

fn write_into(root: &Path, path: &str, text: &str) -> io::Result<()> {
    let path = root.join(path);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}
