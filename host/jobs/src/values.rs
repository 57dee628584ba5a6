//! The sealed values of jobs.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{JobError, Jobs, Parts};
use store::{JobValue, Sealed};

impl Jobs {
    /// Seals a value of a job.
    pub(super) async fn seal(&self, job: &str, value: JobValue, bytes: &[u8]) -> Result<Sealed, JobError> {
        let [room, row] = value.context(job);
        Ok(compute::drive(bytes.len(), self.parts.vault.seal(&[&room, &row], bytes)).await?)
    }

    /// Seals a value of a job as JSON.
    pub(super) async fn seal_json<T: Serialize + Sync>(
        &self,
        job: &str,
        value: JobValue,
        content: &T,
    ) -> Result<Sealed, JobError> {
        self.seal(job, value, &serde_json::to_vec(content)?).await
    }

    /// Reads a value of a job. `None` if the job does not have it.
    pub(super) async fn value(&self, job: &str, value: JobValue) -> Result<Option<String>, JobError> {
        let Parts { store, vault, .. } = &self.parts;
        let Some(sealed) = store.jobs().value(job, value).await? else { return Ok(None) };
        let [room, row] = value.context(job);
        let bytes = compute::drive(sealed.bytes.len(), vault.unseal_content(&[&room, &row], &sealed)).await?;
        String::from_utf8(bytes).map(Some).map_err(|error| JobError::Value(error.to_string()))
    }

    /// The URLs that are notified of the end of a job. There are none if they cannot be decrypted: such
    /// a job must end nevertheless, because it would otherwise keep its worker for good.
    pub(super) async fn callback_urls(&self, job: &str) -> Result<Vec<String>, JobError> {
        match self.json_value(job, JobValue::Callbacks).await {
            Ok(urls) => Ok(urls.unwrap_or_default()),
            Err(error) if error.is_damage() => {
                tracing::error!(job, %error, "the callback URLs of a job cannot be decrypted, so they are not notified");
                Ok(Vec::new())
            }
            Err(error) => Err(error),
        }
    }

    /// Reads a value of a job that is JSON. `None` if the job does not have it.
    pub(super) async fn json_value<T: DeserializeOwned>(
        &self,
        job: &str,
        value: JobValue,
    ) -> Result<Option<T>, JobError> {
        let Some(text) = self.value(job, value).await? else { return Ok(None) };
        Ok(Some(compute::run(text.len(), || serde_json::from_str(&text)).await?))
    }
}
