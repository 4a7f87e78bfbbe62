//! Parties that have been made. Each is made once, even if scenarios in several folders use it: limits, processes
//! and connections are the configured party's, not the file's.

use std::path::{Path, PathBuf};

use super::mentions_folder::MentionsFolder;

/// Parties of one kind, with what they were made from.
pub(super) struct MadeParties<Fields, MadeModel>(Vec<MadeParty<Fields, MadeModel>>);

struct MadeParty<Fields, MadeModel> {
    name: String,
    fields: Fields,
    /// The scenario's folder, where the party depends on it.
    here: Option<PathBuf>,
    made: MadeModel,
}

impl<Fields, MadeModel> Default for MadeParties<Fields, MadeModel> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<Fields: Clone + MentionsFolder + PartialEq, MadeModel: Clone> MadeParties<Fields, MadeModel> {
    /// The party of this name and description; made now if there is none.
    pub(super) fn get(
        &mut self,
        name: &str,
        fields: &Fields,
        here: &Path,
        make: impl FnOnce() -> MadeModel,
    ) -> MadeModel {
        let here = fields.mentions_folder().then(|| here.to_owned());
        let same = |party: &&MadeParty<Fields, MadeModel>| {
            party.name == name && party.here == here && party.fields == *fields
        };
        if let Some(party) = self.0.iter().find(same) {
            return party.made.clone();
        }
        let made = make();
        let (name, fields) = (name.to_owned(), fields.clone());
        self.0.push(MadeParty { name, fields, here, made: made.clone() });
        made
    }

    pub(super) fn into_made(self) -> impl Iterator<Item = MadeModel> {
        self.0.into_iter().map(|party| party.made)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Audit D9: limits and processes were multiplied by the folders of scenarios.
    #[test]
    fn d9_a_party_is_made_once_whatever_folder_asks_for_it() {
        let count = Cell::new(0);
        let make = || {
            count.set(count.get() + 1);
            count.get()
        };
        let mut parties = MadeParties::default();
        for folder in ["/p/a", "/p/b"] {
            assert_eq!(
                parties.get("judge", &"${root}/judge".to_owned(), Path::new(folder), make),
                1
            );
        }
        assert_eq!(parties.get("other", &"${root}/judge".to_owned(), Path::new("/p/a"), make), 2);
        assert_eq!(parties.get("judge", &"another".to_owned(), Path::new("/p/a"), make), 3);
        assert_eq!(parties.get("judge", &"${here}/judge".to_owned(), Path::new("/p/a"), make), 4);
        assert_eq!(parties.get("judge", &"${here}/judge".to_owned(), Path::new("/p/b"), make), 5);
        assert_eq!(parties.get("judge", &"${here}/judge".to_owned(), Path::new("/p/a"), make), 4);
    }
}
