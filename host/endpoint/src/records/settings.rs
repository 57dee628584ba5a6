//! The settings, the findings and the samples of the gateway that answers.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use clock::timestamp::Timestamp;
use config::EffectiveSetting;
use doctor::{Finding, Report};
use metrics::samples::{INTERVAL, Sample};

/// The configuration of the gateway that answers: the values that hold, without secrets.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Settings")]
pub struct SettingsRecord {
    /// The name of the gateway.
    pub gateway: String,
    pub version: &'static str,
    /// The sections of the configuration, in the order of its file.
    pub sections: Vec<SettingsSectionRecord>,
}

/// A section of the configuration.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SettingsSection")]
pub struct SettingsSectionRecord {
    /// The name in the file, such as `connectors.mail.limits`. Empty for the keys before all
    /// sections.
    pub section: String,
    pub settings: Vec<SettingRecord>,
}

/// The value of a key of the configuration.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Setting")]
pub struct SettingRecord {
    pub key: String,
    /// The value as in the file. Null if the key is not set, or if its value is secret.
    pub value: Value,
    /// `set` or `not set`. Null if the value is no secret.
    pub secret: Option<&'static str>,
    /// `true` if the value is another one than the default.
    pub changed: bool,
}

impl SettingsRecord {
    pub fn new(gateway: &str, settings: Vec<EffectiveSetting>) -> Self {
        let mut sections: Vec<SettingsSectionRecord> = Vec::new();
        for EffectiveSetting { section, key, value, secret_is_set, changed } in settings {
            let secret = secret_is_set.map(|is_set| if is_set { "set" } else { "not set" });
            let setting = SettingRecord { key, value, secret, changed };
            match sections.last_mut().filter(|last| last.section == section) {
                Some(last) => last.settings.push(setting),
                None => sections.push(SettingsSectionRecord { section, settings: vec![setting] }),
            }
        }
        Self { gateway: gateway.to_owned(), version: env!("CARGO_PKG_VERSION"), sections }
    }
}

/// What the gateway that answers has found about itself.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Findings")]
pub struct FindingsRecord {
    /// The name of the gateway.
    pub gateway: String,
    /// The number of findings with the level `problem`.
    pub problems: usize,
    /// In the order of the checks.
    pub findings: Vec<FindingRecord>,
}

/// A finding of a check.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Finding")]
pub struct FindingRecord {
    /// `problem`: someone must act; `note`: someone may want to act; `ok`: nothing is wrong.
    #[schemars(extend("enum" = ["ok", "note", "problem"]))]
    pub level: &'static str,
    /// The check, such as `database` or `hosts`.
    pub check: String,
    pub finding: String,
    /// What to do. Empty if nothing has to be done.
    pub action: String,
}

impl FindingsRecord {
    pub fn new(gateway: &str, report: &Report) -> Self {
        let findings = report.findings().iter().map(|Finding { level, check, text, action }| FindingRecord {
            level: level.name(),
            check: check.to_string(),
            finding: text.clone(),
            action: action.clone(),
        });
        Self { gateway: gateway.to_owned(), problems: report.problems(), findings: findings.collect() }
    }
}

/// The last hour of the gateway that answers.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Samples")]
pub struct SamplesRecord {
    /// The name of the gateway.
    pub gateway: String,
    /// Seconds between two samples.
    pub interval_s: u64,
    /// The memory that calls may take together.
    pub memory_limit_bytes: u64,
    /// The oldest first. There are fewer than an hour has if the gateway started later.
    pub samples: Vec<SampleRecord>,
}

/// What the gateway did in the seconds before a time.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Sample")]
pub struct SampleRecord {
    pub at: Timestamp,
    /// Answers to callers. Health checks, pages and the operator's routes are not among them.
    pub answers: u64,
    /// Those with a status of 500 or more.
    pub faults: u64,
    /// Half of the operations that succeeded took no longer, in milliseconds. It is the upper limit
    /// of a bucket of the metric `gateway_request_seconds`. Null without operations, and above all
    /// buckets.
    pub median_ms: Option<f64>,
    /// 95 % of the operations that succeeded took no longer.
    pub p95_ms: Option<f64>,
    /// Calls of operations that were running at the time.
    pub in_flight: i64,
    /// The memory that calls held at the time.
    pub memory_held_bytes: u64,
}

impl SamplesRecord {
    pub fn new(gateway: &str, memory_limit_bytes: u64, samples: &[Sample]) -> Self {
        let ms = |seconds: Option<f64>| seconds.filter(|seconds| seconds.is_finite()).map(|seconds| seconds * 1000.0);
        let samples = samples.iter().map(|sample| SampleRecord {
            at: sample.at.into(),
            answers: sample.answers,
            faults: sample.faults,
            median_ms: ms(sample.median_s),
            p95_ms: ms(sample.p95_s),
            in_flight: sample.in_flight,
            memory_held_bytes: sample.memory_held_bytes,
        });
        Self {
            gateway: gateway.to_owned(),
            interval_s: INTERVAL.as_secs(),
            memory_limit_bytes,
            samples: samples.collect(),
        }
    }
}
