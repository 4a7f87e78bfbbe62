//! Frameworks that a library extends and leaves to the application to load: `ActiveRecord`, `ActionController` and the like.
//! A library without a helper for its specs does not say where they come from; what its files mention does. Pure.

use crate::project::SourceFile;

/// Constants of frameworks, each with the feature that defines it, in the order in which they are loaded.
const FEATURES: &[(&str, &str)] = &[
    ("ActiveSupport", "active_support/all"),
    ("ActiveModel", "active_model"),
    ("ActiveRecord", "active_record"),
    ("ActiveJob", "active_job"),
    ("ActionController", "action_controller"),
    ("ActionDispatch", "action_controller"),
    ("ActionView", "action_view"),
    ("ActionMailer", "action_mailer"),
    ("Rails", "rails"),
];

/// Extensions of Ruby's own classes that only `ActiveSupport` has, as they stand in code.
const EXTENSIONS: &[&str] = &[
    ".present?",
    ".blank?",
    ".presence",
    ".try(",
    ".constantize",
    ".camelize",
    ".classify",
    ".demodulize",
    ".tableize",
    ".pluralize",
    ".singularize",
    ".parameterize",
    ".squish",
    ".to_sentence",
    ".to_param",
    ".to_query",
    ".html_safe",
    ".extract_options!",
    ".with_indifferent_access",
    ".symbolize_keys",
    ".stringify_keys",
    ".deep_dup",
    ".ago",
    ".from_now",
    ".in_time_zone",
    "Time.zone",
    "Time.current",
    "Date.current",
    "class_attribute ",
    "mattr_",
    "cattr_",
    "delegate :",
];

/// What the files of a project mention of frameworks, as features to require. A class of the project that is called like a
/// framework is none.
pub(crate) fn mentioned(all: &[SourceFile]) -> Vec<&'static str> {
    let mut found: Vec<&'static str> = Vec::new();
    for (constant, feature) in FEATURES {
        if !found.contains(feature) && all.iter().any(|file| mentions(file, constant)) {
            found.push(feature);
        }
    }
    // Whatever belongs to Rails expects the extensions of Ruby's own classes.
    if !found.is_empty() && found[0] != FEATURES[0].1 {
        found.insert(0, FEATURES[0].1);
    }
    found
}

/// Sets of features to try: without Rails itself first, since a library may leave to an application what it does alone otherwise.
pub(crate) fn variants<'a>(features: &[&'a str]) -> Vec<Vec<&'a str>> {
    let all = features.to_vec();
    let alone: Vec<&str> = features.iter().copied().filter(|name| *name != "rails").collect();
    let mut found = vec![alone, all];
    found.dedup();
    found.retain(|features| !features.is_empty());
    found
}

/// Constants of frameworks that must be there when a file's methods are called. What the file asks for with `defined?` is not
/// among them: it works without.
pub(crate) fn expected(file: &SourceFile, all: &[SourceFile]) -> Vec<&'static str> {
    let text = String::from_utf8_lossy(&file.bytes);
    let asks = |constant: &str| {
        text.contains(&format!("defined?({constant}"))
            || text.contains(&format!("defined?(::{constant}"))
    };
    let mut found: Vec<&'static str> = FEATURES
        .iter()
        .map(|(constant, _)| *constant)
        .filter(|constant| mentions(file, constant) && !asks(constant))
        .collect();
    let extends = EXTENSIONS.iter().any(|word| text.contains(word));
    if extends && found.is_empty() && !mentioned(all).is_empty() && !asks(FEATURES[0].0) {
        found.push(FEATURES[0].0);
    }
    found
}

fn mentions(file: &SourceFile, constant: &str) -> bool {
    file.facts.mentions.iter().any(|name| {
        let name = name.trim_start_matches("::");
        name.split("::").next().is_some_and(|root| root == constant)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(source: &str) -> SourceFile {
        SourceFile {
            path: "lib/a.rb".to_owned(),
            bytes: source.as_bytes().to_vec(),
            facts: proctor_ruby::analyze(source.as_bytes()).unwrap(),
        }
    }

    #[test]
    fn what_is_mentioned_is_loaded_with_what_it_expects() {
        let one = file("class A < ActionMailer::Base\n  def a = Rails.env\nend\n");
        let plain = file("class B\n  def b(text) = text.blank?\nend\n");
        let all = [one, plain];
        assert_eq!(mentioned(&all), ["active_support/all", "action_mailer", "rails"]);
        assert_eq!(expected(&all[1], &all), ["ActiveSupport"]);
        assert!(mentioned(&all[1..]).is_empty());
        assert!(expected(&all[1], &all[1..]).is_empty());
    }

    #[test]
    fn what_is_asked_for_may_be_missing() {
        let one = file("class A\n  def a = defined?(Rails.env) ? Rails.env : nil\nend\n");
        assert!(expected(&one, std::slice::from_ref(&one)).is_empty());
    }
}
