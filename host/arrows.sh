#!/usr/bin/env bash
# Checks the arrows between the folders of the gateway crate, that no connector's and no provider's name is in the host, and that
# few places open files, ask for the time or write to a terminal.
# A part of `make lint`. Between crates, Cargo checks the arrows.
set -euo pipefail
cd "$(dirname "$0")/.."

# Each folder or file of host/src, and the others that it may use. An arrow that is not here is new or points the wrong way: turn
# it, or add it here and in host/ARCHITECTURE.md.
arrows='
local         budgets calls config integrations jobs metrics pipeline problem registry serve telemetry webhooks
serve         api auth backlog budgets calls config exposure gateway heartbeat idempotency integrations jobs mcp metrics registry samples signals telemetry tls webhooks
welcome       config registry
simulation    auth budgets calls clock config idempotency integrations jobs metrics registry telemetry webhooks
fuzzing       api config schema
api           auth body caller_url calls clock config doctor gateway idempotency integrations jobs logging mcp media_type metrics oauth pipeline problem registry samples schema telemetry timestamp tls webhooks
doctor        clock config exposure registry tls
exposure      config
heartbeat     config gateway
backlog       clock gateway metrics
gateway       auth budgets calls clock config idempotency integrations jobs mcp metrics pipeline registry samples telemetry webhooks
jobs          auth budgets calls clock config integrations logging metrics pipeline problem registry telemetry timestamp webhooks
problem       body integrations pipeline registry schema webhooks
mcp           auth registry
pipeline      body budgets calls integrations media_type metrics registry schema telemetry
calls         clock config metrics
integrations  allowance caller_url clock config metrics oauth registry timestamp webhooks
registry      clock config metrics oauth schema webhooks
webhooks      caller_url clock config metrics timestamp
telemetry     clock config metrics
tls           clock config metrics
samples       clock metrics
oauth         clock config
logging       clock config
config        auth
auth          clock metrics
schema
metrics
idempotency   clock
budgets
allowance
clock
body
media_type
signals
caller_url
timestamp
'

# Files that may have a type of function pointers or boxed closures. Such a type lets a lower folder call a higher one without an
# arrow, so each line says why this one does not.
callbacks='
api/route.rs           the table of routes names the handlers of the same folder
schema/mod.rs          `UrlCheck` comes from `webhooks`, and `integrations`, which may use both, hands it over
webhooks/receiver.rs   the same check, as `webhooks` makes it
metrics/mod.rs         the type of a family of histograms names the function that makes one, which is in the same file
serve.rs               `Ready` is the greeting of the command that starts the gateway
'

# Prints each wrong arrow in the folder $1.
wrong_arrows() {
  find "$1" -name '*.rs' | sort | xargs awk -v root="$1/" -v arrows="$arrows" -v callbacks="$callbacks" '
    BEGIN {
      count = split(arrows, lines, "\n")
      for (line = 1; line <= count; line++) {
        words = split(lines[line], word, " ")
        if (words) known[word[1]] = 1
        for (i = 2; i <= words; i++) allowed[word[1], word[i]] = 1
      }
      count = split(callbacks, lines, "\n")
      for (line = 1; line <= count; line++) if (split(lines[line], word, " ")) may_call_back[word[1]] = 1
    }
    function check(name, line) {
      if (name in known && name != room && !((room, name) in allowed))
        print root file ":" line ": `" room "` must not use `" name "`"
    }
    # The first names of the paths in a tree, such as `one` and `two` of `{one::{a, b}, two}`. `tree` begins with its brace.
    function check_tree(tree, line,    i, depth, character, name) {
      for (i = 1; i <= length(tree); i++) {
        character = substr(tree, i, 1)
        if (character == "{") depth++
        if (character == "}" && --depth == 0) break
        if (depth != 1) continue
        if (character ~ /[{,]/) {
          name = substr(tree, i + 1)
          sub("^[ \t\n]+", "", name)
          sub("[^a-z_].*", "", name)
          check(name, line)
        }
      }
    }
    function check_file(    rest, line, used, parent) {
      if (file == "lib.rs") return
      if (!(room in known)) print root file ": `" room "` is not in the table of host/arrows.sh"
      # `crate::name` and `crate::{one, two}`, also over several lines. In the root of a folder, `super` is the crate.
      parent = file ~ "^[a-z_]+(/mod)?\\.rs$" ? "(^|\n)use super::|" : ""
      rest = text
      line = 1
      while (match(rest, parent "crate[ \n]*::[ \n]*")) {
        used = substr(rest, 1, RSTART + RLENGTH - 1)
        line += gsub("\n", "", used)
        rest = substr(rest, RSTART + RLENGTH)
        if (rest ~ /^\{/) {
          check_tree(rest, line)
        } else {
          used = substr(rest, 1, 64)
          sub("[^a-z_].*", "", used)
          check(used, line)
        }
      }
      if (!(file in may_call_back) && file !~ "tests(/|\\.rs$)") {
        rest = text
        line = 1
        while (match(rest, /(^|[^A-Za-z0-9_])(fn|dyn Fn(Once|Mut)?) *\(/)) {
          used = substr(rest, 1, RSTART + RLENGTH - 1)
          line += gsub("\n", "", used)
          rest = substr(rest, RSTART + RLENGTH)
          print root file ":" line ": a function pointer or boxed closure hides an arrow: call the function, or allow the file in host/arrows.sh"
        }
      }
    }
    FNR == 1 {
      if (NR > 1) check_file()
      file = substr(FILENAME, length(root) + 1)
      room = file
      sub("(/.*|\\.rs)$", "", room)
      text = ""
    }
    # Comments may name anything.
    { sub("(^|[^:])//.*", ""); text = text $0 "\n" }
    END { check_file() }'
}

# Checks that `wrong_arrows` finds what it must find, and nothing else.
test_wrong_arrows() {
  local sample expected
  sample=$(mktemp -d)
  mkdir "$sample/jobs"
  cat >"$sample/jobs/mod.rs" <<'RUST'
//! May name crate::api.
use crate::config;
use crate::{
    metrics::{self, api},
    welcome::{Arguments,
        run},
};
use super::api;
struct Parts {
    explain: fn(u8) -> u8,
}
fn explain() {
    let value = crate::
        serve::Ready;
}
RUST
  printf 'use super::api;\nuse crate::pipeline::{self, welcome};\nfn api(work: impl FnOnce()) {}\n' >"$sample/jobs/run.rs"
  printf 'use crate::auth;\n' >"$sample/unknown.rs"
  expected='jobs/mod.rs:3: `jobs` must not use `welcome`
jobs/mod.rs:8: `jobs` must not use `api`
jobs/mod.rs:14: `jobs` must not use `serve`
jobs/mod.rs:10: a function pointer
unknown.rs: `unknown` is not in the table
unknown.rs:1: `unknown` must not use `auth`'
  diff <(echo "$expected") <(wrong_arrows "$sample" | sed -e "s|^$sample/||" -e 's/ or boxed closure.*//' -e 's/ of host.*//') >&2 || {
    echo "host/arrows.sh: its own test fails" >&2
    exit 1
  }
  rm -r "$sample"
}

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
src/config/        the operator names these files, and may name a pipe
'

# A lease that ended by the clock of one machine would lose what its gateway holds. Code of the crate asks `crate::clock`, which
# tests set. Each other place is here with a reason.
clocks='
authoring/               commands, which lease nothing
cli/                     the same
egress/src/retry_after.rs the dates of HTTP headers, which have limits
sandbox/src/cache.rs     the times of files, which other gateways on the machine compare
egress/src/sign/mod.rs   the time of a signature, which the service compares with its own
sandbox/src/clock.rs     the clock that connectors ask
src/clock/               this clock
store/src/jobs/types.rs  ids that sort by their time
store/src/sqlite/mod.rs  the clock of SQLite, which runs evenly from the start of the process on
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
    "$openers" 'open files with the crate `files`, or allow the file in host/arrows.sh'
}

other_clocks() {
  code_with "$1" 'SystemTime::now|EPOCH\.elapsed|Utc::now' "$clocks" 'ask `crate::clock`, or allow the file in host/arrows.sh'
}

# The database compares times with its own clock, from which that of a machine may be far away.
future_times() {
  code_with "$1" 'clock::now\(\) *\+' '' 'a time that is stored is `store.now()` and a duration, or the statement adds the duration'
}

# Checks that `other_opens`, `other_clocks` and `future_times` find what they must find, and nothing else.
test_other_calls() {
  local sample expected
  sample=$(mktemp -d)
  mkdir -p "$sample/src/config" "$sample/store/src/tests"
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
}
#[cfg(test)]
mod tests {
    fn now() {
        fs::read(path);
        SystemTime::now();
    }
}
RUST
  cp "$sample/src/one.rs" "$sample/src/config/read.rs"
  cp "$sample/src/one.rs" "$sample/store/src/tests/mod.rs"
  expected='src/one.rs:3
src/one.rs:4
src/one.rs:6
src/one.rs:7
src/config/read.rs:13
src/one.rs:13
src/config/read.rs:16
src/one.rs:16'
  diff <(echo "$expected") <({ other_opens "$sample"; other_clocks "$sample"; future_times "$sample"; } | sed -e "s|^$sample/||" -e 's/: .*//') >&2 || {
    echo "host/arrows.sh: its test of places fails" >&2
    exit 1
  }
  rm -r "$sample"
}

# A text that a module, a registry or a service chose could change what a terminal shows. `authoring/src/output.rs` escapes it. Each
# other file that writes to a stream is here with a reason.
other_writers() {
  local allowed='
host/authoring/src/output.rs     the writers of the commands
host/src/logging/mod.rs          escapes the text form in lines.rs; JSON has escapes
host/src/welcome.rs              escapes the greeting, which has examples of modules
host/sandbox/src/child.rs        the pipe to the process that started this one'
  find host -path host/benches -prune -o -name '*.rs' ! -name 'tests.rs' ! -path '*/tests/*' ! -path '*/simulation/*' -print | sort |
    xargs awk -v allowed="$allowed" '
      BEGIN { count = split(allowed, lines, "\n"); for (line = 1; line <= count; line++) if (split(lines[line], word, " ")) known[word[1]] = 1 }
      FNR == 1 { tests = 0 }
      /#\[cfg\(test\)\]/ { tests = 1 }
      { code = $0; sub("(^|[^:])//.*", "", code) }
      !tests && !(FILENAME in known) && code ~ /(stdout|stderr)\(\)[ ]*(\.lock|\.write|[,;)]|$)|(^|[^a-z_])e?print(ln)?!|dbg!/ {
        print FILENAME ":" FNR ": write with `authoring::output`, which escapes, or allow the file in host/arrows.sh"
      }'
}

# `grep` fails if it finds nothing, which is good here.
test_wrong_arrows
test_other_calls
found=$(wrong_arrows host/src; names_in_the_host || true; other_opens host; other_clocks host; future_times host; other_writers)
if [ -n "$found" ]; then
  echo "$found" >&2
  exit 1
fi
