//! Names that become known late: an example without a description of its own (`it { is_expected.to be_empty }`) gets one from what
//! it checks, while it runs. Its id stays what it was.

use crate::ExampleFinished;

/// Between the parts of a description chain.
const BETWEEN: &str = " > ";

impl ExampleFinished {
    /// The example's own description, where this event gives one that ends the whole chain. What merely stands in for a
    /// description ("example at …") is none.
    pub fn own_name(&self) -> Option<&str> {
        let (name, whole) = (self.description.as_deref()?, self.full_description.as_deref()?);
        let before = whole.strip_suffix(name)?;
        (!name.trim().is_empty() && !before.trim().is_empty()).then_some(name)
    }

    /// The chain that was told at the start, as one line, with the own description at its end if that became known only now.
    pub fn late_title(&self, title: &str) -> Option<String> {
        let name = self.own_name()?;
        let known = title.strip_suffix(name);
        let known = known.is_some_and(|before| before.is_empty() || before.ends_with(BETWEEN));
        (!known).then(|| format!("{title}{BETWEEN}{name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(description: &str, whole: &str) -> ExampleFinished {
        ExampleFinished {
            description: Some(description.to_owned()),
            full_description: Some(whole.to_owned()),
            ..ExampleFinished::default()
        }
    }

    #[test]
    fn a_generated_description_is_put_to_the_chain_once() {
        let generated = finished("is expected to be empty", "Stack#new is expected to be empty");
        let title = generated.late_title("Stack > #new").unwrap();
        assert_eq!(title, "Stack > #new > is expected to be empty");
        assert_eq!(generated.late_title(&title), None);
    }

    #[test]
    fn what_was_known_or_stands_in_for_a_name_adds_nothing() {
        assert_eq!(finished("pops", "Stack pops").late_title("Stack > pops"), None);
        assert_eq!(finished("pops", "pops").late_title("pops"), None);
        assert_eq!(finished("a.workspace", "a.workspace").late_title("Files > a"), None);
        assert_eq!(finished("example at ./a_spec.rb:3", "Stack ").own_name(), None);
        assert_eq!(finished("", "Stack ").own_name(), None);
        assert_eq!(ExampleFinished::default().own_name(), None);
    }
}
