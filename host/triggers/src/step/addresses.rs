//! The addresses at which the service notifies the gateway.
//!
//! A subscription that replaces another one at the service has a separate address, so that the
//! gateway knows which of the two a notification is from. An address is not used again for another
//! account, or once the service has ended its notifications: nothing proves that a late
//! notification is for the account.
//!
//! A service that was asked may have made a subscription although the gateway has no answer: the
//! connection broke, or the gateway died before it stored the answer. Such an address is kept as
//! *unanswered*. The next request has the same one, so that a service that keeps subscriptions
//! without an end has only one. The end of the last trigger asks once more, and ends what is there.

use secrecy::SecretString;

use super::Step;
use crate::TriggerError;
use crate::manage::random;
use crate::new_subscription::{ADDRESS_BYTES, SECRET_BYTES};
use sandbox::http::Hook;
use store::Subscription;

impl Step<'_> {
    /// Goes back to the address of what is at the service, if an attempt to replace it was cut off.
    pub(super) fn forget_attempt(&mut self) {
        if self.sealed.former.is_none() && self.former_address.is_some() {
            self.address = self.former_address.take();
            self.keep_addresses();
        }
    }

    /// Chooses the address of what the service is about to make, and stores it, since the service may
    /// use it before it answers, and the answer may be lost. Returns `false` if another gateway has the
    /// lease.
    pub(super) async fn prepare_address(&mut self) -> Result<bool, TriggerError> {
        let present = self.address.take();
        let (unused, replaced) = match self.sealed.standing {
            Some(_) => (None, present),
            None => (present, None),
        };
        let address = match self.sealed.unanswered.take().or(unused) {
            Some(address) => address,
            None => {
                if replaced.is_none() {
                    self.sealed.secret = random(SECRET_BYTES)?;
                }
                random(ADDRESS_BYTES)?
            }
        };
        self.sealed.unanswered = Some(address.clone());
        (self.address, self.former_address) = (Some(address), replaced);
        let sealed = self.triggers.seal(&Subscription::context(&self.subscription.id), &self.sealed).await?;
        let addresses = (self.address.as_deref(), self.former_address.as_deref());
        let is_stored =
            self.triggers.parts.store.subscriptions().readdress(self.subscription, addresses, &sealed).await?;
        self.done.secret = Some(sealed);
        Ok(is_stored)
    }

    /// Forgets the addresses, so that nothing arrives there any more.
    pub(super) fn forget_addresses(&mut self) {
        (self.address, self.former_address) = (None, None);
        self.keep_addresses();
    }

    /// Leaves the addresses to the end of the step.
    pub(super) fn keep_addresses(&mut self) {
        self.done.addresses = Some((self.address.clone(), self.former_address.clone()));
    }

    /// The address and the secret for a request to the service.
    pub(super) fn hook(&self) -> Option<Hook> {
        let url = self.triggers.hook_url(self.address.as_ref()?)?;
        Some(Hook::new(url, SecretString::from(self.sealed.secret.as_str())))
    }
}
