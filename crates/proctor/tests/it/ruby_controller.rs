//! `require "proctor/controller"`: runs that a Ruby program embeds, and the example that does so in a web server.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::env::{TestEnv, repository};

const SUITE: &str = r#"
RSpec.describe "Booking" do
  4.times { |n| it("works #{n}") { expect(n).to eq(n) } }
  it("fails") { expect(1).to eq(2) }
  it("is pending")
end
"#;

/// Examples that end only by force, each with a child of its own.
const ENDLESS: &str =
    r#"RSpec.describe("endless") { 4.times { |n| it("e #{n}") { system("sleep 600") } } }"#;

/// A scheduler for fibers, such as the gem async brings.
const SCHEDULER: &str = "ruby/spec/fixtures/conversations/spec/support/scheduler.rb";

fn command(env: &TestEnv, program: &str) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(&env.project)
        .env_clear()
        .env("HOME", env.home())
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("PROCTOR_BIN", env!("CARGO_BIN_EXE_proctor"))
        .env("SCHEDULER", repository().join(SCHEDULER))
        .arg("-I")
        .arg(repository().join("ruby/lib"))
        .stdin(Stdio::null());
    command
}

fn ruby(env: &TestEnv, script: &str) -> Command {
    let mut command = command(env, "ruby");
    command.args(["-rjson", "-rproctor/controller", "-e", script]);
    command
}

/// What a script prints as JSON, and its warnings.
fn told(env: &TestEnv, script: &str) -> (Value, String) {
    let output = ruby(env, script).output().unwrap();
    let warnings = String::from_utf8_lossy(&output.stderr).into_owned();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let value = serde_json::from_str(&printed);
    (value.unwrap_or_else(|error| panic!("{error}: {printed}\n{warnings}")), warnings)
}

#[test]
fn a_ruby_program_gets_every_event_and_the_progress_after_each_result() {
    let env = TestEnv::with_spec(SUITE);
    let (told, warnings) = told(
        &env,
        r#"
        controller = RspecAgents::ParallelSpecController.new(worker_count: 2, fail_fast: false)
        events, progress, states = [], [], [controller.status]
        controller.on_event { |type, payload| events << [type, payload] }
        controller.on_event { raise "boom" }
        controller.on_event { exit(7) }
        controller.on_progress { |*counts| progress << counts }
        same = controller.start(["spec"]).equal?(controller)
        states << controller.status
        again = begin; controller.start(["spec"]); rescue => error; error.message; end
        result = controller.wait
        states << controller.status
        names = [Proctor::ParallelSpecController, RspecAgents::ParallelSpecController].uniq == [Proctor::Controller]
        puts JSON.generate(events: events, progress: progress, states: states, same: same, again: again, names: names,
          success: result.success?, result: result.to_h, equal: result == controller.results, now: controller.progress)
        "#,
    );
    assert_eq!(told["states"], json!(["idle", "running", "failed"]));
    assert_eq!(
        (&told["same"], &told["names"], &told["equal"]),
        (&json!(true), &json!(true), &json!(true))
    );
    assert_eq!((&told["again"], &told["success"]), (&json!("Already running"), &json!(false)));
    let expected: Vec<u64> = (0..=6).collect();
    let progress = told["progress"].as_array().unwrap();
    let completed: Vec<u64> = progress.iter().map(|it| it[0].as_u64().unwrap()).collect();
    assert_eq!(completed, expected, "one for each result");
    assert!(progress.iter().all(|it| it[1] == 6));
    let now = json!({"completed": 6, "total": 6, "failures": 1, "status": "failed"});
    assert_eq!((&told["now"], progress.last().unwrap()), (&now, &json!([6, 6, 1])));
    let result = &told["result"];
    assert_eq!((&result["example_count"], &result["failure_count"]), (&json!(6), &json!(1)));
    assert_eq!(
        (result["completed_examples"].as_array().unwrap().len(), &result["error"]),
        (6, &json!(null))
    );

    // Each event of the recording once, in its order, but for progress.
    let older = |name: &str, status: Option<&str>| match (name, status) {
        ("ExampleFinished", Some("passed")) => "ExamplePassed".to_owned(),
        ("ExampleFinished", Some("pending")) => "ExamplePending".to_owned(),
        ("ExampleFinished", _) => "ExampleFailed".to_owned(),
        (name, _) => name.to_owned(),
    };
    let recorded: Vec<String> = env
        .recorded()
        .events
        .iter()
        .filter(|event| event["event_type"] != "Progress")
        .map(|event| older(event["event_type"].as_str().unwrap(), event["status"].as_str()))
        .collect();
    let events = told["events"].as_array().unwrap();
    let received: Vec<&str> = events.iter().map(|event| event[0].as_str().unwrap()).collect();
    assert_eq!(received, recorded);
    let failed = &events.iter().find(|event| event[0] == "ExampleFailed").unwrap()[1];
    assert_eq!(
        (&failed["description"], &failed["full_description"], &failed["location"]),
        (&json!("fails"), &json!("Booking fails"), &json!("spec/a_spec.rb:4"))
    );
    assert!(failed["message"].as_str().unwrap().contains("expected: 2"), "{failed}");
    assert!(failed["backtrace"].is_array() && failed["duration"].is_number(), "{failed}");
    // A block that fails every time is warned about once.
    assert_eq!(warnings.matches("a block of on_event failed").count(), 2, "{warnings}");
    assert!(
        warnings.contains("RuntimeError: boom") && warnings.contains("SystemExit"),
        "{warnings}"
    );
    env.assert_no_process_left();
}

/// Whatever a program of that name does: without a result that was seen there is no success, and the reason is said.
#[test]
fn there_is_no_success_that_was_not_seen() {
    let env = TestEnv::with_spec(r#"RSpec.describe("ok") { it("works") { expect(1).to eq(1) } }"#);
    env.write("broken/a_spec.rb", "nonsense(");
    env.write("empty/a_spec.rb", "RSpec.describe(\"nothing\") {}");
    env.write("dies/a_spec.rb", r#"RSpec.describe("dies") { it("takes the run along") { sleep(0.01) until File.exist?("pid"); expect(Process.kill(:KILL, Integer(File.read("pid")))).to eq(1); sleep } }"#);
    env.write("exits_early", "#!/bin/sh\nexit 0\n");
    env.write("passes_and_fails", "#!/bin/sh\n\"$PROCTOR_BIN\" \"$@\"\nexit 3\n");
    let script = r#"
        %w[exits_early passes_and_fails].each { |name| File.chmod(0o755, name) }
        told = lambda do |paths, **options|
          File.delete("pid") if File.exist?("pid")
          controller = Proctor::Controller.new(worker_count: 1, **options)
          controller.on_event do |type, _|
            children = Dir["/proc/[0-9]*/stat"].map { |path| File.read(path) rescue "" }
            mine = children.find { |stat| stat[/\) . (\d+)/, 1].to_i == $$ }
            next unless type == "SuiteStarted"

            File.write("new_pid", mine.to_i)
            File.rename("new_pid", "pid")
          end
          controller.start(paths)
          result = controller.wait
          [result.success?, controller.status, result.error]
        end
        puts JSON.generate(
          passes: told.(["spec"]),
          missing: told.(["spec"], binary: "/nonexistent/proctor"),
          exits_early: told.(["spec"], binary: File.expand_path("exits_early")),
          other_code: told.(["spec"], binary: File.expand_path("passes_and_fails")),
          no_file: told.(["spec/other_spec.rb"]),
          option: told.(["--version"]),
          broken: told.(["broken"]),
          empty: told.(["empty"]),
          empty_allowed: told.(["empty"], arguments: ["--allow-empty"]),
          killed: told.(["dies"])
        )
    "#;
    let (told, _) = told(&env, script);
    assert_eq!(told["passes"], json!([true, "completed", null]));
    for (name, reason) in [
        ("missing", "/nonexistent/proctor cannot be started"),
        ("exits_early", "ended without a result (exit status 0)"),
        ("other_code", "(passed) (exit status 3)"),
        ("no_file", "there is no file or folder"),
        ("option", "there is no file or folder `./--version`"),
        ("broken", "an error outside of examples: "),
        ("empty", "no example was found"),
        ("empty_allowed", "no example was found"),
        ("killed", "killed by signal 9"),
    ] {
        let case = &told[name];
        assert_eq!((&case[0], &case[1]), (&json!(false), &json!("failed")), "{name}: {case}");
        assert!(case[2].as_str().unwrap_or("nothing").contains(reason), "{name}: {case}");
    }
    env.assert_no_process_left();
}

#[test]
fn a_cancelled_run_is_over_and_its_processes_are_gone() {
    let env = TestEnv::with_spec(ENDLESS);
    let (told, _) = told(
        &env,
        r#"
        alive = -> { Dir["/proc/[0-9]*/cmdline"].count { |path| (File.read(path) rescue "") == "sleep\u0000600\u0000" && (File.read(path.sub("cmdline", "environ")) rescue "").include?("HOME=#{ENV["HOME"]}\u0000") } }
        from_outside = lambda do
          controller, started = Proctor::Controller.new(worker_count: 2), Queue.new
          controller.on_event { |type, _| started << true if type == "ExampleStarted" }
          controller.start(["spec"])
          2.times { started.pop }
          controller.cancel
          [controller.status, controller.results.to_h, alive.()]
        end
        from_a_callback = lambda do
          controller = Proctor::Controller.new(worker_count: 2)
          controller.on_event { |type, _| controller.cancel if type == "ExampleStarted" }
          waits = nil
          controller.on_event { waits ||= begin; controller.wait; rescue ThreadError => error; error.message; end }
          result = controller.start(["spec"]).wait
          [controller.status, result.to_h, waits]
        end
        # Before the run has said anything.
        at_once = Proctor::Controller.new(worker_count: 2).start(["spec"]).cancel
        idle = Proctor::Controller.new(worker_count: 2).cancel
        puts JSON.generate(outside: from_outside.(), callback: from_a_callback.(), at_once: [at_once.status, at_once.results.to_h], idle: [idle.status, idle.wait])
        "#,
    );
    for case in [&told["outside"], &told["callback"], &told["at_once"]] {
        assert_eq!(case[0], "cancelled", "{told}");
        assert_eq!(
            (&case[1]["success"], &case[1]["completed_examples"]),
            (&json!(false), &json!([]))
        );
        assert_eq!(case[1]["error"], "the run was cancelled");
    }
    assert_eq!(told["outside"][2], 0, "no child of an example is left when `cancel` returns");
    assert!(told["callback"][2].as_str().unwrap().contains("its own callback"));
    assert_eq!(told["idle"], json!(["idle", null]));
    env.assert_no_process_left();
}

#[test]
fn the_run_ends_with_the_program_that_embeds_it() {
    let env = TestEnv::with_spec(ENDLESS);
    let script = r#"
        controller = Proctor::Controller.new(worker_count: 2)
        controller.on_event { |type, _| Process.kill(:KILL, $$) if type == "ExampleStarted" }
        controller.start(["spec"]).wait
    "#;
    let status = ruby(&env, script).status().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
    env.assert_no_process_left();
}

/// Two runs at once, from threads and fibers, with a callback that is slower than the run.
#[test]
fn controllers_of_several_threads_and_fibers_do_not_meet() {
    let env = TestEnv::with_spec(SUITE);
    let (told, _) = told(
        &env,
        r#"
        run = lambda do
          controller, seen = Proctor::Controller.new(worker_count: 2), []
          controller.on_progress { |completed, total, _| sleep(0.01); seen << [completed, total] }
          results = Array.new(3) { Thread.new { sleep(0.01) until controller.status != :idle; controller.wait } }
          controller.start(["spec"])
          results.map(&:value).uniq(&:object_id).size == 1 && controller.wait.example_count == 6 && seen.last == [6, 6]
        end
        threads = Array.new(2) { Thread.new { Fiber.new { run.() }.resume } }
        again = Proctor::Controller.new(worker_count: 1)
        twice = Array.new(2) { again.start(["spec"]).wait.to_h.slice(:example_count, :failure_count).values }
        require ENV.fetch("SCHEDULER")
        done = []
        Thread.new do
          Fiber.set_scheduler(TinyScheduler.new)
          2.times { Fiber.schedule { done << Proctor::Controller.new(worker_count: 1).start(["spec"]).wait.example_count } }
          # Fibers that wait for a run hold nobody up.
          Fiber.schedule { done << "other" }
        end.join
        puts JSON.generate(threads: threads.map(&:value), twice: twice, scheduled: done)
        "#,
    );
    let expected =
        json!({"threads": [true, true], "twice": [[6, 1], [6, 1]], "scheduled": ["other", 6, 6]});
    assert_eq!(told, expected);
}

/// A web server of the example.
struct Server {
    process: Child,
    port: String,
}

impl Server {
    fn start(env: &TestEnv) -> Self {
        let mut process = command(env, "puma")
            .args(["-b", "tcp://127.0.0.1:0", "-t", "4:8"])
            .arg(repository().join("examples/rack/config.ru"))
            .env("WORKERS", "2")
            .stdout(Stdio::piped())
            .spawn()
            .expect("puma is installed: ./check does so");
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let listening = lines.find_map(|line| {
            let line = line.unwrap();
            Some(line.split_once("Listening on http://127.0.0.1:")?.1.trim().to_owned())
        });
        // What puma prints must be read, or it is held up.
        std::thread::spawn(move || lines.for_each(drop));
        Self { process, port: listening.expect("puma listens") }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn the_web_server_of_the_example_runs_specs_for_a_client() {
    let env = TestEnv::with_spec(SUITE);
    env.write("endless/a_spec.rb", ENDLESS);
    let server = Server::start(&env);
    let script = r#"
        require "net/http"
        base = URI("http://127.0.0.1:#{ENV["PORT"]}")
        ask = lambda do |request, body = nil|
          request.body = JSON.generate(body) if body
          response = Net::HTTP.start(base.host, base.port) { |http| http.request(request) }
          [response.code.to_i, JSON.parse(response.body)]
        end
        get = ->(path) { ask.(Net::HTTP::Get.new(path)) }
        post = ->(path, body = nil) { ask.(Net::HTTP::Post.new(path), body) }
        messages, subscribed = Queue.new, Queue.new
        Thread.new do
          Net::HTTP.start(base.host, base.port, read_timeout: 600) do |http|
            http.request(Net::HTTP::Get.new("/specs/events")) do |response|
              buffer = +""
              response.read_body do |part|
                buffer << part
                while (text = buffer.slice!(/\A.*?\n\n/m))
                  text.start_with?(": subscribed") ? subscribed << true : messages << JSON.parse(text.delete_prefix("data: "))
                end
              end
            end
          end
        end
        subscribed.pop
        until_seen = lambda do |name, seen = []|
          seen << messages.pop until seen.any? && seen.last["event"] == name
          seen
        end
        told = { idle: get.("/specs/progress"), nothing: post.("/specs/cancel") }
        foreign = Net::HTTP::Post.new("/specs/run"); foreign["Origin"] = "http://evil.example"
        told[:foreign] = ask.(foreign, { paths: ["spec"] })
        told[:started] = post.("/specs/run", { paths: ["spec"] })
        told[:stream] = until_seen.("SuiteFinished").map { |message| [message["event"], message["data"].slice("completed", "total", "failures", "description")] }
        sleep(0.005) while get.("/specs/progress")[1]["status"] == "running"
        told[:progress] = get.("/specs/progress")
        told[:result] = get.("/specs/result")
        told[:endless] = post.("/specs/run", { paths: ["endless"] })
        told[:busy] = post.("/specs/run", { paths: ["spec"] })
        until_seen.("ExampleStarted")
        told[:running] = get.("/specs/progress")
        told[:cancelled] = post.("/specs/cancel")
        told[:after] = get.("/specs/progress")
        puts JSON.generate(told)
    "#;
    let output = ruby(&env, script).env("PORT", &server.port).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let problem = String::from_utf8_lossy(&output.stderr);
    let told: Value =
        serde_json::from_str(&printed).unwrap_or_else(|_| panic!("{printed}{problem}"));
    assert_eq!(told["idle"], json!([200, {"status": "idle"}]));
    assert_eq!(told["nothing"], json!([200, {"status": "not_running"}]));
    assert_eq!(told["foreign"][0], 403);
    assert_eq!(told["started"], json!([202, {"status": "started"}]));
    let stream = told["stream"].as_array().unwrap();
    let of =
        |name: &str| stream.iter().filter(|it| it[0] == name).map(|it| &it[1]).collect::<Vec<_>>();
    assert_eq!((of("ExamplePassed").len(), of("ExamplePending").len()), (4, 1));
    assert_eq!(of("ExampleFailed"), [&json!({"description": "fails"})]);
    assert_eq!(of("progress").last(), Some(&&json!({"completed": 6, "total": 6, "failures": 1})));
    assert_eq!(
        told["progress"],
        json!([200, {"completed": 6, "total": 6, "failures": 1, "status": "failed"}])
    );
    assert_eq!(
        (&told["result"][1]["success"], &told["result"][1]["failure_count"]),
        (&json!(false), &json!(1))
    );
    assert_eq!((&told["endless"][0], &told["busy"][0]), (&json!(202), &json!(409)));
    assert_eq!(told["running"][1]["status"], "running");
    assert_eq!(told["cancelled"], json!([200, {"status": "cancelled"}]));
    assert_eq!(told["after"][1]["status"], "cancelled");
    drop(server);
    env.assert_no_process_left();
}

/// The endpoint as the design prints it, unedited, with what it leaves open: `Async` of the gem async, and the broadcast.
#[test]
fn the_endpoint_of_the_design_works_as_it_is_printed() {
    let env = TestEnv::with_spec(SUITE);
    env.write("endless/a_spec.rb", ENDLESS);
    env.write("endpoint.rb", include_str!("seed_endpoint.rb"));
    let (told, _) = told(
        &env,
        r#"
        def Async = yield
        require "./endpoint"
        class SpecRunnerEndpoint
          def messages = @messages ||= Queue.new
          def broadcast_to_websockets(message) = messages << message
        end
        endpoint = SpecRunnerEndpoint.new
        told = { idle: endpoint.get_progress, none: endpoint.cancel_run, started: endpoint.start_run(["spec"]) }
        told[:busy] = begin; endpoint.start_run(["spec"]); rescue => error; error.message; end
        seen = []
        seen << endpoint.messages.pop until seen.any? && seen.last[:event] == "SuiteFinished"
        told[:events] = seen.map { |message| message[:event] }.uniq.sort
        told[:progress] = seen.select { |message| message[:event] == "progress" }.last[:data]
        sleep(0.005) while endpoint.get_progress[:status] == :running
        endpoint.start_run(["endless"])
        nil until endpoint.messages.pop[:event] == "ExampleStarted"
        told[:cancelled] = endpoint.cancel_run
        told[:after] = endpoint.get_progress[:status]
        puts JSON.generate(told)
        "#,
    );
    assert_eq!(told["idle"], json!({"status": "idle"}));
    assert_eq!(told["none"], json!({"status": "not_running"}));
    assert_eq!(told["started"], json!({"status": "started"}));
    assert_eq!(told["busy"], "Run already in progress");
    assert_eq!(told["progress"], json!({"completed": 6, "total": 6, "failures": 1}));
    let events = told["events"].as_array().unwrap();
    for name in ["ExampleStarted", "ExamplePassed", "ExampleFailed", "ExamplePending", "progress"] {
        assert!(events.contains(&name.into()), "{name}: {events:?}");
    }
    assert_eq!(
        (&told["cancelled"], &told["after"]),
        (&json!({"status": "cancelled"}), &json!("cancelled"))
    );
    env.assert_no_process_left();
}

/// The first sample of the page, as it is printed there.
#[test]
fn the_sample_of_the_page_works() {
    let page = std::fs::read_to_string(repository().join("docs/embedding.md")).unwrap();
    let sample = page.split("```ruby\n").nth(1).unwrap().split("```").next().unwrap();
    for (suite, last) in [
        ("RSpec.describe(\"A\") { it(\"works\") { expect(1).to eq(1) } }", "passed"),
        (SUITE, "not passed: 1 failures"),
        ("RSpec.describe(\"A\") {}", "not passed: no example was found"),
    ] {
        let env = TestEnv::with_spec(suite);
        let output = ruby(&env, sample).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(printed.lines().last(), Some(last), "{printed}");
    }
}
