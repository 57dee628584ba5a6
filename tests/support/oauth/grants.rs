//! Codes, tokens and the families they belong to. A family is one consent: it dies as a whole.

use std::collections::{HashMap, HashSet};

use super::dialect::Rotation;
use super::{Account, unique};

/// What a person was asked, or has agreed to.
#[derive(Clone, Debug)]
pub(super) struct Consent {
    pub(super) redirect_uri: String,
    pub(super) state: String,
    pub(super) challenge: Option<String>,
    pub(super) scopes: Vec<String>,
}

/// What a code or a refresh token is exchanged for.
#[derive(Debug)]
pub(super) struct Issued {
    pub(super) access: String,
    pub(super) refresh: Option<String>,
    pub(super) lifetime_s: Option<u64>,
    pub(super) scopes: Vec<String>,
    pub(super) account: Account,
}

struct Family {
    alive: bool,
    account: Account,
    scopes: Vec<String>,
}

struct Code {
    consent: Consent,
    account: Account,
    /// The family that came of it.
    spent: Option<usize>,
}

struct Token {
    family: usize,
    /// Of an access token: expired. Of a refresh token: used, and of single use.
    dead: bool,
}

/// Everything that was ever asked for and granted.
pub(super) struct Grants {
    pub(super) lifetime_s: Option<u64>,
    pub(super) reuses: usize,
    rotation: Rotation,
    redirect_uris: HashSet<String>,
    asked: HashMap<String, Consent>,
    codes: HashMap<String, Code>,
    families: Vec<Family>,
    access: HashMap<String, Token>,
    refresh: HashMap<String, Token>,
    issued: Vec<String>,
}

impl Grants {
    pub(super) fn new(rotation: Rotation, lifetime_s: Option<u64>) -> Self {
        Self {
            lifetime_s,
            reuses: 0,
            rotation,
            redirect_uris: HashSet::new(),
            asked: HashMap::new(),
            codes: HashMap::new(),
            families: Vec::new(),
            access: HashMap::new(),
            refresh: HashMap::new(),
            issued: Vec::new(),
        }
    }

    pub(super) fn register(&mut self, redirect_uri: &str) {
        self.redirect_uris.insert(redirect_uri.to_owned());
    }

    /// Letter for letter (RFC 9700, section 4.1.3).
    pub(super) fn is_registered(&self, redirect_uri: &str) -> bool {
        self.redirect_uris.contains(redirect_uri)
    }

    /// A page for a person, by the ticket in its form.
    pub(super) fn ask(&mut self, consent: Consent) -> String {
        let ticket = unique();
        self.asked.insert(ticket.clone(), consent);
        ticket
    }

    /// What the form on the page was about; a form is sent once.
    pub(super) fn asked(&mut self, ticket: &str) -> Option<Consent> {
        self.asked.remove(ticket)
    }

    pub(super) fn consented(&mut self, consent: Consent, account: Account) -> String {
        let code = format!("code.{}", unique());
        self.codes.insert(code.clone(), Code { consent, account, spent: None });
        code
    }

    /// Tokens for a code. `proves` says whether the verifier fits a challenge.
    pub(super) fn exchange(
        &mut self,
        code: &str,
        redirect_uri: &str,
        proves: impl FnOnce(Option<&str>) -> bool,
    ) -> Result<Issued, &'static str> {
        let known = self.codes.get_mut(code).ok_or("this code was never issued")?;
        if let Some(family) = known.spent {
            self.reuses += 1;
            self.families[family].alive = false;
            return Err("this code was used before: the grant is withdrawn");
        }
        if known.consent.redirect_uri != redirect_uri {
            return Err("the redirect address is not the one that the code was issued for");
        }
        if !proves(known.consent.challenge.as_deref()) {
            return Err("the code verifier does not fit the challenge");
        }
        let family = self.families.len();
        known.spent = Some(family);
        let (account, scopes) = (known.account.clone(), known.consent.scopes.clone());
        self.families.push(Family { alive: true, account, scopes });
        Ok(self.issue(family, self.rotation != Rotation::Never))
    }

    pub(super) fn refresh(&mut self, token: &str) -> Result<Issued, &'static str> {
        let known = self.refresh.get_mut(token).ok_or("this refresh token was never issued")?;
        let family = known.family;
        if known.dead {
            self.reuses += 1;
            self.families[family].alive = false;
            return Err("this refresh token was used before: the grant is withdrawn");
        }
        if !self.families[family].alive {
            return Err("the grant of this refresh token was withdrawn");
        }
        match self.rotation {
            Rotation::Never => Err("nothing is renewed here"),
            Rotation::Keeps => Ok(self.issue(family, false)),
            Rotation::Renews => Ok(self.issue(family, true)),
            Rotation::SingleUse => {
                known.dead = true;
                // The access token goes with it, as at the strictest of providers.
                self.access.values_mut().filter(|token| token.family == family).for_each(|token| token.dead = true);
                Ok(self.issue(family, true))
            }
        }
    }

    fn issue(&mut self, family: usize, with_refresh: bool) -> Issued {
        // With characters that are written otherwise in a URL, in JSON and in base64.
        let make = |kind: &str| format!("{kind}.{}/{}+==", unique(), &unique()[..9]);
        let (access, refresh) = (make("access"), with_refresh.then(|| make("refresh")));
        self.access.insert(access.clone(), Token { family, dead: false });
        self.issued.push(access.clone());
        if let Some(refresh) = &refresh {
            self.refresh.insert(refresh.clone(), Token { family, dead: false });
        }
        let Family { account, scopes, .. } = &self.families[family];
        Issued { access, refresh, lifetime_s: self.lifetime_s, scopes: scopes.clone(), account: account.clone() }
    }

    /// Whose access token this is, while it is good.
    pub(super) fn owner(&self, access: &str) -> Result<Account, &'static str> {
        let token = self.access.get(access).ok_or("this access token was never issued")?;
        let family = &self.families[token.family];
        match (family.alive, token.dead) {
            (false, _) => Err("the grant of this access token was withdrawn"),
            (true, true) => Err("this access token has expired"),
            (true, false) => Ok(family.account.clone()),
        }
    }

    /// Takes back the grant that a token of either kind belongs to; one that is not known, or expired, is no error (RFC 7009).
    pub(super) fn revoke(&mut self, token: &str) {
        if let Some(token) = self.access.get(token).or_else(|| self.refresh.get(token)) {
            self.families[token.family].alive = false;
        }
    }

    pub(super) fn expire(&mut self) {
        self.access.values_mut().for_each(|token| token.dead = true);
    }

    pub(super) fn withdraw(&mut self) {
        self.families.iter_mut().for_each(|family| family.alive = false);
    }

    pub(super) fn live(&self) -> usize {
        self.families.iter().filter(|family| family.alive).count()
    }

    pub(super) fn access_tokens(&self) -> Vec<String> {
        self.issued.clone()
    }

    pub(super) fn secrets(&self) -> Vec<String> {
        self.codes.keys().chain(self.access.keys()).chain(self.refresh.keys()).cloned().collect()
    }
}
