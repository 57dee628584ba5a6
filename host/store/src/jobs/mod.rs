//! Jobs: operations that run in the background, and the queue that gateways share.
//!
//! - [`types`]: a job and its values
//! - [`queries`]: adding, finding, ending and deleting jobs
//! - [`queue`]: taking jobs in turns, and the leases that let one gateway at a time run a job

mod queries;
mod queue;
mod types;

pub use self::types::{AnyJobFilter, Ended, FullShares, Job, JobFilter, JobStatus, JobValue, NewJob, new_job_id};

#[cfg(test)]
mod tests;
