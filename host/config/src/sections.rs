//! The settings of single sections, with the defaults and the keys.

use std::net::SocketAddr;
use std::time::Duration;

use url::Url;

use super::declare::settings;
use super::kind::{choice, or_empty};
use super::section::Section;
use super::value::{
    address, base_url, boolean, hours, integer, kibibytes, milliseconds, optional_endpoint, seconds, whole_hours,
};

settings! {
    /// Operations that run in the background.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Jobs {
        /// Maximum number of jobs that this gateway runs at the same time.
        pub workers: usize = 8 => "workers": integer(0..=1000);
        /// Maximum number of jobs of one tenant that wait for a worker.
        pub max_pending_per_tenant: u64 = 1000 => "max_pending_per_tenant": integer(1..=1_000_000);
        /// Time for which the result of a job is kept.
        pub keep: Duration = Duration::from_secs(24 * 3600) => "keep_h": hours();
        /// The longest time that one job may run.
        pub timeout: Duration = Duration::from_secs(900) => "timeout_s": seconds(1..=86_400);
        /// The limit of CPU time of one job.
        pub cpu: Duration = Duration::from_secs(60) => "cpu_ms": milliseconds(1..=3_600_000);
    }
}

settings! {
    /// Operations as tools of agents.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Mcp {
        /// Up to this number of operations, each is a tool. With more, tools search for operations
        /// and call them.
        pub direct_tools: usize = 40 => "direct_tools": integer(0..=1000);
        /// The size at which the text of a result is cut.
        pub max_result_bytes: usize = 60 << 10 => "max_result_kb": kibibytes(1..=10_240);
        /// The most streams that wait for changes of tools.
        pub max_streams: usize = 1000 => "max_streams": integer(0..=100_000);
    }
}

settings! {
    /// Records of calls.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Calls {
        /// The calls that are recorded.
        pub keep: KeptCalls = KeptCalls::Failed
            => "keep": choice("\"failed\", \"all\" or \"none\"", KEPT_CALLS);
        /// Time for which a record is kept.
        pub keep_for: Duration = Duration::from_secs(24 * 3600) => "keep_h": hours();
        /// Maximum number of records. The oldest ones make room for new ones.
        pub max: u32 = 100_000 => "max": integer(1..=10_000_000);
    }
}

/// The calls that are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptCalls {
    /// Calls that were refused or that failed.
    Failed,
    /// Every call.
    All,
    /// No call.
    None,
}

const KEPT_CALLS: &[(&str, KeptCalls)] =
    &[("failed", KeptCalls::Failed), ("all", KeptCalls::All), ("none", KeptCalls::None)];

settings! {
    /// The settings of webhooks.
    #[derive(Clone, Debug)]
    pub struct Callbacks {
        /// `true` if webhooks may be sent to loopback and private addresses, and over http.
        pub allow_private_network: bool = false => "allow_private_network": boolean();
        /// The URL that receives events. `None` if events are not sent.
        pub events_url: Option<Url> = None => "events_url": optional_endpoint();
        /// Time for which the URL and the body of a webhook are kept after its last attempt, so
        /// that it can be sent once more.
        pub keep: Duration = Duration::from_secs(24 * 3600) => "keep_h": whole_hours(0..=8760);
    }
}

impl Callbacks {
    pub(super) fn check(&self, section: &mut Section<'_>) {
        if !self.allow_private_network && self.events_url.as_ref().is_some_and(|url| url.scheme() == "http") {
            let problem = "begins with http://; use https, or set `callbacks.allow_private_network`";
            section.problem("events_url", problem.to_owned());
        }
    }
}

settings! {
    /// The addresses at which services notify the gateway.
    #[derive(Clone, Debug)]
    pub struct Hooks {
        /// The URL under which services reach the gateway. `None`: `public_url`. See
        /// [`Config::hooks_url`](super::Config::hooks_url).
        pub public_url: Option<Url> = None => "public_url": or_empty(base_url());
        /// An address at which only the routes for services are served, in addition to the address
        /// of callers. `None`: only there.
        pub listen: Option<SocketAddr> = None => "listen": or_empty(address());
    }
}

settings! {
    /// Events of services.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Triggers {
        /// Time for which an event is kept.
        pub keep: Duration = Duration::from_secs(72 * 3600) => "keep_h": hours();
        /// Time in which an occurrence that the service tells of again makes no second event.
        pub dedupe: Duration = Duration::from_secs(168 * 3600) => "dedupe_h": hours();
        /// Maximum number of subscriptions that this gateway reads or renews at the same time.
        pub readers: usize = 16 => "readers": integer(0..=1000);
        /// Maximum number of webhooks of one tenant that are not delivered yet. With more, the
        /// gateway reads no further events for the tenant.
        pub max_pending_per_tenant: u64 = 10_000 => "max_pending_per_tenant": integer(1..=10_000_000);
        /// Maximum number of triggers of one tenant.
        pub max_per_tenant: u64 = 10_000 => "max_per_tenant": integer(1..=10_000_000);
    }
}
