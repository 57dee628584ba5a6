//! The gateways of the service, and what each of them serves. Changes of connectors name the
//! generation that they replace, and may wait for all gateways.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hyper::Response;
use hyper::header::{HeaderMap, HeaderValue, IF_MATCH};
use serde_json::json;
use tokio::time::{Instant, sleep};

use body::Body;
use endpoint::answer::json_answer;
use endpoint::lists::{Field, Filter, List, Parse, filter, put, read};
use endpoint::page;
use endpoint::records::{
    ConnectorAtGatewayRecord, ConnectorCountsRecord, GatewayMemoryRecord, GatewayRecord, GatewaysRecord,
    InstalledRecord, ServiceConnectorRecord, ServiceConnectorsRecord,
};
use endpoint::route::HttpCall;
use gateway::Gateway;
use problem::{self, Problem};
use registry::Connector;
use store::{ConnectorAtGateway, GatewayRow, LiveModule, StoreError};

/// The longest time that a change waits for gateways, in seconds.
const MAX_WAIT_S: u64 = 60;

/// Time between two looks at the gateways.
const LOOK: Duration = Duration::from_millis(200);

/// GET /admin/gateways: the gateways of the service.
pub async fn list_gateways(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let (limit, after) = page::read_place(call.head.uri.query().unwrap_or_default())?;
    let store = &call.gateway.store;
    let mut rows = store.gateways().list().await.map_err(|error| unavailable(&error))?;
    let place = |row: &GatewayRow| (row.name.clone(), row.id.clone());
    // The collation of the database may be another one.
    rows.sort_by_key(place);
    let next_cursor = page::cut(&mut rows, limit, after.as_ref(), place);
    let mut counts = BTreeMap::<String, ConnectorCountsRecord>::new();
    let live = store.modules().live().await.map_err(|error| unavailable(&error))?;
    let present = present_generations(&live, store.database().is_shared());
    for at in store.gateways().connectors().await.map_err(|error| unavailable(&error))? {
        let record = ConnectorAtGatewayRecord::new(&at, present.get(&*at.connector).copied().unwrap_or_default());
        let counts = counts.entry(at.gateway).or_default();
        match &*record.state {
            "live" => counts.live += 1,
            "compiling" => counts.compiling += 1,
            _ => counts.refused += 1,
        }
    }
    let gateways = rows.into_iter().map(|row| {
        let connectors = counts.get(&row.id).copied().unwrap_or_default();
        gateway_record(row, connectors)
    });
    Ok(json_answer(&json!(GatewaysRecord { gateways: gateways.collect(), next_cursor })))
}

/// The connectors of the service that a list shows.
#[derive(Clone, Debug, Default)]
pub struct ServiceConnectorFilter {
    /// Only this connector.
    connector: Option<String>,
    /// Only connectors after this one.
    after: Option<String>,
    /// Maximum number of connectors.
    limit: u32,
}

/// The list of the connectors of the service.
#[derive(Clone, Copy, Debug)]
pub struct ServiceConnectors;

impl List for ServiceConnectors {
    type Query = ServiceConnectorFilter;

    const FILTERS: &'static [Filter<ServiceConnectorFilter>] =
        &[filter("connector", "Only the connector with this identifier.").text(|filter| &mut filter.connector)];

    const LIMIT: Field<ServiceConnectorFilter, u32> = |filter| &mut filter.limit;
    const CURSOR: Parse<ServiceConnectorFilter> =
        |filter, cursor| put(&mut filter.after, page::cursor(cursor).map(Some));
}

/// GET /admin/connectors: the connectors of the service, in pages.
pub async fn list_service_connectors(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    let ServiceConnectorFilter { connector, after, limit } =
        read::<ServiceConnectors>(call.head.uri.query().unwrap_or_default())?;
    let store = &call.gateway.store;
    let live = store.modules().live().await.map_err(|error| unavailable(&error))?;
    let at = store.gateways().connectors().await.map_err(|error| unavailable(&error))?;
    let all = service_connectors(&live, &at, store.database().is_shared());
    let is_wanted =
        |record: &ServiceConnectorRecord| connector.as_ref().is_none_or(|wanted| record.connector == *wanted);
    let mut connectors: Vec<_> = all.filter(is_wanted).collect();
    let next_cursor = page::cut(&mut connectors, limit, after.as_ref(), |record| record.connector.clone());
    Ok(json_answer(&json!(ServiceConnectorsRecord { connectors, next_cursor })))
}

/// The generations of the service, which its gateways follow. Empty with SQLite, where the folders
/// of the gateway decide.
fn present_generations(live: &[LiveModule], is_shared: bool) -> BTreeMap<&str, i64> {
    live.iter().filter(|_| is_shared).map(|live| (live.connector.as_str(), live.generation)).collect()
}

/// The connectors of the service, by identifier.
fn service_connectors<'a>(
    live: &'a [LiveModule],
    at: &'a [ConnectorAtGateway],
    is_shared: bool,
) -> impl Iterator<Item = ServiceConnectorRecord> + 'a {
    let generations = present_generations(live, is_shared);
    let live: BTreeMap<&str, &LiveModule> = live.iter().map(|live| (live.connector.as_str(), live)).collect();
    let mut by_connector = BTreeMap::<&str, Vec<&ConnectorAtGateway>>::new();
    for at in at {
        by_connector.entry(&at.connector).or_default().push(at);
    }
    let mut identifiers: BTreeSet<&str> = by_connector.keys().copied().collect();
    if is_shared {
        identifiers.extend(live.values().filter(|live| live.digest.is_some()).map(|live| live.connector.as_str()));
    }
    identifiers.into_iter().filter_map(move |identifier| {
        let present = live.get(identifier).copied();
        let at = by_connector.get(identifier).map(Vec::as_slice).unwrap_or_default();
        let digest = present.and_then(|present| present.digest.clone());
        // Without a foreign module, the service has what came with its gateways.
        let serving = match &digest {
            Some(digest) => at.iter().find(|at| at.digest.as_ref() == Some(digest)),
            None => at.iter().find(|at| at.is_shipped),
        };
        let shipped = digest.is_none();
        let digest = digest.or_else(|| serving.and_then(|at| at.digest.clone()))?;
        let version = serving.and_then(|at| at.version.clone()).or_else(|| present?.version.clone());
        let title = serving.or_else(|| at.first()).and_then(|at| at.title.clone());
        Some(ServiceConnectorRecord {
            connector: identifier.to_owned(),
            title: title.unwrap_or_else(|| identifier.to_owned()),
            version: version.unwrap_or_default(),
            digest,
            generation: present.map_or(0, |present| present.generation),
            shipped,
            changed_at: present.map(|present| present.changed_at.into()),
            changed_by: present.map(|present| present.changed_by.clone()),
            gateways: at
                .iter()
                .map(|at| ConnectorAtGatewayRecord::new(at, generations.get(identifier).copied().unwrap_or_default()))
                .collect(),
        })
    })
}

fn gateway_record(row: GatewayRow, connectors: ConnectorCountsRecord) -> GatewayRecord {
    GatewayRecord {
        id: row.id,
        name: row.name,
        address: row.address,
        version: row.version,
        state: if row.is_away { "away".to_owned() } else { row.state },
        started_at: row.started_at.into(),
        seen_at: row.seen_at.into(),
        connectors,
        calls: row.calls,
        jobs: row.jobs,
        memory: GatewayMemoryRecord { held_bytes: row.memory_held, limit_bytes: row.memory_limit },
    }
}

/// Returns `true` if `If-Match` says that the connector must be there, in any generation.
pub(super) fn must_exist(headers: &HeaderMap) -> bool {
    only_match(headers).is_some_and(|value| value == "*")
}

/// The value of `If-Match`. `None` if there is none, or more than one.
fn only_match(headers: &HeaderMap) -> Option<&HeaderValue> {
    let mut values = headers.get_all(IF_MATCH).iter();
    values.next().filter(|_| values.next().is_none())
}

/// The generation in `If-Match`. `None` if the header is absent or `*`.
pub(super) fn generation_in_headers(headers: &HeaderMap) -> Result<Option<i64>, Problem> {
    if must_exist(headers) {
        return Ok(None);
    }
    if !headers.contains_key(IF_MATCH) {
        return Ok(None);
    }
    let text = only_match(headers).and_then(|value| value.to_str().ok());
    let digits = text.and_then(|text| text.strip_prefix('"')?.strip_suffix('"'));
    let generation = digits.filter(|digits| !digits.starts_with('+')).and_then(|digits| digits.parse().ok());
    generation.map(Some).ok_or_else(|| {
        problem::BAD_REQUEST.with_detail(
            "The header `If-Match` must be a generation in quotes, such as \"3\"; GET /admin/connectors has it.",
        )
    })
}

/// The seconds that a change waits for gateways.
pub(super) fn parse_wait(value: &str) -> Result<u64, String> {
    let seconds = value.parse().ok().filter(|seconds| *seconds <= MAX_WAIT_S);
    seconds.ok_or_else(|| format!("Must be a whole number from 0 to {MAX_WAIT_S}."))
}

/// The record of a connector that was changed, with the generation that the change led to.
pub(super) async fn changed_record(
    gateway: &Gateway,
    live: &Connector,
    generation: i64,
    wait: Option<u64>,
) -> Result<InstalledRecord, Problem> {
    let gateways = wait_for_gateways(gateway, live.name(), generation, wait).await?;
    Ok(InstalledRecord { generation, gateways, ..InstalledRecord::from(live) })
}

/// Waits until each ready gateway serves or refuses a generation, at most so many seconds. Returns
/// what the gateways made of it; `None` if the caller did not want to wait.
pub(super) async fn wait_for_gateways(
    gateway: &Gateway,
    connector: &str,
    generation: i64,
    wait: Option<u64>,
) -> Result<Option<Vec<ConnectorAtGatewayRecord>>, Problem> {
    let Some(seconds) = wait else { return Ok(None) };
    let deadline = Instant::now() + Duration::from_secs(seconds);
    loop {
        let ready = gateway.store.gateways().list().await.map_err(|error| unavailable(&error))?;
        let at = gateway.store.gateways().connectors().await.map_err(|error| unavailable(&error))?;
        let live = gateway.store.modules().live_of(connector).await.map_err(|error| unavailable(&error))?;
        let present = live.as_ref().filter(|_| gateway.store.database().is_shared()).map_or(0, |live| live.generation);
        let is_removed = live.is_none_or(|live| live.digest.is_none());
        let has_ended = |id: &str| match at.iter().find(|at| at.gateway == id && at.connector == connector) {
            Some(at) => at.about >= generation && at.state != "compiling",
            None => is_removed,
        };
        let ready: Vec<_> = ready.iter().filter(|row| !row.is_away && row.state == "ready").collect();
        // This gateway serves. It is not among them yet if it has just started.
        let have_all_ended = !ready.is_empty() && ready.iter().all(|row| has_ended(&row.id));
        if Instant::now() >= deadline || have_all_ended {
            let of_connector = at.iter().filter(|at| at.connector == connector);
            return Ok(Some(of_connector.map(|at| ConnectorAtGatewayRecord::new(at, present)).collect()));
        }
        sleep(LOOK).await;
    }
}

fn unavailable(error: &StoreError) -> Problem {
    problem::store_problem(error, "The state of the service cannot be read now; try again.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generation_is_in_quotes() {
        let read = |value: &'static str| {
            generation_in_headers(&HeaderMap::from_iter([(IF_MATCH, HeaderValue::from_static(value))])).ok()
        };
        assert_eq!((read("\"3\""), read("*")), (Some(Some(3)), Some(None)));
        let wrong = ["3", "\"a\"", "\"3\", \"4\"", "", "\"+3\""];
        assert_eq!(wrong.map(read), [None; 5]);
        for lines in [["\"3\"", "\"4\""], ["*", "\"4\""]] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(IF_MATCH, HeaderValue::from_static(line));
            }
            assert!(generation_in_headers(&headers).is_err() && !must_exist(&headers), "{lines:?}");
        }
        assert_eq!(generation_in_headers(&HeaderMap::new()).ok(), Some(None));
    }

    #[test]
    fn a_wait_has_a_limit() {
        assert_eq!((parse_wait("0"), parse_wait("60")), (Ok(0), Ok(60)));
        assert!(parse_wait("61").is_err() && parse_wait("").is_err() && parse_wait("-1").is_err());
    }
}
