//! Authorization codes, tokens, and the grants that they belong to. A grant is one consent and is
//! revoked as a whole.

use std::collections::{HashMap, HashSet};

use super::dialect::Rotation;
use super::{Account, unique};

/// An authorization request that a person is asked about or has agreed to.
#[derive(Clone, Debug)]
pub(super) struct Consent {
    pub(super) redirect_uri: String,
    pub(super) state: String,
    pub(super) challenge: Option<String>,
    pub(super) scopes: Vec<String>,
}

/// The tokens that a code or a refresh token is exchanged for.
#[derive(Debug)]
pub(super) struct Issued {
    pub(super) access: String,
    pub(super) refresh: Option<String>,
    pub(super) lifetime_s: Option<u64>,
    pub(super) scopes: Vec<String>,
    pub(super) account: Account,
}

struct Grant {
    alive: bool,
    account: Account,
    scopes: Vec<String>,
}

struct Code {
    consent: Consent,
    account: Account,
    /// Index of the grant that the code was exchanged for; `None` as long as the code is unused.
    spent: Option<usize>,
}

struct Token {
    grant: usize,
    /// An access token has expired; a refresh token of single use was used.
    dead: bool,
}

/// Everything that was ever requested and granted.
pub(super) struct Grants {
    pub(super) lifetime_s: Option<u64>,
    pub(super) reuses: usize,
    /// `true` if all codes of an account are exchanged for the same access token.
    pub(super) one_token_per_account: bool,
    rotation: Rotation,
    redirect_uris: HashSet<String>,
    asked: HashMap<String, Consent>,
    codes: HashMap<String, Code>,
    granted: Vec<Grant>,
    access: HashMap<String, Token>,
    refresh: HashMap<String, Token>,
    issued: Vec<String>,
}

impl Grants {
    pub(super) fn new(rotation: Rotation, lifetime_s: Option<u64>) -> Self {
        Self {
            lifetime_s,
            reuses: 0,
            one_token_per_account: false,
            rotation,
            redirect_uris: HashSet::new(),
            asked: HashMap::new(),
            codes: HashMap::new(),
            granted: Vec::new(),
            access: HashMap::new(),
            refresh: HashMap::new(),
            issued: Vec::new(),
        }
    }

    pub(super) fn register(&mut self, redirect_uri: &str) {
        self.redirect_uris.insert(redirect_uri.to_owned());
    }

    /// Compares redirect URIs as text (RFC 9700, section 4.1.3).
    pub(super) fn is_registered(&self, redirect_uri: &str) -> bool {
        self.redirect_uris.contains(redirect_uri)
    }

    /// Stores a request that a person is asked about, and returns the ticket for the form.
    pub(super) fn ask(&mut self, consent: Consent) -> String {
        let ticket = unique();
        self.asked.insert(ticket.clone(), consent);
        ticket
    }

    /// Takes the request that a ticket belongs to; `None` if the form was sent before.
    pub(super) fn asked(&mut self, ticket: &str) -> Option<Consent> {
        self.asked.remove(ticket)
    }

    pub(super) fn consented(&mut self, consent: Consent, account: Account) -> String {
        let code = format!("code.{}", unique());
        self.codes.insert(code.clone(), Code { consent, account, spent: None });
        code
    }

    /// Exchanges a code for tokens. `proves` returns `true` if the verifier fits the challenge.
    pub(super) fn exchange(
        &mut self,
        code: &str,
        redirect_uri: &str,
        proves: impl FnOnce(Option<&str>) -> bool,
    ) -> Result<Issued, &'static str> {
        let known = self.codes.get_mut(code).ok_or("this code was never issued")?;
        if let Some(grant) = known.spent {
            self.reuses += 1;
            self.granted[grant].alive = false;
            return Err("this code was used before: the grant is revoked");
        }
        if known.consent.redirect_uri != redirect_uri {
            return Err("the redirect URI is not the one that the code was issued for");
        }
        if !proves(known.consent.challenge.as_deref()) {
            return Err("the code verifier does not fit the challenge");
        }
        let (account, scopes) = (known.account.clone(), known.consent.scopes.clone());
        let is_own = |grant: &Grant| grant.alive && grant.account == account;
        let earlier = self.granted.iter().position(is_own).filter(|_| self.one_token_per_account);
        let grant = earlier.unwrap_or(self.granted.len());
        known.spent = Some(grant);
        if earlier.is_some() {
            let (access, _) = self.access.iter().find(|(_, token)| token.grant == grant).unwrap();
            return Ok(Issued { access: access.clone(), refresh: None, lifetime_s: self.lifetime_s, scopes, account });
        }
        self.granted.push(Grant { alive: true, account, scopes });
        Ok(self.issue(grant, self.rotation != Rotation::Never))
    }

    pub(super) fn refresh(&mut self, token: &str) -> Result<Issued, &'static str> {
        let known = self.refresh.get_mut(token).ok_or("this refresh token was never issued")?;
        let grant = known.grant;
        if known.dead {
            self.reuses += 1;
            self.granted[grant].alive = false;
            return Err("this refresh token was used before: the grant is revoked");
        }
        if !self.granted[grant].alive {
            return Err("the grant of this refresh token was revoked");
        }
        match self.rotation {
            Rotation::Never => Err("this provider refreshes no tokens"),
            Rotation::Keeps => Ok(self.issue(grant, false)),
            Rotation::Renews => Ok(self.issue(grant, true)),
            Rotation::SingleUse => {
                known.dead = true;
                // The access token ends with the refresh token, as the strictest providers do it.
                self.access.values_mut().filter(|token| token.grant == grant).for_each(|token| token.dead = true);
                Ok(self.issue(grant, true))
            }
        }
    }

    /// Issues a token without a person's consent, and without a refresh token.
    pub(super) fn issue_directly(&mut self, account: Account, scopes: Vec<String>) -> Issued {
        let grant = self.granted.len();
        self.granted.push(Grant { alive: true, account, scopes });
        self.issue(grant, false)
    }

    /// Issues tokens for a code that a person has entered on another device.
    pub(super) fn issue_for_device(&mut self, account: Account, scopes: Vec<String>) -> Issued {
        let grant = self.granted.len();
        self.granted.push(Grant { alive: true, account, scopes });
        self.issue(grant, self.rotation != Rotation::Never)
    }

    fn issue(&mut self, grant: usize, with_refresh: bool) -> Issued {
        // Tokens contain characters that a URL, JSON and base64 encode differently.
        let make = |kind: &str| format!("{kind}.{}/{}+==", unique(), &unique()[..9]);
        let (access, refresh) = (make("access"), with_refresh.then(|| make("refresh")));
        self.access.insert(access.clone(), Token { grant, dead: false });
        self.issued.push(access.clone());
        if let Some(refresh) = &refresh {
            self.refresh.insert(refresh.clone(), Token { grant, dead: false });
        }
        let Grant { account, scopes, .. } = &self.granted[grant];
        Issued { access, refresh, lifetime_s: self.lifetime_s, scopes: scopes.clone(), account: account.clone() }
    }

    /// The account of a valid access token.
    pub(super) fn owner(&self, access: &str) -> Result<Account, &'static str> {
        let token = self.access.get(access).ok_or("this access token was never issued")?;
        let grant = &self.granted[token.grant];
        match (grant.alive, token.dead) {
            (false, _) => Err("the grant of this access token was revoked"),
            (true, true) => Err("this access token has expired"),
            (true, false) => Ok(grant.account.clone()),
        }
    }

    /// Revokes the grant of a token of either kind, and with `of_account` all grants of its account.
    /// An unknown or expired token is no error (RFC 7009).
    pub(super) fn revoke(&mut self, token: &str, of_account: bool) {
        let Some(token) = self.access.get(token).or_else(|| self.refresh.get(token)) else { return };
        let account = self.granted[token.grant].account.clone();
        self.granted[token.grant].alive = false;
        for grant in self.granted.iter_mut().filter(|grant| of_account && grant.account == account) {
            grant.alive = false;
        }
    }

    pub(super) fn expire(&mut self) {
        self.access.values_mut().for_each(|token| token.dead = true);
    }

    pub(super) fn withdraw(&mut self) {
        self.granted.iter_mut().for_each(|grant| grant.alive = false);
    }

    pub(super) fn live(&self) -> usize {
        self.granted.iter().filter(|grant| grant.alive).count()
    }

    pub(super) fn access_tokens(&self) -> Vec<String> {
        self.issued.clone()
    }

    pub(super) fn newest_tokens(&self) -> [String; 2] {
        let access = self.issued.last().unwrap();
        let grant = self.access[access].grant;
        let (refresh, _) = self.refresh.iter().find(|(_, token)| token.grant == grant && !token.dead).unwrap();
        [access.clone(), refresh.clone()]
    }

    pub(super) fn secrets(&self) -> Vec<String> {
        self.codes.keys().chain(self.access.keys()).chain(self.refresh.keys()).cloned().collect()
    }
}
