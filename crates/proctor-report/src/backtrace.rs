//! Which lines of a backtrace belong to the project.

/// Marks of code that the project did not write: installed gems, Ruby's own library, its internals.
const FOREIGN_PATH_PARTS: &[&str] = &[
    "/gems/",
    "/lib/ruby/",
    "/lib64/ruby/",
    "<internal:",
    "/lib/rspec/",
    "/exe/rspec",
    "/bin/rspec",
];

fn is_foreign(line: &str) -> bool {
    FOREIGN_PATH_PARTS.iter().any(|mark| line.contains(mark))
}

/// The lines worth showing, in their order: those of the project, or all if that leaves none.
pub(crate) fn filtered(lines: &[String], full: bool) -> Vec<&str> {
    let all = lines.iter().map(String::as_str);
    if full {
        return all.collect();
    }
    let own: Vec<&str> = all.clone().filter(|line| !is_foreign(line)).collect();
    if own.is_empty() { all.collect() } else { own }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(of: &[&str]) -> Vec<String> {
        of.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn only_the_projects_lines_unless_there_are_none() {
        let foreign = [
            "/var/lib/gems/3.1.0/gems/rack-3.0/lib/rack.rb:5:in `call'",
            "./vendor/bundle/ruby/3.1.0/gems/pg-1.5/lib/pg.rb:9",
            "/usr/lib/ruby/3.1.0/json/common.rb:216:in `parse'",
            "<internal:kernel>:187:in `loop'",
        ];
        let own = ["./lib/cart.rb:12:in `add'", "/home/me/shop/spec/cart_spec.rb:3"];
        let all = lines(&[&foreign[..], &own[..]].concat());
        assert_eq!(filtered(&all, false), own);
        assert_eq!(filtered(&all, true).len(), 6);
        assert_eq!(filtered(&lines(&foreign), false), foreign);
    }
}
