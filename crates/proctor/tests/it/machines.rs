//! One run over several machines: a real NATS server, real processes on loopback, and machines that die, stop, leave and differ.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

use crate::env::{Ran, TestEnv, assert_code, signal, wait_until};
use crate::nats_server::Server;
use crate::recorded::Recorded;

/// A lease that a busy machine renews in time, where none is to expire.
const LONG: &str = "30s";
const SHORT: &str = "3s";

/// A server, the checkout of the controller, and machines with checkouts of their own.
struct Fleet {
    server: Server,
    controller: TestEnv,
    lease: &'static str,
    machines: Vec<Machine>,
}

/// A machine with a home of its own.
struct Machine {
    env: TestEnv,
    child: Option<Child>,
    log: PathBuf,
}

fn git(folder: &Path, arguments: &[&str]) {
    let done = Command::new("git")
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@localhost",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(arguments)
        .current_dir(folder)
        .env("HOME", folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(done.unwrap().success(), "git {arguments:?}");
}

impl Fleet {
    fn of(controller: TestEnv, lease: &'static str) -> Self {
        git(&controller.project, &["init", "--quiet"]);
        git(&controller.project, &["add", "--all"]);
        git(&controller.project, &["commit", "--quiet", "-m", "suite"]);
        Self { server: Server::start(), controller, lease, machines: Vec::new() }
    }

    fn with_spec(text: &str, lease: &'static str) -> Self {
        Self::of(TestEnv::with_spec(text), lease)
    }

    fn engine(&self) -> Vec<String> {
        ["--engine", &self.server.address(), "--engine-lease", self.lease]
            .map(str::to_owned)
            .to_vec()
    }

    /// Checks the project out on a further machine.
    fn check_out(&mut self) -> usize {
        let env = TestEnv::new();
        std::fs::remove_dir_all(&env.project).unwrap();
        let from = self.controller.project.to_str().unwrap();
        git(env.home(), &["clone", "--quiet", from, "project"]);
        let log = env.home().join("work.log");
        self.machines.push(Machine { env, child: None, log });
        self.machines.len() - 1
    }

    /// Starts `proctor work` there.
    fn work(&mut self, number: usize, options: &[&str]) {
        let engine = self.engine();
        let machine = &mut self.machines[number];
        let log = std::fs::File::create(&machine.log).unwrap();
        let child = machine
            .env
            .command()
            .args(["work", "--name", &format!("m{}", number + 1)])
            .args(engine)
            .args(options)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let pid = child.id().to_string();
        std::fs::write(machine.env.home().join("pid"), pid).unwrap();
        machine.child = Some(child);
    }

    /// Checks out and works.
    fn join(&mut self, options: &[&str]) -> usize {
        let number = self.check_out();
        self.work(number, options);
        number
    }

    fn run(&self, options: &[&str]) -> Child {
        self.controller
            .command()
            .arg("run")
            .args(self.engine())
            .args(options)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn ran(&self, run: Child) -> Ran {
        self.controller.ran(&run.wait_with_output().unwrap())
    }

    fn signal(&self, number: usize, what: Signal) {
        signal(self.machines[number].child.as_ref().unwrap(), what);
    }

    fn kill(&mut self, number: usize) {
        let mut child = self.machines[number].child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    fn log(&self, number: usize) -> String {
        std::fs::read_to_string(&self.machines[number].log).unwrap_or_default()
    }

    fn exit_code(&mut self, number: usize) -> Option<i32> {
        self.machines[number].child.take().unwrap().wait().unwrap().code()
    }

    /// What must hold of every run: all is accounted for, no event is missing, nothing is doubled, and nobody is left.
    fn assert_whole(&self, examples: usize) -> Recorded {
        self.controller.assert_complete();
        let recorded = self.controller.recorded();
        recorded.assert_accounted(examples);
        let numbers: Vec<u64> =
            recorded.events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
        assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "seq has no gap");
        recorded
    }

    fn assert_nobody_left(mut self) {
        for machine in &mut self.machines {
            if let Some(mut child) = machine.child.take() {
                signal(&child, Signal::INT);
                child.wait().unwrap();
            }
            machine.env.assert_no_process_left();
        }
        self.controller.assert_no_process_left();
    }
}

/// The machines that served workers, by their names.
fn served_by(recorded: &Recorded) -> BTreeMap<String, usize> {
    let mut names = BTreeMap::new();
    for event in recorded.of("WorkerLog") {
        let line = event["line"].as_str().unwrap_or_default();
        if let Some((_, name)) = line.split_once(" is at machine ") {
            *names.entry(name.to_owned()).or_default() += 1;
        }
    }
    names
}

/// Every final result by example, repetition and attempt.
fn results(recorded: &Recorded) -> BTreeMap<String, String> {
    let finished = recorded.of("ExampleFinished").map(|event| {
        let key = format!("{} {} {}", event["example_id"], event["repeat"], event["attempt"]);
        (key, format!("{} {}", event["status"], event["final"]))
    });
    let all: BTreeMap<String, String> = finished.collect();
    assert_eq!(all.len(), recorded.count("ExampleFinished"), "no attempt ends twice");
    all
}

/// The id of the example whose description ends so.
fn id_of(recorded: &Recorded, ending: &str) -> String {
    let mut starts = recorded.of("ExampleStarted");
    let is_it = |event: &&serde_json::Value| {
        event["full_description"].as_str().is_some_and(|title| title.ends_with(ending))
    };
    starts.find(is_it).unwrap()["example_id"].to_string()
}

fn printed(recorded: &Recorded, text: &str) -> usize {
    let lines = recorded.of("WorkerLog").filter_map(|event| event["line"].as_str());
    lines.filter(|line| line.contains(text)).count()
}

/// Everything an example can come to, and conversations beside them.
const EVERYTHING: &str = r#"RSpec.describe "everything" do
  before(:context) { @group = 1 }
  12.times { |n| it("passes #{n}") { puts "line #{n}"; expect(@group).to eq(1) } }
  3.times { |n| it("fails #{n}") { expect(n).to eq(9) } }
  it("is flaky") { path = File.join(ENV.fetch("HOME"), "seen"); seen = File.exist?(path); File.write(path, ""); raise "first" unless seen }
  it("dies") { Process.kill(:KILL, Process.pid) }
  it("is skipped") { skip "later" }
  it("is slow") { sleep 0.3 }
end
RSpec.describe("random") { it("is the same everywhere") { puts "drawn #{RSpec.configuration.seed}" } }
"#;

const TALK: &str = r#"describe: Booking
agent: {script: [{when: Hello, say: How can I help?}]}
examples:
  - {it: greets, steps: [{user: Hello, expect: [{match: help}]}]}
  - {it: is wrong, steps: [{user: Hello, expect: [{match: goodbye}]}]}
"#;

#[test]
fn a_run_over_two_machines_comes_to_the_same_as_one_of_this_machine_alone() {
    let env = TestEnv::with_spec(EVERYTHING);
    env.write("talks/booking.scenario.yaml", TALK);
    let mut fleet = Fleet::of(env, LONG);
    let options = ["--repeat", "2", "--seed", "7"];
    let local = fleet.controller.run(&[&["run", "-w", "2"][..], &options].concat());
    assert_code(&local, 1);
    let expected = results(&fleet.controller.recorded());
    for _ in 0..2 {
        fleet.join(&["--slots", "2", "--once"]);
    }
    // Each machine offers 2 slots for RSpec, and 64 for conversations.
    let wait = ["--wait-for", "132", "--ui", "grouped"];
    let ran = fleet.ran(fleet.run(&[&options[..], &wait].concat()));
    assert_code(&ran, 1);
    let recorded = fleet.assert_whole(44);
    let (mut here, mut there) = (expected.clone(), results(&recorded));
    // What looks at the home folder of its machine is as flaky as it says.
    let flaky = id_of(&recorded, " is flaky");
    here.retain(|key, _| !key.contains(&flaky));
    there.retain(|key, _| !key.contains(&flaky));
    assert_eq!(there, here);
    assert_eq!(served_by(&recorded).keys().collect::<Vec<_>>(), ["m1", "m2"]);
    assert_eq!(recorded.output(" is the same everywhere", "stdout")[0], "drawn 7");
    for number in 0..2 {
        assert_eq!(fleet.exit_code(number), Some(0), "{}", fleet.log(number));
    }
    fleet.assert_nobody_left();
}

/// Examples that take a while, so that something can happen in the middle.
fn sleepers(count: usize, seconds: f64) -> String {
    format!(
        "RSpec.describe('sleepers') {{ {count}.times {{ |n| it(\"example #{{n}}\") {{ sleep({seconds}) }} }} }}\n"
    )
}

fn under_way(fleet: &Fleet, finished: usize) {
    fleet.controller.wait_for("results", |run| {
        run.count("ExampleFinished") >= finished && run.count("ExampleStarted") > finished
    });
}

#[test]
fn what_a_killed_machine_had_not_finished_runs_elsewhere_as_the_same_attempt() {
    let mut fleet = Fleet::with_spec(&sleepers(24, 0.4), SHORT);
    fleet.join(&["--slots", "2"]);
    fleet.join(&["--slots", "2"]);
    let run = fleet.run(&["--wait-for", "4"]);
    under_way(&fleet, 4);
    fleet.kill(0);
    let ran = fleet.ran(run);
    assert_code(&ran, 0);
    let recorded = fleet.assert_whole(24);
    assert_eq!(recorded.statuses().get("passed"), Some(&24));
    assert!(recorded.of("ExampleFinished").all(|event| event["attempt"] == 1), "no retry is spent");
    assert!(printed(&recorded, "delivery 2 follows") >= 1, "the recording tells");
    assert!(ran.terminal().contains("machine m1 was lost"), "{}", ran.terminal());
    fleet.assert_nobody_left();
}

#[test]
fn a_machine_that_comes_back_from_the_dead_changes_nothing() {
    let mut fleet = Fleet::with_spec(&sleepers(30, 0.5), SHORT);
    fleet.join(&["--slots", "2"]);
    fleet.join(&["--slots", "1"]);
    let run = fleet.run(&["--wait-for", "3"]);
    under_way(&fleet, 3);
    fleet.signal(0, Signal::STOP);
    fleet.controller.wait_for("the loss", |run| printed(run, "machine m1 was lost") > 0);
    fleet.signal(0, Signal::CONT);
    let ran = fleet.ran(run);
    assert_code(&ran, 0);
    let recorded = fleet.assert_whole(30);
    assert_eq!(recorded.statuses().get("passed"), Some(&30));
    wait_until("the machine to notice", || fleet.log(0).contains("its work was given to others"));
    fleet.assert_nobody_left();
}

#[test]
fn an_example_that_takes_its_machine_with_it_twice_is_crashed() {
    let text = r#"RSpec.describe "poison" do
      6.times { |n| it("passes #{n}") { sleep 0.1 } }
      it("kills its machine") { Process.kill(:KILL, Integer(File.read(File.join(ENV.fetch("HOME"), "pid")))); sleep 60 }
    end"#;
    let mut fleet = Fleet::with_spec(text, SHORT);
    for _ in 0..3 {
        fleet.join(&["--slots", "1"]);
    }
    let ran = fleet.ran(fleet.run(&["--wait-for", "3"]));
    assert_code(&ran, 1);
    let recorded = fleet.assert_whole(7);
    let poison = recorded.result("kills its machine").event;
    assert_eq!((&poison["status"], &poison["fault"]), (&"crashed".into(), &"harness".into()));
    assert_eq!(recorded.statuses().get("passed"), Some(&6));
    for number in 0..3 {
        let mut child = fleet.machines[number].child.take().unwrap();
        if fleet.machines[number].env.processes().is_empty() {
            child.wait().unwrap();
        } else {
            fleet.machines[number].child = Some(child);
        }
    }
    fleet.assert_nobody_left();
}

#[test]
fn a_machine_that_would_run_something_else_is_refused_with_what_differs() {
    let mut fleet = Fleet::with_spec(&sleepers(3, 0.0), LONG);
    let changed = fleet.check_out();
    fleet.machines[changed].env.write("spec/b_spec.rb", "RSpec.describe('b') { it('is new') { } }");
    fleet.work(changed, &["--once"]);
    let ran = fleet.ran(fleet.run(&["--wait-limit", "8s"]));
    assert_code(&ran, 1);
    for said in [
        "machine m1 was refused, because it would not run the same thing",
        "uncommitted changes: none at the controller, 1 with digest",
        "examples (suite 1): 3 with digest",
        "not enough machines came: 0 of 1 slots",
    ] {
        assert!(ran.terminal().contains(said), "{said}: {}", ran.terminal());
    }
    assert_eq!(fleet.exit_code(changed), Some(2));
    assert!(fleet.log(changed).contains("uncommitted changes: none at the controller"));
    let recorded = fleet.controller.recorded();
    assert_eq!(recorded.count("ExampleStarted"), 0, "nothing is run here instead");
    assert_eq!(recorded.statuses().get("not_run"), Some(&3));
    fleet.assert_nobody_left();
}

#[test]
fn late_joiners_get_work_and_leavers_finish_what_they_run() {
    let mut fleet = Fleet::with_spec(&sleepers(30, 0.4), LONG);
    fleet.join(&["--slots", "1"]);
    let run = fleet.run(&[]);
    under_way(&fleet, 2);
    fleet.join(&["--slots", "2"]);
    fleet.controller.wait_for("the second machine", |run| served_by(run).contains_key("m2"));
    fleet.signal(0, Signal::INT);
    assert_eq!(fleet.exit_code(0), Some(0), "{}", fleet.log(0));
    let ran = fleet.ran(run);
    assert_code(&ran, 0);
    let recorded = fleet.assert_whole(30);
    assert_eq!(recorded.statuses().get("passed"), Some(&30));
    assert_eq!(printed(&recorded, "delivery 2"), 0, "nobody was lost");
    fleet.assert_nobody_left();
}

#[test]
fn a_server_that_is_killed_and_comes_back_costs_nothing_but_time() {
    let mut fleet = Fleet::with_spec(&sleepers(24, 0.2), LONG);
    fleet.join(&["--slots", "2"]);
    let run = fleet.run(&["--wait-for", "2"]);
    for finished in [4, 10] {
        under_way(&fleet, finished);
        fleet.server.kill();
        fleet.server.begin();
    }
    let ran = fleet.ran(run);
    assert_code(&ran, 0);
    let recorded = fleet.assert_whole(24);
    assert_eq!(recorded.statuses().get("passed"), Some(&24));
    assert_eq!(recorded.count("ExampleStarted"), 24);
    fleet.assert_nobody_left();
}

#[test]
fn when_the_controller_dies_the_machine_ends_what_it_runs_and_serves_the_next_run() {
    let mut fleet = Fleet::with_spec(&sleepers(4, 1.0), SHORT);
    fleet.join(&["--slots", "2"]);
    let mut run = fleet.run(&[]);
    fleet.controller.wait_for("two starts", |run| run.count("ExampleStarted") >= 2);
    run.kill().unwrap();
    run.wait().unwrap();
    wait_until("the machine to notice", || fleet.log(0).contains("has no controller any more"));
    let ran = fleet.ran(fleet.run(&[]));
    assert_code(&ran, 0);
    fleet.assert_whole(4);
    fleet.assert_nobody_left();
}

#[test]
fn an_interrupt_at_the_controller_ends_the_examples_everywhere() {
    let mut fleet = Fleet::with_spec(&sleepers(8, 60.0), LONG);
    fleet.join(&["--slots", "2"]);
    let run = fleet.run(&["--wait-for", "2", "--grace", "1s"]);
    fleet.controller.wait_for("two starts", |run| run.count("ExampleStarted") >= 2);
    signal(&run, Signal::INT);
    let ran = fleet.ran(run);
    assert_code(&ran, 130);
    let recorded = fleet.controller.recorded();
    let statuses = recorded.statuses();
    assert_eq!((statuses.get("cancelled"), statuses.get("not_run")), (Some(&2), Some(&6)));
    fleet.assert_nobody_left();
}

#[test]
fn without_an_engine_or_a_machine_nothing_is_run_here_instead() {
    let mut fleet = Fleet::with_spec(&sleepers(2, 0.0), LONG);
    let ran = fleet.ran(fleet.run(&["--wait-limit", "1s"]));
    assert_code(&ran, 1);
    assert!(
        ran.terminal().contains("not enough machines came: 0 of 1 slots"),
        "{}",
        ran.terminal()
    );
    assert_eq!(fleet.controller.recorded().statuses().get("not_run"), Some(&2));
    fleet.server.kill();
    let ran = fleet.ran(fleet.run(&[]));
    assert_code(&ran, 2);
    assert!(
        ran.stderr.contains("no NATS server answers at nats://127.0.0.1:"),
        "{}",
        ran.terminal()
    );
    let ran = fleet.controller.run(&["work", "--engine", "nats://192.0.2.1"]);
    assert_code(&ran, 2);
    assert!(ran.stderr.contains("is not on this machine: use tls://"), "{}", ran.terminal());
    let ran = fleet.controller.run(&["work"]);
    assert_code(&ran, 2);
    assert!(ran.stderr.contains("--engine nats://HOST:PORT names it"), "{}", ran.terminal());
    let ran = fleet.ran(fleet.run(&["--budget", "1"]));
    assert_code(&ran, 2);
    assert!(ran.stderr.contains("a budget cannot be had with --engine"), "{}", ran.terminal());
    fleet.assert_nobody_left();
}

#[test]
fn outside_of_a_repository_nothing_shows_that_machines_run_the_same() {
    let server = Server::start();
    let env = TestEnv::with_spec(&sleepers(1, 0.0));
    for command in ["run", "work"] {
        let ran = env.run(&[command, "--engine", &server.address()]);
        assert_code(&ran, 2);
        assert!(ran.stderr.contains("is in no git repository with a commit"), "{}", ran.terminal());
    }
    assert_eq!(env.events_path(), None, "no recording of a run that cannot begin");
}

/// The commands of docs/machines.md as they stand there, but for the port, the folder and where the programs are.
#[test]
fn the_page_can_be_followed_word_for_word() {
    let page = std::fs::read_to_string(crate::env::repository().join("docs/machines.md")).unwrap();
    let commands: Vec<Vec<String>> = page
        .split("```sh\n")
        .skip(1)
        .map(|block| block.split("```").next().unwrap().trim())
        .map(|line| line.split(' ').map(str::to_owned).collect())
        .collect();
    let [server, work, run] = &commands[..] else { panic!("{commands:?}") };
    assert_eq!((&*server[0], &*work[1], &*run[1]), ("nats-server", "work", "run"));

    let mut fleet = Fleet::with_spec(&sleepers(6, 0.0), LONG);
    let folder = tempfile::tempdir().unwrap();
    let port = {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port()
    };
    let here = |words: &[String]| {
        let place = |word: &String| {
            let word = word.replace("4222", &port.to_string());
            word.replace("/tmp/nats", folder.path().to_str().unwrap())
        };
        words.iter().map(place).collect::<Vec<_>>()
    };
    let mut serving = Command::new(crate::nats_server::program())
        .args(&here(server)[1..])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the server", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    let number = fleet.check_out();
    let log = std::fs::File::create(&fleet.machines[number].log).unwrap();
    let child = fleet.machines[number]
        .env
        .command()
        .args(&here(work)[1..])
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap();
    fleet.machines[number].child = Some(child);
    let run: Vec<String> = here(run);
    let run: Vec<&str> = run[1..].iter().map(String::as_str).collect();
    let ran = fleet.controller.run(&run);
    assert_code(&ran, 0);
    assert!(ran.stdout.contains("6 examples: 6 passed"), "{}", ran.terminal());
    let looked = fleet.controller.run(&["doctor", "--engine", run[2]]);
    assert!(looked.stdout.contains("NATS 2.15.1 with JetStream"), "{}", looked.terminal());
    fleet.assert_nobody_left();
    serving.kill().unwrap();
    serving.wait().unwrap();
}
