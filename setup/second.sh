#!/usr/bin/env bash
# second.sh [PROGRAM]: builds assayer-db (indexes, the storage engine, databases) or assayer-mount (folders that answer as
# a drive) where it is missing or older than its sources. Commands that need it call this first; whoever only measures a
# drive never waits for it.
set -uo pipefail
root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd)
program=${1-assayer-db}
source "$root/setup/ready.sh"
rust_ready "$program" && exit
source "$root/setup/setup.sh"
require_own
take_turn
log=$state/setup-${program#assayer-}.log
: >"$log"
rust_ready "$program" || set_up_program "$program"
