#!/usr/bin/env bash
# Checks the arrows between the folders of the gateway crate, and that no connector's and no provider's name is in the host.
# A part of `make lint`. Between crates, Cargo checks the arrows.
set -euo pipefail
cd "$(dirname "$0")/.."

# Each folder or file of host/src, and the others that it may use. An arrow that is not here is the wrong way or new: turn it, or
# add it here, in host/src/lib.rs and in host/ARCHITECTURE.md.
arrows='
local         api config integrations jobs metrics pipeline registry serve telemetry webhooks
serve         api auth config gateway idempotency integrations jobs metrics program registry signals telemetry webhooks
welcome       config registry
fuzzing       api config schema
api           auth config gateway idempotency integrations jobs logging media_type metrics oauth pipeline registry schema telemetry webhooks
gateway       auth config idempotency integrations jobs metrics pipeline registry telemetry webhooks
jobs          config integrations logging metrics pipeline registry telemetry webhooks
pipeline      integrations media_type metrics registry schema telemetry
integrations  caller_url config metrics oauth registry webhooks
registry      config metrics oauth schema webhooks
webhooks      caller_url config metrics
telemetry     config metrics
oauth         config
logging       config
config        auth
auth
schema
metrics
idempotency
media_type
program
signals
caller_url
'

wrong_arrows() {
  find host/src -name '*.rs' -print0 | xargs -0 awk -v arrows="$arrows" '
    BEGIN {
      count = split(arrows, lines, "\n")
      for (line = 1; line <= count; line++) {
        words = split(lines[line], word, " ")
        if (words) known[word[1]] = 1
        for (i = 2; i <= words; i++) allowed[word[1], word[i]] = 1
      }
    }
    FNR == 1 {
      room = FILENAME
      sub("^host/src/", "", room)
      sub("(/.*|\\.rs)$", "", room)
      if (room != "lib" && !(room in known)) print FILENAME ": `" room "` is not in the table of host/arrows.sh"
    }
    # Comments may name anything.
    { sub("(^|[^:])//.*", "") }
    room != "lib" {
      rest = $0
      # `crate::name` and `crate::{one, two}`.
      while (match(rest, /crate::([a-z_]+|\{[^}]*\}?)/)) {
        used = substr(rest, RSTART + 7, RLENGTH - 7)
        rest = substr(rest, RSTART + RLENGTH)
        count = split(used, names, "[{}, ]+")
        for (i = 1; i <= count; i++) {
          name = names[i]
          sub("::.*", "", name)
          if (name in known && name != room && !((room, name) in allowed))
            print FILENAME ":" FNR ": `" room "` must not use `" name "`"
        }
      }
    }'
}

names_in_the_host() {
  local connectors providers names
  connectors=$(find connectors -mindepth 2 -maxdepth 2 -name Cargo.toml | cut -d/ -f2 | grep -vx -e sdk -e shared)
  # A name of one letter is also a word of its own, so the search leaves it out.
  providers=$(grep -rhoE '\bprovider: "[a-z_]+"' connectors --include='*.rs' | cut -d'"' -f2 | grep -vx -e acme -e '.' | sort -u)
  names=$(tr -s '\n' '|' <<<"$connectors"$'\n'"$providers" | sed 's/|$//')
  grep -rnwiE "$names" host --include='*.rs' --include='*.toml' --include='*.wit' | sed 's/$/   <- a name of a connector or provider/'
}

# `grep` fails if it finds nothing, which is good here.
found=$(wrong_arrows; names_in_the_host || true)
if [ -n "$found" ]; then
  echo "$found" >&2
  exit 1
fi
