//! Annotations: what is learned about an entry after it was resolved.
//!
//! Lines of resolved entries are never rewritten, so annotations are lines of their own in
//! `annotations.jsonl` beside them and are folded in when entries are read. The original
//! collector does not know that file and reads the entries as they were resolved.

use std::collections::HashMap;
use std::path::Path;

use super::{Journal, JournalResult};
use crate::decode;
use crate::disk::Disk;
use crate::entry::{AnnotationLine, Entry};
use crate::entry_header::{EntryHeader, SearchableEntry as _};
use crate::error::{At, JournalError};
use crate::record::{Extra, to_line};
use crate::request::Annotation;
use crate::step::{Operation, Phase, apply_annotation, step};
use crate::store::ANNOTATIONS;
use crate::time::Moment;
use crate::warning::WithWarnings;

/// The annotations of a journal or lane, by entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Annotations(HashMap<String, Vec<AnnotationLine>>);

impl Annotations {
    pub(crate) fn apply_to_entry(&self, entry: &mut Entry) {
        for line in self.0.get(&entry.id).into_iter().flatten().cloned() {
            let AnnotationLine { surprise, root_cause, lesson, note, .. } = line;
            apply_annotation(entry, Annotation { surprise, root_cause, lesson, note });
        }
    }

    pub(crate) fn apply_to_header(&self, header: &mut EntryHeader<'_>) {
        if self.0.is_empty() {
            return;
        }
        let id = header.facts().id.to_owned();
        for line in self.0.get(&id).into_iter().flatten() {
            header.annotate(line);
        }
    }

    pub(crate) fn apply_to_entries(&self, entries: &mut [Entry]) {
        for entry in entries {
            self.apply_to_entry(entry);
        }
    }
}

impl<D: Disk> Journal<D> {
    /// Adds surprise, root cause, lesson or a note to an entry, active or resolved, by its id.
    ///
    /// Later words replace earlier ones; notes add up. The entry must be in this lane.
    pub fn annotate(
        &self,
        id: &str,
        annotation: Annotation,
        moment: &Moment,
    ) -> JournalResult<Entry> {
        let mut warnings = Vec::new();
        let annotation = annotation.checked(&mut warnings);
        let found = self.show(id)?.value;
        if found.lane.as_deref() != self.lane_name() {
            let dir = self.dir().to_owned();
            return Err(JournalError::NoSuchEntry { id: id.to_owned(), dir });
        }
        let mut locked = self.store.lock(moment)?;
        let state = locked.recover_state()?;
        let is_active = state.current.as_ref().is_some_and(|entry| entry.id == found.entry.id);
        let mut entry = found.entry;
        if is_active && state.phase() == Phase::Active {
            let step = step(&state, Operation::Annotate(annotation), moment)?;
            locked.apply_effects(&state, &step.effects)?;
            entry = step.entry.unwrap_or(entry);
        } else if !annotation.is_empty() {
            let line = line_for(&entry.id, &annotation, moment);
            let path = self.store.path(ANNOTATIONS);
            let text = to_line(&line).at("write", &path)?;
            locked.append(&path, text.as_bytes())?;
            apply_annotation(&mut entry, annotation);
        }
        warnings.append(&mut locked.warnings);
        Ok(WithWarnings { value: entry, warnings })
    }

    pub(crate) fn annotations(&self) -> Result<Annotations, JournalError> {
        self.annotations_in(&self.store.dir)
    }

    pub(crate) fn annotations_in(&self, dir: &Path) -> Result<Annotations, JournalError> {
        let mut all = Annotations::default();
        let bytes = self.store.read(&dir.join(ANNOTATIONS))?.unwrap_or_default();
        for line in decode::lines(&bytes) {
            if let Ok(line) = decode::record::<AnnotationLine>(line.bytes) {
                all.0.entry(line.entry_id.clone()).or_default().push(line);
            }
        }
        Ok(all)
    }
}

fn line_for(entry_id: &str, annotation: &Annotation, moment: &Moment) -> AnnotationLine {
    let Annotation { surprise, root_cause, lesson, note } = annotation.clone();
    AnnotationLine {
        entry_id: entry_id.to_owned(),
        annotated_at: moment.now,
        surprise,
        root_cause,
        lesson,
        note,
        extra: Extra::default(),
    }
}
