//! The arguments of `proctor serve`.

use std::net::IpAddr;

use clap::Args;

use crate::cli::Format;
use crate::commands::mcp::OfferArguments;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor serve                  prints an address with a token; open it in a browser
  proctor serve --port 8080      on a port of your choice
  proctor serve --format json    {\"address\", \"url\", \"token\"} on one line, for programs

All runs of this project are shown: recorded runs, runs in progress in other terminals, and those started from the
page. Programs find the interface described at /api/openapi.json and send `Authorization: Bearer TOKEN`.
Ctrl-C ends the server and stops a run that was started from it.")]
pub(crate) struct ServeArguments {
    /// The port to listen on; 0 takes any free one
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    pub(crate) port: u16,

    /// The address to listen on; beyond this machine a token of your own is needed (`PROCTOR_TOKEN`)
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) bind: IpAddr,

    /// A further name that browsers may call this machine by (for --bind beyond it)
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,

    /// Only show runs; none can be started from the page
    #[arg(long)]
    pub(crate) read_only: bool,

    #[command(flatten)]
    pub(crate) offer: OfferArguments,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}
