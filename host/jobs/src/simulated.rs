//! The parts of jobs that `simulation` replaces and uses.

#![expect(clippy::unwrap_used, reason = "a panic is how the simulation fails")]

use std::time::Duration;

use bytes::Bytes;
use hyper::Method;
use tokio::time::Instant;
use url::Url;

use super::{Failure, JobError, Jobs};
use egress::{Body, EgressError, Request, Target, Upstream};
use integrations::simulated::CONNECTOR;
use pipeline::background::BackgroundAnswer;
use store::{Job, JobValue};

impl Jobs {
    /// Adds a job of the simulated connector, with this id.
    pub async fn add_simulated(&self, id: &str, changes_data: bool, callback: &str) -> Result<(), JobError> {
        let input = self.seal(id, JobValue::Input, b"{}").await?;
        let callbacks = self.seal_json(id, JobValue::Callbacks, &[callback]).await?;
        let job = store::NewJob {
            id: id.to_owned(),
            tenant: "acme".to_owned(),
            subject: "ann".to_owned(),
            connector: CONNECTOR.to_owned(),
            operation: "run".to_owned(),
            user_identifier: None,
            changes_data,
            key_id: None,
            values: vec![(JobValue::Input, input), (JobValue::Callbacks, callbacks)],
        };
        self.parts.store.jobs().add(job, 1000).await?;
        self.wake.notify_one();
        Ok(())
    }

    /// Sends webhooks until it is dropped.
    pub async fn send_webhooks(&self) {
        self.parts.webhooks.clone().send().await;
    }

    /// Runs an operation of the simulated connector, which has no module: one request to its upstream.
    pub(super) async fn simulated_call(&self, job: &Job) -> Result<BackgroundAnswer, Failure> {
        let failed = |error: EgressError| Failure::Call(pipeline::Error::Egress(error));
        let url = Url::parse(&format!("https://upstream.example/?job={}", job.id)).unwrap();
        let (upstream, path) = Upstream::of_url(CONNECTOR, &url, false).map_err(failed)?;
        let deadline = Instant::now() + Duration::from_secs(600);
        let request = Request {
            body: Body::Json(Bytes::from_static(b"{}")),
            ..Request::new(Method::POST, Target::Path(path), deadline, 1 << 20)
        };
        let response = self.parts.egress.send(&upstream, &request).await.map_err(failed)?;
        let body = response.body.collect(1 << 20).await.map_err(failed)?;
        let document = serde_json::from_slice(&body).map_err(|error| Failure::Failed(error.into()))?;
        Ok(BackgroundAnswer { document, unmatched: Vec::new(), held: self.parts.egress.memory().part() })
    }
}
