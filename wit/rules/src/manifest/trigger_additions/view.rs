//! The declarations of `trigger-additions` as the rules see them.

/// Defines `fn inbox` and `fn trigger`, which convert the declarations of `trigger-additions` into the
/// types of [`trigger`](crate::trigger). The argument is the name of the module with the generated types.
#[macro_export]
macro_rules! trigger_view {
    ($wit:ident) => {
        /// An inbox in the form that the rules take.
        fn inbox(inbox: &$wit::Inbox) -> $crate::trigger::Inbox {
            // The records are taken apart, so that a new member does not compile until the rules
            // have it.
            let $wit::Inbox {
                name,
                scope,
                checks,
                handshakes,
                decode,
                items,
                id,
                kind,
                data,
                time,
                accounts,
                visibility,
                ignored,
                lifecycle,
                max_body,
            } = inbox;
            $crate::trigger::Inbox {
                name: name.clone(),
                scope: match scope {
                    $wit::InboxScope::Application => $crate::trigger::InboxScope::Application,
                    $wit::InboxScope::Subscription => $crate::trigger::InboxScope::Subscription,
                },
                checks: checks.iter().map(proof).collect(),
                handshakes: handshakes.iter().map(handshake).collect(),
                decode: decode.clone(),
                items: items.clone(),
                id: id.iter().map(place).collect(),
                kind: kind.iter().map(place).collect(),
                data: data.clone(),
                time: time.as_ref().map(place),
                accounts: accounts.iter().map(account_key).collect(),
                visibility: visibility.as_ref().map(visibility_request),
                ignored: ignored.clone(),
                lifecycle: lifecycle.iter().map(|(kind, meaning)| (kind.clone(), lifecycle_of(*meaning))).collect(),
                max_body: *max_body,
            }
        }

        fn proof(check: &$wit::Check) -> $crate::trigger::Check {
            match check {
                $wit::Check::Hmac(hmac) => $crate::trigger::Check::Hmac(hmac_check(hmac)),
                $wit::Check::Token(token) => $crate::trigger::Check::Token(place(token)),
                $wit::Check::Jwt(jwt) => $crate::trigger::Check::Jwt(jwt_check(jwt)),
            }
        }

        fn hmac_check(hmac: &$wit::HmacCheck) -> $crate::trigger::HmacCheck {
            let $wit::HmacCheck {
                hash,
                secret,
                encoding,
                text,
                separator,
                signature,
                prefix,
                list_separator,
                timestamp,
                tolerance_seconds,
            } = hmac;
            $crate::trigger::HmacCheck {
                hash: check_hash(*hash),
                secret: check_secret(*secret),
                encoding: check_encoding(*encoding),
                text: text
                    .iter()
                    .map(|part| match part {
                        $wit::CheckPart::Body => $crate::trigger::CheckPart::Body,
                        $wit::CheckPart::Timestamp => $crate::trigger::CheckPart::Timestamp,
                        $wit::CheckPart::Header(name) => $crate::trigger::CheckPart::Header(name.clone()),
                        $wit::CheckPart::Literal(text) => $crate::trigger::CheckPart::Literal(text.clone()),
                    })
                    .collect(),
                separator: separator.clone(),
                signature: place(signature),
                prefix: prefix.clone(),
                list_separator: list_separator.clone(),
                timestamp: timestamp.as_ref().map(place),
                tolerance_seconds: *tolerance_seconds,
            }
        }

        fn check_hash(hash: $wit::CheckHash) -> $crate::trigger::CheckHash {
            match hash {
                $wit::CheckHash::Sha1 => $crate::trigger::CheckHash::Sha1,
                $wit::CheckHash::Sha256 => $crate::trigger::CheckHash::Sha256,
                $wit::CheckHash::Sha512 => $crate::trigger::CheckHash::Sha512,
            }
        }

        fn check_secret(secret: $wit::CheckSecret) -> $crate::trigger::CheckSecret {
            match secret {
                $wit::CheckSecret::Text => $crate::trigger::CheckSecret::Text,
                $wit::CheckSecret::Base64 => $crate::trigger::CheckSecret::Base64,
            }
        }

        fn check_encoding(encoding: $wit::CheckEncoding) -> $crate::trigger::CheckEncoding {
            match encoding {
                $wit::CheckEncoding::Hex => $crate::trigger::CheckEncoding::Hex,
                $wit::CheckEncoding::Base64 => $crate::trigger::CheckEncoding::Base64,
            }
        }

        fn jwt_check(jwt: &$wit::JwtCheck) -> $crate::trigger::JwtCheck {
            let $wit::JwtCheck { place: token, issuers, jwks_url, audience, claims } = jwt;
            $crate::trigger::JwtCheck {
                place: place(token),
                issuers: issuers.clone(),
                jwks_url: jwks_url.clone(),
                audience: match audience {
                    $wit::JwtAudience::Address => $crate::trigger::JwtAudience::Address,
                    $wit::JwtAudience::Setting(name) => $crate::trigger::JwtAudience::Setting(name.clone()),
                },
                claims: claims
                    .iter()
                    .map(|(name, claim)| {
                        let claim = match claim {
                            $wit::Claim::Literal(text) => $crate::trigger::Claim::Literal(text.clone()),
                            $wit::Claim::Setting(name) => $crate::trigger::Claim::Setting(name.clone()),
                        };
                        (name.clone(), claim)
                    })
                    .collect(),
            }
        }

        fn handshake(handshake: &$wit::Handshake) -> $crate::trigger::Handshake {
            match handshake {
                $wit::Handshake::EchoQuery(parameter) => $crate::trigger::Handshake::EchoQuery(parameter.clone()),
                $wit::Handshake::EchoMember(echo) => {
                    let $wit::EchoMember { when, member } = echo;
                    $crate::trigger::Handshake::EchoMember($crate::trigger::EchoMember {
                        when: when.clone(),
                        member: member.clone(),
                    })
                }
                $wit::Handshake::HmacQuery(hmac) => {
                    let $wit::HmacQuery { parameter, hash, secret, encoding, member, prefix } = hmac;
                    $crate::trigger::Handshake::HmacQuery($crate::trigger::HmacQuery {
                        parameter: parameter.clone(),
                        hash: check_hash(*hash),
                        secret: check_secret(*secret),
                        encoding: check_encoding(*encoding),
                        member: member.clone(),
                        prefix: prefix.clone(),
                    })
                }
            }
        }

        fn place(place: &$wit::Place) -> $crate::trigger::Place {
            match place {
                $wit::Place::Header(name) => $crate::trigger::Place::Header(name.clone()),
                $wit::Place::HeaderField(names) => $crate::trigger::Place::HeaderField(names.clone()),
                $wit::Place::Pointer(pointer) => $crate::trigger::Place::Pointer(pointer.clone()),
                $wit::Place::Query(name) => $crate::trigger::Place::Query(name.clone()),
                $wit::Place::BodyHash => $crate::trigger::Place::BodyHash,
            }
        }

        fn account_key(key: &$wit::AccountKey) -> $crate::trigger::AccountKey {
            let $wit::AccountKey { place: of_value, account } = key;
            $crate::trigger::AccountKey { place: place(of_value), account: account.clone() }
        }

        fn visibility_request(visibility: &$wit::Visibility) -> $crate::trigger::Visibility {
            let $wit::Visibility { upstream, path, context, parameter, accounts, cursor } = visibility;
            $crate::trigger::Visibility {
                upstream: upstream.clone(),
                path: path.clone(),
                context: context.clone(),
                parameter: parameter.clone(),
                accounts: accounts.clone(),
                cursor: cursor.clone(),
            }
        }

        fn lifecycle_of(meaning: $wit::Lifecycle) -> $crate::trigger::Lifecycle {
            match meaning {
                $wit::Lifecycle::Reauthorize => $crate::trigger::Lifecycle::Reauthorize,
                $wit::Lifecycle::Recreate => $crate::trigger::Lifecycle::Recreate,
                $wit::Lifecycle::Read => $crate::trigger::Lifecycle::Read,
                $wit::Lifecycle::Gone => $crate::trigger::Lifecycle::Gone,
            }
        }

        /// A type of events in the form that the rules take.
        fn trigger(trigger: &$wit::Trigger) -> $crate::trigger::Trigger {
            let $wit::Trigger {
                name,
                title,
                description,
                parameters,
                payload,
                example,
                source,
                kinds,
                scopes,
                inboxes,
                key,
                conditions,
                subscribe,
                renew,
                unsubscribe,
                read,
                recover,
                identify,
                requires_setting,
                lifetime_seconds,
                poll_seconds,
            } = trigger;
            $crate::trigger::Trigger {
                name: name.clone(),
                title: title.clone(),
                description: description.clone(),
                parameters: parameters.clone(),
                payload: payload.clone(),
                example: example.clone(),
                source: match source {
                    $wit::TriggerSource::Carried => $crate::trigger::TriggerSource::Carried,
                    $wit::TriggerSource::Read => $crate::trigger::TriggerSource::Read,
                },
                kinds: kinds.clone(),
                scopes: scopes.clone(),
                inboxes: inboxes.clone(),
                key: key.clone(),
                conditions: conditions.iter().map(condition).collect(),
                subscribe: subscribe.clone(),
                renew: renew.clone(),
                unsubscribe: unsubscribe.clone(),
                read: read.clone(),
                recover: recover.clone(),
                identify: identify.clone(),
                requires_setting: requires_setting.clone(),
                lifetime_seconds: *lifetime_seconds,
                poll_seconds: *poll_seconds,
            }
        }

        fn condition(condition: &$wit::Condition) -> $crate::trigger::Condition {
            let $wit::Condition { place: of_value, comparison, value, pattern } = condition;
            $crate::trigger::Condition {
                place: place(of_value),
                comparison: match comparison {
                    $wit::Comparison::Equals => $crate::trigger::Comparison::Equals,
                    $wit::Comparison::Contains => $crate::trigger::Comparison::Contains,
                    $wit::Comparison::StartsWith => $crate::trigger::Comparison::StartsWith,
                },
                value: match value {
                    $wit::ConditionValue::Parameter(pointer) => {
                        $crate::trigger::ConditionValue::Parameter(pointer.clone())
                    }
                    $wit::ConditionValue::Account(pointer) => $crate::trigger::ConditionValue::Account(pointer.clone()),
                    $wit::ConditionValue::Literal(text) => $crate::trigger::ConditionValue::Literal(text.clone()),
                },
                pattern: pattern.clone(),
            }
        }
    };
}
