#!/usr/bin/env bash
# Finds words and sentences that a reader whose second language is English stumbles over, comments wider than 100 columns, and
# comments that begin with a question word. A part of `make lint`; CONTRIBUTING.md says how text reads here.
set -euo pipefail
cd "$(dirname "$0")/.."

# A word or phrase, and what to write instead. Each is an extended regular expression for whole words.
phrases='
beside[ ,.]                          next to, compared with, in addition to
of (its|their) own([.,;:)"]|$)      own, separate, dedicated
former [a-z]                        previous
version before                      previous version
under way                           in progress, running
(some|any|every)body                someone, anyone, everyone; or name the person
nobody (is|has|may|can|else|asks|uses|reads|waits|knows)    no one; or name the person
strangers?                          name the person: a caller, an author, a publisher
patience                            timeout, longest wait
in vain                             without result
all the same                        nevertheless
for ever                            permanently
told of                             notified of, receives
holds? up                           delays, blocks
(is|are) answered (as|with)         gets, returns
go(es)? on                          continue
to be had                           available
'

# Text in the project. Published versions of the contract and released migrations never change.
files() {
  git ls-files '*.rs' '*.md' '*.wit' '*.toml' '*.sh' '*.py' '*.js' '*.in' Makefile |
    grep -vE '^wit/frozen/|/migrations/|^host/words\.sh$|package-lock|/fixtures/|/specifications/'
}

unwelcome() {
  local words
  words=$(sed -nE 's/  +.*//p' <<<"$phrases" | paste -sd'|')
  files | xargs grep -niE "\\b($words)([^a-z]|$)" -- /dev/null | cut -c1-160 | sed 's/$/   <- see host\/words.sh/' || true
}

# rustfmt leaves comments as they are. Links and code in backticks may be longer. So may the summary of an operation in
# `connectors`, which is one line.
wide_comments() {
  git ls-files 'host/*.rs' 'tests/*.rs' | grep -v '/templates/' |
    xargs grep -nE '^ *//[/!]? .{97}' -- /dev/null |
    awk -F: '{ line = $0; sub(/^[^:]*:[0-9]+:/, "", line) } length(line) > 100 && line !~ /https?:|`[^`]{60,}`|\|/ { print $1 ":" $2 ": a comment wider than 100 columns" }' || true
}

# A comment begins with a noun or a verb. A record of the API has the descriptions that callers read.
bare_questions() {
  git ls-files '*.rs' | grep -vE '^wit/frozen/|^host/endpoint/src/records/|^connectors/[a-z_]+/src/lib\.rs$' |
    xargs grep -nE '^ *//[/!]? ?(What|Who|Where|Whether)( .*)?[^?]$' -- /dev/null | cut -c1-160 |
    sed 's/$/   <- begin the comment with a noun or a verb/' || true
}

found=$(unwelcome; wide_comments; bare_questions)
if [ -n "$found" ]; then
  echo "$found" >&2
  exit 1
fi
