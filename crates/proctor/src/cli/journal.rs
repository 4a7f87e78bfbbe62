//! What can be typed after `proctor journal`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use proctor_journal::capture::Expectation;
use proctor_journal::{Domain, OutcomeStatus, Strategy};

use super::Format;
use crate::values;

#[derive(Debug, Args)]
#[command(after_help = "\
The loop: say what you believe and what you will see if you are right, then let a command decide.

  proctor journal create --domain debugging --strategy check-assumptions \\
      --goal 'fix the flaky cache test' --hypothesis 'an earlier test leaves its cache behind' \\
      --action 'clear the cache after every test' --prediction 'test_cache passes in random order'
  proctor journal run --expect pass -- rspec --order random
  proctor journal stats

The journal is .claude/journal at the project's root, unless --dir, PROCTOR_JOURNAL_DIR or `[journal] dir` of \
proctor.toml names another folder.")]
pub(crate) struct JournalArguments {
    /// The journal's folder [default: .claude/journal at the project's root]
    #[arg(long, global = true, value_name = "FOLDER")]
    pub(crate) dir: Option<PathBuf>,

    /// The lane: each has its own active entry, so that several agents can work at once
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) lane: Option<String>,

    #[command(subcommand)]
    pub(crate) command: JournalCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum JournalCommand {
    /// Begin an entry: goal, hypothesis, action, prediction
    Create(Box<CreateArguments>),
    /// Change the active entry; a new hypothesis, action or prediction is a new iteration
    Update(Box<UpdateArguments>),
    /// End the active entry: what was predicted happened, or it did not
    Resolve(ResolveArguments),
    /// Give the active entry up
    Abandon(AbandonArguments),
    /// Add surprise, root cause, lesson or a note to any entry
    Annotate(AnnotateArguments),
    /// Show the active entry
    Current(CurrentArguments),
    /// List entries, newest first
    List(ListEntriesArguments),
    /// Show one entry in full
    Show(ShowEntryArguments),
    /// Deal with an entry that an earlier session left active
    Orphan(OrphanArguments),
    /// Start and end sessions; count tool calls
    Session(SessionArguments),
    /// How often predictions come true, with the uncertainty said
    Stats(StatsArguments),
    /// Find entries by their words, best first
    Search(SearchArguments),
    /// Entries day by day
    Timeline(TimelineArguments),
    /// Look back: surprises by cause, lessons, what was wrong more than once
    Retro(RetroArguments),
    /// Write entries as lines of JSON
    Export(ExportArguments),
    /// Add entries of an export, or of another journal's files
    Import(ImportArguments),
    /// Say what is wrong with the journal's files, and repair it on request
    Doctor(JournalDoctorArguments),
    /// Answer an agent's hook: JSON on standard input, JSON on standard output
    Hook(HookArguments),
    /// Run a command and resolve the active entry from what it really did
    Run(CaptureArguments),
}

fn domain() -> impl TypedValueParser<Value = Domain> {
    PossibleValuesParser::new(Domain::ALL.iter().map(|word| word.as_str()))
        .try_map(|word| word.parse::<Domain>())
}

fn strategy() -> impl TypedValueParser<Value = Strategy> {
    PossibleValuesParser::new(Strategy::ALL.iter().map(|word| word.as_str()))
        .try_map(|word| word.parse::<Strategy>())
}

fn status() -> impl TypedValueParser<Value = OutcomeStatus> {
    PossibleValuesParser::new(OutcomeStatus::ALL.iter().map(|word| word.as_str()))
        .try_map(|word| word.parse::<OutcomeStatus>())
}

fn expectation(text: &str) -> Result<Expectation, String> {
    text.parse().map_err(|problem: proctor_journal::capture::BadExpectation| problem.to_string())
}

/// What a changing command prints.
#[derive(Debug, Args)]
pub(crate) struct Printed {
    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  proctor journal create --domain debugging --strategy read-the-error \\
      --goal 'the login spec passes again' --hypothesis 'the session cookie is not sent' \\
      --action 'set SameSite=Lax' --prediction 'login_spec.rb:12 passes' \\
      --expect pass --confidence 0.8

Answers with the entry's id and at most three similar entries of the past. Only one entry can be active in a \
lane. An expectation stated here and met by a later `proctor journal run` is gold.")]
pub(crate) struct CreateArguments {
    /// The kind of work
    #[arg(short, long, value_name = "DOMAIN", value_parser = domain())]
    pub(crate) domain: Domain,

    /// The approach
    #[arg(short, long, value_name = "STRATEGY", value_parser = strategy())]
    pub(crate) strategy: Strategy,

    /// What is to be reached; it never changes
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) goal: String,

    /// What you believe
    #[arg(short = 'H', long, value_name = "TEXT")]
    pub(crate) hypothesis: String,

    /// What you do about it
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) action: String,

    /// What you will see if the belief is right
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) prediction: String,

    /// The probability that the prediction comes true, from 0 to 1
    #[arg(short, long, value_name = "P")]
    pub(crate) confidence: Option<f64>,

    /// What a run will do: pass, fail, exit:N or match:RE
    #[arg(short, long, value_name = "EXPECT", value_parser = expectation)]
    pub(crate) expect: Option<Expectation>,

    #[command(flatten)]
    pub(crate) printed: Printed,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  proctor journal update --hypothesis 'the cookie goes to the wrong host' --note 'seen in the log'

A different hypothesis, action or prediction is a new iteration; strategy, note, confidence and expectation alone \
are not. Goal and domain never change: abandon the entry and create another.")]
pub(crate) struct UpdateArguments {
    /// What you believe now
    #[arg(short = 'H', long, value_name = "TEXT")]
    pub(crate) hypothesis: Option<String>,

    /// What you do about it
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) action: Option<String>,

    /// What you will see if the belief is right
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) prediction: Option<String>,

    /// The approach
    #[arg(short, long, value_name = "STRATEGY", value_parser = strategy())]
    pub(crate) strategy: Option<Strategy>,

    /// A remark to append
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) note: Option<String>,

    /// The probability that the prediction comes true, from 0 to 1
    #[arg(short, long, value_name = "P")]
    pub(crate) confidence: Option<f64>,

    /// What the next run will do: pass, fail, exit:N or match:RE
    #[arg(short, long, value_name = "EXPECT", value_parser = expectation)]
    pub(crate) expect: Option<Expectation>,

    #[command(flatten)]
    pub(crate) printed: Printed,
}

/// What was learned.
#[derive(Debug, Args)]
pub(crate) struct Learned {
    /// What was unexpected
    #[arg(long, value_name = "TEXT")]
    pub(crate) surprise: Option<String>,

    /// Why the prediction failed, in a word: wrong-assumption, missing-knowledge, oversight, environment-issue,
    /// misleading-symptom, incomplete-fix, wrong-scope, test-isolation, timing-issue, or your own
    #[arg(long, value_name = "WORD", requires = "because")]
    pub(crate) root_cause: Option<String>,

    /// The root cause in a sentence
    #[arg(long, value_name = "TEXT", requires = "root_cause")]
    pub(crate) because: Option<String>,

    /// What worked in the end
    #[arg(long, value_name = "TEXT")]
    pub(crate) lesson: Option<String>,

    /// The general rule
    #[arg(long, value_name = "TEXT", requires = "lesson")]
    pub(crate) takeaway: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor journal resolve confirmed --result 'ten of ten in random order'
  proctor journal resolve falsified --result 'still red' --surprise 'the cookie was never set' \\
      --root-cause wrong-assumption --because 'the test client drops secure cookies' \\
      --lesson 'log the headers first' --takeaway 'look at the wire before the code'

Resolved by hand an entry is silver. `proctor journal run` lets a command decide, which is gold.")]
pub(crate) struct ResolveArguments {
    /// How it ended
    #[arg(value_parser = status())]
    pub(crate) status: OutcomeStatus,

    /// What happened
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) result: String,

    #[command(flatten)]
    pub(crate) learned: Learned,

    #[command(flatten)]
    pub(crate) printed: Printed,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  proctor journal abandon 'the feature was dropped'")]
pub(crate) struct AbandonArguments {
    /// Why
    pub(crate) reason: String,

    #[command(flatten)]
    pub(crate) printed: Printed,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  proctor journal annotate a1b2c3 --surprise 'the suite loads the file twice' \\
      --root-cause misleading-symptom --because 'the error named the second load'
  proctor journal list --needs-annotation      falsified entries nobody has explained

Later words replace earlier ones; notes add up.")]
pub(crate) struct AnnotateArguments {
    /// The entry's id, or enough of its start or end
    pub(crate) id: String,

    #[command(flatten)]
    pub(crate) learned: Learned,

    /// A remark to append
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) note: Option<String>,

    #[command(flatten)]
    pub(crate) printed: Printed,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  proctor journal current --format json        {\"entry\": null, …} when none is active")]
pub(crate) struct CurrentArguments {
    #[command(flatten)]
    pub(crate) printed: Printed,
}

/// Which entries.
#[derive(Debug, Args)]
pub(crate) struct FilterArguments {
    /// Only this kind of work
    #[arg(short, long, value_name = "DOMAIN", value_parser = domain())]
    pub(crate) domain: Option<Domain>,

    /// Only this approach
    #[arg(short, long, value_name = "STRATEGY", value_parser = strategy())]
    pub(crate) strategy: Option<Strategy>,

    /// Only entries that ended so
    #[arg(long, value_name = "STATUS", value_parser = status())]
    pub(crate) status: Option<OutcomeStatus>,

    /// Only entries that are still active
    #[arg(long, conflicts_with_all = ["ended", "status"])]
    pub(crate) active: bool,

    /// Only entries that have ended
    #[arg(long)]
    pub(crate) ended: bool,

    /// Only this session, or `current`
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,

    /// Only entries created since: `2025-12-03`, `2025-12-03T14:30:00Z`, or how long ago: `7d`, `12h`
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,

    /// Only entries created before
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,

    /// Only falsified entries that nobody has explained
    #[arg(long)]
    pub(crate) needs_annotation: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor journal list                          the newest twenty, of all lanes
  proctor journal list --status falsified --since 7d
  proctor journal list --needs-annotation --limit 0 --format json")]
pub(crate) struct ListEntriesArguments {
    #[command(flatten)]
    pub(crate) filter: FilterArguments,

    /// At most so many; 0 is all
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,

    #[command(flatten)]
    pub(crate) printed: Printed,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  proctor journal show a1b2c3      the end of an id is enough if only one entry has it")]
pub(crate) struct ShowEntryArguments {
    /// The entry's id, or enough of its start or end
    pub(crate) id: String,

    #[command(flatten)]
    pub(crate) printed: Printed,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor journal orphan                        is there one?
  proctor journal orphan adopt                  go on with it in this session
  proctor journal orphan abandon 'a crash ended it'")]
pub(crate) struct OrphanArguments {
    #[command(subcommand)]
    pub(crate) command: Option<OrphanCommand>,

    /// What to print
    #[arg(long, value_enum, global = true, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OrphanCommand {
    /// Show it
    Show,
    /// Take it over into this session
    Adopt,
    /// Give it up, into the archive of the session that left it
    Abandon {
        /// Why
        #[arg(default_value = "left by an earlier session")]
        reason: String,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor journal session start                 archives the one before
  proctor journal session check-in --every 10   is it time to look at the active entry?
  proctor journal session end                   abandons the active entry, archives the session

Agents with hooks need none of this: see `proctor journal hook --help`.")]
pub(crate) struct SessionArguments {
    #[command(subcommand)]
    pub(crate) command: SessionCommand,

    /// What to print
    #[arg(long, value_enum, global = true, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// Start a session; the id of the open one resumes it
    Start {
        /// Its id [default: `CLAUDE_CODE_SESSION_ID`, else a new one]
        #[arg(long, value_name = "ID")]
        id: Option<String>,
    },
    /// Print the open session's id
    Id,
    /// List the entries the open session has ended
    Entries,
    /// End the session: its active entry is abandoned, its entries are archived
    End {
        /// Only if this is the open session
        #[arg(long, value_name = "ID")]
        id: Option<String>,
    },
    /// Print how many tool calls were counted
    Count {
        /// Count one more
        #[arg(long)]
        add: bool,
    },
    /// Say whether it is time to look at the active entry
    CheckIn {
        /// Tool calls between two check-ins
        #[arg(long, value_name = "N", default_value_t = 10)]
        every: u64,
    },
    /// Set the count to zero
    Reset,
}

/// How a document is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum PageFormat {
    /// For a terminal
    #[default]
    Text,
    /// For a file in a repository
    Markdown,
    /// One page that needs nothing else
    Html,
    /// For programs
    Json,
}

/// A document and where it goes.
#[derive(Debug, Args)]
pub(crate) struct Page {
    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: PageFormat,

    /// Write it here (`-` is standard output)
    #[arg(short, long, value_name = "PATH", default_value = "-")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor journal stats
  proctor journal stats --domain debugging --since 30d --format json

Every rate comes with its n and a 95 % interval; below ten it says that there are too few to tell.")]
pub(crate) struct StatsArguments {
    #[command(flatten)]
    pub(crate) filter: FilterArguments,

    #[command(flatten)]
    pub(crate) page: Page,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  proctor journal search flaky cache --status falsified")]
pub(crate) struct SearchArguments {
    /// Words
    #[arg(required = true, value_name = "WORD")]
    pub(crate) words: Vec<String>,

    #[command(flatten)]
    pub(crate) filter: FilterArguments,

    /// At most so many; 0 is all
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    pub(crate) limit: usize,

    #[command(flatten)]
    pub(crate) printed: Printed,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor journal timeline --since 7d
  proctor journal timeline --format html --output timeline.html")]
pub(crate) struct TimelineArguments {
    #[command(flatten)]
    pub(crate) filter: FilterArguments,

    #[command(flatten)]
    pub(crate) page: Page,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor journal retro                         this week, from Monday, UTC
  proctor journal retro --session current
  proctor journal retro --all --format markdown --output RETRO.md")]
pub(crate) struct RetroArguments {
    /// Not this week but everything
    #[arg(long)]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) filter: FilterArguments,

    #[command(flatten)]
    pub(crate) page: Page,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  proctor journal export --output journal.jsonl")]
pub(crate) struct ExportArguments {
    #[command(flatten)]
    pub(crate) filter: FilterArguments,

    /// Write it here (`-` is standard output)
    #[arg(short, long, value_name = "PATH", default_value = "-")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor journal import journal.jsonl
  proctor journal import ~/.clams/journal/session_entries.jsonl     the original collector's files

Adds what is missing and changes nothing that is there: importing twice is importing once.")]
pub(crate) struct ImportArguments {
    /// The file (`-` is standard input)
    pub(crate) path: PathBuf,

    #[command(flatten)]
    pub(crate) printed: Printed,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor journal doctor
  proctor journal doctor --repair               moves, completes or closes; never deletes an entry
  proctor journal doctor --restore current_ghap.corrupted.1764772222

Exit code 0 if nothing is wrong, 1 if something is.")]
pub(crate) struct JournalDoctorArguments {
    /// Repair what can be repaired without loss
    #[arg(long)]
    pub(crate) repair: bool,

    /// Put a file that was set aside back as the active entry, once it can be read
    #[arg(long, value_name = "NAME", conflicts_with = "repair")]
    pub(crate) restore: Option<String>,

    #[command(flatten)]
    pub(crate) printed: Printed,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example, in .claude/settings.json (docs/journal.md has the whole of it):
  {\"hooks\": {\"SessionStart\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"proctor journal hook\"}]}]}}

One command for SessionStart, SessionEnd, PreToolUse, PostToolUse and PostToolUseFailure. It always exits 0 and never \
holds up the agent; its own troubles go to hook.log in the journal's folder.

To see it work:
  echo '{\"hook_event_name\": \"SessionStart\", \"session_id\": \"s1\"}' | proctor journal hook")]
pub(crate) struct HookArguments {
    /// Tool calls between two check-ins
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) every: u64,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor journal run --expect pass -- rspec spec/login_spec.rb
  proctor journal run --expect fail --junit report.xml -- pytest --junitxml report.xml
  proctor journal run --expect exit:3 -- ./migrate --dry-run
  proctor journal run --expect 'match:0 warnings' --timeout 5m -- make lint

The command's output passes through as it comes. Its exit code becomes ours; 128 + N if signal N ended or interrupted \
it, 124 if it took too long, 126 or 127 if it could not be started. 2 can also mean that the journal refused: \
before the run (no entry is active), or after a success that could not be written down. Compile errors, no tests, signals and timeouts decide nothing: the entry stays active, with the \
evidence attached. Without --expect the expectation stated by `create` or `update` counts.")]
pub(crate) struct CaptureArguments {
    /// What the command will do: pass, fail, exit:N or match:RE [default: as the entry says]
    #[arg(short, long, value_name = "EXPECT", value_parser = expectation)]
    pub(crate) expect: Option<Expectation>,

    /// A JUnit or JSON report that the command writes, or a folder of them; believed before the output
    #[arg(long, value_name = "PATH")]
    pub(crate) junit: Vec<PathBuf>,

    /// Stop the command when it takes longer (`500ms`, `30s`, `2m`)
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(crate) timeout: Option<u64>,

    /// What to print about the journal, on standard error: the output belongs to the command
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,

    /// The command and its arguments, after `--`
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<std::ffi::OsString>,
}

/// What `proctor run` does for the journal.
#[derive(Debug, Args)]
pub(crate) struct ResolveJournal {
    /// Resolve the journal's active entry from this run: pass, fail or exit:N [default: as the entry says]
    #[arg(long, value_name = "EXPECT", num_args = 0..=1, require_equals = true)]
    #[arg(value_parser = run_expectation, default_missing_value = "")]
    pub(crate) resolve_journal: Option<RunExpectation>,

    /// The lane of the journal
    #[arg(long, value_name = "NAME", requires = "resolve_journal", hide_short_help = true)]
    pub(crate) lane: Option<String>,
}

/// What is expected of a run of our own; `None` is what the entry says.
#[derive(Debug, Clone)]
pub(crate) struct RunExpectation(pub(crate) Option<Expectation>);

fn run_expectation(text: &str) -> Result<RunExpectation, String> {
    if text.is_empty() {
        return Ok(RunExpectation(None));
    }
    match expectation(text)? {
        Expectation::Match(_) => {
            Err("a run is judged by its examples, not its output; use pass, fail or exit:N, \
             or `proctor journal run --expect match:RE -- proctor run`"
                .to_owned())
        }
        other => Ok(RunExpectation(Some(other))),
    }
}
