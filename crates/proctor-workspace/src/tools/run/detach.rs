//! A run that goes on by itself: a process of its own, in a session of its own, that does what `test_run` does.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proctor_process::{ChildEnvironment, DetachedCommand};

use super::folder::{self, RunFolder};
use super::{Request, RunParams, RunResult};
use crate::disk;
use crate::error::{ErrorKind, ToolError};
use crate::registry;
use crate::tools::{CallContext, Tools};

/// How long we wait until the run really goes.
const START_WAIT: Duration = Duration::from_secs(20);

impl Tools {
    pub(super) async fn detach(&self, request: Request) -> Result<RunResult, ToolError> {
        self.blocking(move |tools| tools.detach_now(request)).await
    }

    fn detach_now(&self, request: Request) -> Result<RunResult, ToolError> {
        let Some(program) = &self.config.detached else {
            return Err(ToolError::invalid("detach is not available in this program"));
        };
        let place = registry::find(&self.config, &request.params.workspace_id)?;
        // Refuse at once what would be refused in the background.
        drop(place.lock_for_run()?);
        let before = folder::numbers(&place).last().copied().unwrap_or(0);
        let mut params = request.params;
        params.detach = false;
        let order = place.file(&format!("order-{}.json", uuid::Uuid::new_v4().simple()));
        disk::replace_json(&order, &params)?;
        let argv = program.with([order.to_string_lossy().into_owned()]);
        let command = DetachedCommand::new(&argv[0], ChildEnvironment::inherited());
        command.args(&argv[1..]).start().map_err(|error| {
            ToolError::new(ErrorKind::MissingProgram, format!("{} cannot be run: {error}", argv[0]))
        })?;
        Self::await_start(&place, before, &order)
    }

    fn await_start(
        place: &registry::Place,
        before: u32,
        order: &Path,
    ) -> Result<RunResult, ToolError> {
        let deadline = Instant::now() + START_WAIT;
        loop {
            if let Some(error) = disk::read_json::<ToolError>(&answer_of(order))? {
                let _ = std::fs::remove_file(answer_of(order));
                return Err(error);
            }
            let begun = folder::numbers(place).into_iter().find(|number| *number > before);
            if let Some(number) = begun
                && let Some(start) = RunFolder::of(place, number).start()?
            {
                return Ok(RunResult {
                    termination_reason: "Running".to_owned(),
                    limits: start.limits,
                    warnings: start.warnings,
                    session_file: place.record.path.join("session.jsonl"),
                    run: number,
                    detached: true,
                    ..RunResult::default()
                });
            }
            if Instant::now() > deadline {
                return Err(ToolError::new(
                    ErrorKind::Io,
                    "the detached run did not begin in time",
                ));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Executes the order of a detached run; what the program in [`crate::Config::detached`] does. The result
    /// is on disk afterwards, also if it is an error.
    pub async fn execute_order(&self, order: PathBuf) -> Result<RunResult, ToolError> {
        // Leaves the terminal and the process group of the caller.
        let _ = rustix::process::setsid();
        let params: Option<RunParams> = disk::read_json(&order)?;
        let Some(params) = params else {
            return Err(ToolError::invalid(format!("{} is no order", order.display())));
        };
        let done = self.run(params, &CallContext::default()).await;
        if let Err(error) = &done
            && error.kind != ErrorKind::MockExhausted
        {
            disk::replace_json(&answer_of(&order), error)?;
        }
        let _ = std::fs::remove_file(&order);
        done
    }
}

fn answer_of(order: &Path) -> PathBuf {
    order.with_extension("error")
}
