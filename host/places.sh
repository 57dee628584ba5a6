#!/usr/bin/env bash
# Checks that no connector's and no provider's name is in the host, and that few places open files, ask for the time, run statements,
# write to a terminal or expose a secret. A part of `make lint`.
set -euo pipefail
cd "$(dirname "$0")/.."

names_in_the_host() {
  local connectors providers names
  connectors=$(find connectors -mindepth 2 -maxdepth 2 -name Cargo.toml | cut -d/ -f2 | grep -vx -e sdk -e shared)
  # A name of one letter is also an ordinary word, so the search leaves it out.
  providers=$(grep -rhoE '\bprovider: "[a-z_]+"' connectors --include='*.rs' | cut -d'"' -f2 | grep -vx -e acme -e '.' | sort -u)
  names=$(tr -s '\n' '|' <<<"$connectors"$'\n'"$providers" | sed 's/|$//')
  grep -rnwiE "$names" host --include='*.rs' --include='*.toml' --include='*.wit' | sed 's/$/   <- a name of a connector or provider/'
}

# A FIFO would block an open, a device has no end, and a link would show another file. The functions of the crate `files` open
# none of them. Each place that opens files in another way is here with a reason: a file, or a folder with `/` at its end.
openers='
authoring/         a person names the files of a command, and may name a pipe such as `<(command)`
cli/               the same
files/src/lib.rs   these functions
config/            the operator names these files, and may name a pipe
'

# A lease that ended by the clock of one machine would lose what its gateway holds. Code asks the crate `clock`, which
# tests set. Each other place is here with a reason.
clocks='
authoring/               commands, which lease nothing
cli/                     the same
egress/src/retry_after.rs the dates of HTTP headers, which have limits
sandbox/src/cache.rs     the times of files, which other gateways on the machine compare
egress/src/sign/mod.rs   the time of a signature, which the service compares with its own
sandbox/src/clock.rs     the clock that connectors ask
clock/                   this clock
store/src/jobs/types.rs  ids that sort by their time
database/src/sqlite/mod.rs  the clock of SQLite, which runs evenly from the start of the process on
'

# Types take a secret as a secret: the vault seals it, `egress::Credential` sends it, `egress::Masker` searches for it, and
# `store::ShownOnce` shows one that was just made. A reviewer of secrets reads these files alone. Each is here with what it does with
# the text of a secret.
exposers='
vault/src/cipher.rs              encrypts it, and reads unsealed text and JSON
vault/src/master.rs              the master key: its id, its file, and the keys that it seals
vault/src/shown_once.rs          a secret that was just made: keys, tokens, completions, secrets of webhooks
egress/src/credential.rs         headers, queries, forms and other bodies
egress/src/needle.rs             the search for it in responses
egress/src/sign/aws.rs           signs requests
egress/src/sign/hmac.rs          the same
hooks/src/secret.rs              verifies the requests of services
webhooks/src/signature.rs        signs webhooks
sandbox/src/cache.rs             the key of compiled modules
database/src/digest.rs           its digest
database/src/postgres/address.rs the password in the URL of the database
oauth/src/secret_text.rs         the sealed form of tokens and of credentials of accounts, and the library for OAuth
integrations/src/key.rs          the forms of keys
integrations/src/import.rs       checks what is imported, and hashes it
config/src/private_key.rs        reads PEM
rest/src/connect/form.rs         the credentials that a person typed
cli/src/operator/age.rs          the key of an encrypted file
authoring/src/dev/account.rs     the credential of the author, for an account and from the stand-in of a provider
'

# Prints each line of code in the folder $1 that matches the extended regular expression $2, with the advice $4, except in the
# places $3 and in tests.
code_with() {
  find "$1" -path "$1/benches" -prune -o -path "$1/fuzz" -prune -o -name '*.rs' ! -name '*tests.rs' ! -path '*/tests/*' \
    ! -path '*/simulation/*' -print | sort |
    xargs awk -v root="$1/" -v expression="$2" -v places="$3" -v advice="$4" '
      BEGIN { count = split(places, lines, "\n"); for (line = 1; line <= count; line++) if (split(lines[line], word, " ")) place[++known] = word[1] }
      FNR == 1 {
        file = substr(FILENAME, length(root) + 1)
        skipped = 0
        for (i = 1; i <= known; i++) if (file == place[i] || (place[i] ~ /\/$/ && index(file, place[i]) == 1)) skipped = 1
      }
      /#\[cfg\(test\)\]/ { begins = FNR + 1 }
      # Tests are the last module of a file. The attribute may also be at a single item before it.
      FNR == begins && /^ *(pub(\([a-z]*\))? )?mod [a-z_]+ \{/ { skipped = 1 }
      { code = $0; sub("(^|[^:])//.*", "", code) }
      !skipped && code ~ expression { print root file ":" FNR ": " advice }'
}

# The kernel has regular files alone in `/proc` and `/sys`.
other_opens() {
  code_with "$1" 'fs::(read|write|copy)\(|fs::read_to_string\(([^"]|"[^/]|"/([^ps]|p[^r]|s[^y]))|File::(open|create|create_new|options)\(|OpenOptions::new\(|pem_file_iter\(' \
    "$openers" 'open files with the crate `files`, or allow the file in host/places.sh'
}

other_clocks() {
  code_with "$1" 'SystemTime::now|EPOCH\.elapsed|Utc::now' "$clocks" 'ask the crate `clock`, or allow the file in host/places.sh'
}

# The database compares times with its own clock, from which that of a machine may be far away.
future_times() {
  code_with "$1" 'clock::now\(\) *\+' '' 'a time that is stored is `store.database().now()` and a duration, or the statement adds the duration'
}

# The database runs any statement. The crates that know its tables have it as a field.
other_statements() {
  code_with "$1" 'database\(\)\.(read|write)\(' '' 'write statements in the crate `store`, which knows the tables'
}

exposed_secrets() {
  code_with "$1" 'expose_secret\(\)|::expose_secret' "$exposers" \
    'give the secret to a type that takes it, such as `Vault` or `egress::Credential`, or allow the file in host/places.sh'
}

# Checks that `other_opens`, `other_clocks`, `future_times`, `other_statements` and `exposed_secrets` find what they must find, and
# nothing else.
test_other_calls() {
  local sample expected
  sample=$(mktemp -d)
  mkdir -p "$sample/src" "$sample/config" "$sample/store/src/tests"
  cat >"$sample/src/one.rs" <<'RUST'
// fs::read("a comment"), SystemTime::now()
fn one(path: &Path) {
    tokio::fs::read(path);
    fs::read_to_string(path);
    fs::read_to_string("/proc/self/status");
    File::open(path).unwrap();
    OpenOptions::new().read(true);
    files::read_regular(path, 1);
}
#[cfg(test)]
fn helper() {}
fn now() -> SystemTime {
    SystemTime::now()
}
fn end() -> SystemTime {
    clock::now() + LIFETIME
        + store.database().read(|connection| connection.one("SELECT 1", &[]))
}
fn text(secret: &SecretString) -> &str {
    secret.expose_secret()
}
#[cfg(test)]
mod tests {
    fn now() {
        fs::read(path);
        SystemTime::now();
        secret.expose_secret();
    }
}
RUST
  cp "$sample/src/one.rs" "$sample/config/read.rs"
  cp "$sample/src/one.rs" "$sample/store/src/tests/mod.rs"
  expected='src/one.rs:3
src/one.rs:4
src/one.rs:6
src/one.rs:7
config/read.rs:13
src/one.rs:13
config/read.rs:16
src/one.rs:16
config/read.rs:17
src/one.rs:17
config/read.rs:20
src/one.rs:20'
  diff <(echo "$expected") <({ other_opens "$sample"; other_clocks "$sample"; future_times "$sample"; other_statements "$sample"; exposed_secrets "$sample"; } | sed -e "s|^$sample/||" -e 's/: .*//') >&2 || {
    echo "host/places.sh: its test of places fails" >&2
    exit 1
  }
  rm -r "$sample"
}

# A text that a module, a registry or a service chose could change what a terminal shows. `authoring/src/output.rs` escapes it. Each
# other file that writes to a stream is here with a reason.
other_writers() {
  local allowed='
host/authoring/src/output.rs     the writers of the commands
host/telemetry/src/logging/mod.rs escapes the text form in lines.rs; JSON has escapes
host/src/welcome.rs              escapes the greeting, which has examples of modules
host/sandbox/src/child.rs        the pipe to the process that started this one'
  find host -path host/benches -prune -o -name '*.rs' ! -name 'tests.rs' ! -path '*/tests/*' ! -path '*/simulation/*' -print | sort |
    xargs awk -v allowed="$allowed" '
      BEGIN { count = split(allowed, lines, "\n"); for (line = 1; line <= count; line++) if (split(lines[line], word, " ")) known[word[1]] = 1 }
      FNR == 1 { tests = 0 }
      /#\[cfg\(test\)\]/ { tests = 1 }
      { code = $0; sub("(^|[^:])//.*", "", code) }
      !tests && !(FILENAME in known) && code ~ /(stdout|stderr)\(\)[ ]*(\.lock|\.write|[,;)]|$)|(^|[^a-z_])e?print(ln)?!|dbg!/ {
        print FILENAME ":" FNR ": write with `authoring::output`, which escapes, or allow the file in host/places.sh"
      }'
}

# `grep` fails if it finds nothing, which is good here.
test_other_calls
found=$(names_in_the_host || true; other_opens host; other_clocks host; future_times host; other_statements host; exposed_secrets host; other_writers)
if [ -n "$found" ]; then
  echo "$found" >&2
  exit 1
fi
