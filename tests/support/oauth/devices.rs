//! The device authorization grant (RFC 8628): codes that a person enters on another device. The
//! provider checks the interval between two requests.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::json;

use super::grants::Issued;
use super::{Account, Endpoint, OAuthProvider, Shared, unique};
use crate::{Reply, Seen};

/// The time between two requests, in seconds.
const INTERVAL_S: u64 = 1;

/// Requests may be this much earlier, because clocks differ.
const TOLERANCE: Duration = Duration::from_millis(50);

/// The codes of a provider.
pub(super) struct Devices {
    codes: HashMap<String, Device>,
    /// The lifetime of new codes, in seconds.
    life_s: u64,
    /// The number of requests that will get `slow_down`.
    slow_downs: usize,
    /// Requests that came before the interval was over.
    too_early: usize,
}

impl Default for Devices {
    fn default() -> Self {
        Self { codes: HashMap::new(), life_s: 600, slow_downs: 0, too_early: 0 }
    }
}

/// A code.
struct Device {
    user_code: String,
    scopes: Vec<String>,
    begun: Instant,
    life: Duration,
    /// The time until the next request.
    interval: Duration,
    asked: Option<Instant>,
    decision: Decision,
}

/// The decision of a person about a code.
enum Decision {
    None,
    Allowed(Account),
    Declined,
    /// The tokens were issued.
    Spent,
}

impl OAuthProvider {
    /// The URL of the device authorization endpoint.
    pub fn device_url(&self) -> String {
        self.url() + "/device"
    }

    /// A person enters a code and consents.
    ///
    /// # Panics
    /// When there is no such code.
    #[track_caller]
    pub fn enter_code(&self, user_code: &str, account: &Account) {
        self.decide(user_code, Decision::Allowed(account.clone()));
    }

    /// A person enters a code and declines.
    ///
    /// # Panics
    /// When there is no such code.
    #[track_caller]
    pub fn decline_code(&self, user_code: &str) {
        self.decide(user_code, Decision::Declined);
    }

    #[track_caller]
    fn decide(&self, user_code: &str, decision: Decision) {
        let mut devices = self.shared.devices.lock();
        let device = devices.codes.values_mut().find(|device| device.user_code == user_code);
        device.expect("the code exists").decision = decision;
    }

    /// New codes can be entered for this number of seconds.
    pub fn set_code_lifetime(&self, seconds: u64) {
        self.shared.devices.lock().life_s = seconds;
    }

    /// Every code so far expires.
    pub fn expire_codes(&self) {
        self.shared.devices.lock().codes.values_mut().for_each(|device| device.life = Duration::ZERO);
    }

    /// This number of requests will get `slow_down`.
    pub fn slow_down(&self, requests: usize) {
        self.shared.devices.lock().slow_downs = requests;
    }

    /// Number of requests that came before the interval was over.
    pub fn early_requests(&self) -> usize {
        self.shared.devices.lock().too_early
    }
}

impl Devices {
    /// Every device code that was ever issued.
    pub(super) fn secrets(&self) -> impl Iterator<Item = String> + '_ {
        self.codes.keys().cloned()
    }
}

/// Answers a client that asks for codes with these scopes.
pub(super) fn begin(shared: &Shared, seen: &Seen, scopes: Vec<String>) -> Reply {
    let mut devices = shared.devices.lock();
    let (device_code, user_code) = (format!("device.{}/+==", unique()), unique()[..8].to_uppercase());
    let life = Duration::from_secs(devices.life_s);
    let page = format!("http://{}/activate", seen.header("host"));
    let answer = json!({
        "device_code": device_code, "user_code": user_code, "expires_in": devices.life_s, "interval": INTERVAL_S,
        "verification_uri": page, "verification_uri_complete": format!("{page}?user_code={user_code}"),
    });
    let interval = Duration::from_secs(INTERVAL_S);
    let device =
        Device { user_code, scopes, begun: Instant::now(), life, interval, asked: None, decision: Decision::None };
    devices.codes.insert(device_code, device);
    shared.note(Endpoint::Device, None);
    Reply::json(answer)
}

/// Issues tokens for a device code if the person has consented.
pub(super) fn ask(shared: &Shared, device_code: &str) -> Result<Issued, (&'static str, String)> {
    let mut devices = shared.devices.lock();
    let Devices { codes, slow_downs, too_early, .. } = &mut *devices;
    let device = codes.get_mut(device_code).ok_or(("invalid_grant", "no such device code".to_owned()))?;
    let previous = device.asked.replace(Instant::now()).unwrap_or(device.begun);
    if previous.elapsed() + TOLERANCE < device.interval {
        *too_early += 1;
    }
    if device.begun.elapsed() >= device.life {
        return Err(("expired_token", "the code has expired".to_owned()));
    }
    if *slow_downs > 0 {
        *slow_downs -= 1;
        device.interval += Duration::from_secs(5);
        return Err(("slow_down", "too many requests".to_owned()));
    }
    match std::mem::replace(&mut device.decision, Decision::Spent) {
        Decision::None => {
            device.decision = Decision::None;
            Err(("authorization_pending", "the person has not decided".to_owned()))
        }
        Decision::Declined => Err(("access_denied", "the person declined".to_owned())),
        Decision::Spent => Err(("invalid_grant", "the device code was used before".to_owned())),
        Decision::Allowed(account) => Ok(shared.grants().issue_for_device(account, device.scopes.clone())),
    }
}
