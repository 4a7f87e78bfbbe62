//! Errors as users and programs see them.

use insta::assert_snapshot;
use serde_json::Value;

use crate::env::TestEnv;

#[test]
fn an_error_in_words_has_hints_below_it() {
    let env = TestEnv::new();
    assert_snapshot!(env.run(&["baseline", "show", "release"]).terminal(), @r"
    --- stderr
    error: no baseline `release`
     hint: `proctor baseline show` lists them
    --- exit 2
    ");
}

#[test]
fn an_error_for_programs_is_one_line_of_json_on_standard_error() {
    let env = TestEnv::new();
    let ran = env.run(&["baseline", "show", "release", "--format", "json"]);
    assert_snapshot!(ran.terminal(), @r#"
    --- stderr
    {"error":{"hints":["`proctor baseline show` lists them"],"kind":"not_found","message":"no baseline `release`"}}
    --- exit 2
    "#);
}

/// One command for each kind that a command line alone can provoke.
#[test]
fn kinds_and_exit_codes_of_real_commands() {
    let env = TestEnv::new();
    env.write("empty.jsonl", "");
    let kind = |arguments: &[&str]| {
        let ran = env.run(&[arguments, &["--format", "json"]].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.terminal());
        let error: Value = serde_json::from_str(&ran.stderr).unwrap();
        error["error"]["kind"].as_str().unwrap().to_owned()
    };
    assert_eq!(kind(&["show", "nothing-of-that-name"]), "not_found");
    assert_eq!(kind(&["show", "empty.jsonl"]), "input");
    assert_eq!(kind(&["journal", "resolve", "confirmed", "--result", "yes"]), "refused");
    assert_eq!(kind(&["journal", "list", "--since", "yesterday"]), "usage");
    assert_eq!(kind(&["history", "no example has this"]), "not_found");
    assert_eq!(kind(&["runs", "stop"]), "not_found");
    env.write("proctor.toml", "workers = [");
    assert_eq!(kind(&["list"]), "configuration");
}

/// Audit S8: a number that is not open was an abort.
#[test]
fn s8_the_host_checks_its_descriptor() {
    let env = TestEnv::new();
    for number in ["77", "3", "0", "-1", "99999999", "2147483648", "five"] {
        let output = env.command().arg("host").env("RPC_SOCKET_FD", number).output().unwrap();
        let ran = env.ran(&output);
        assert_eq!(ran.code, Some(2), "{number}: {}", ran.terminal());
        assert!(ran.stderr.contains("RPC_SOCKET_FD"), "{number}: {}", ran.stderr);
    }
}
