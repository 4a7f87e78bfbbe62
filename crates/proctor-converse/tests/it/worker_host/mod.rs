//! `worker_host` over a real socket: the test plays the worker, line by line.

mod conversations;
mod peer;
