#!/usr/bin/env bash
# A worker in bash, for whatever can be done on a command line: bash, curl and jq are all it needs.
#
#   examples/worker.sh LIST COMMAND [WORD...]     runs COMMAND WORD... KEY for each item, until nothing is left to do
#
# An item whose command ends with 0 is done; with 75 it is tried again without counting; with 65 it has failed for good;
# with anything else that was one failed attempt. What the command says on stderr is kept with the item.
#
#   ROWLOCK_SERVER   where the service is; http://127.0.0.1:8642 if it is not set
#   ROWLOCK_TOKEN    a token of the role worker, if the service asks for one
#   ROWLOCK_BATCH    how many items it takes at a time; 10 if it is not set
set -euo pipefail

if [ $# -lt 2 ]; then
    echo "usage: ${0##*/} LIST COMMAND [WORD...]" >&2
    exit 2
fi
list=$(jq -rn --arg name "$1" '$name | @uri')
shift
server=${ROWLOCK_SERVER:-http://127.0.0.1:8642}
batch=${ROWLOCK_BATCH:-10}
said=$(mktemp)
exec 3>&1 # what commands say goes where this worker's words go
session=
beating=

# ask METHOD PATH [BODY [HEADER]]: the answer, in JSON. A server that is away for a moment is asked again.
ask() {
    local words=(-sS --fail-with-body --retry 5 --retry-connrefused --max-time 90 -X "$1")
    words+=(-H 'Accept: application/json' -H 'Content-Type: application/json')
    [ -z "${ROWLOCK_TOKEN:-}" ] || words+=(-H "Authorization: Bearer $ROWLOCK_TOKEN")
    [ -z "${4:-}" ] || words+=(-H "$4")
    curl "${words[@]}" --data "${3:-}" "$server/v1/$2"
}

leave() {
    [ -z "$beating" ] || kill "$beating" 2>/dev/null || true
    [ -z "$session" ] || ask DELETE "sessions/$session" >/dev/null || true # what is not settled is free at once
    rm -f "$said"
}
trap leave EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

session=$(ask POST sessions "$(jq -nc --arg holder "bash $HOSTNAME $$" '{$holder, expiry: "60s"}')" | jq -r .session)
# A session lives for a minute after each beat; if this process dies, so do they, and others get its items. A last sleep
# outlives us: it must not hold open what a pipe after us reads to its end.
while sleep 20; do ask PUT "sessions/$session" '{}' >/dev/null || exit; done >/dev/null 2>&1 </dev/null 3>&- &
beating=$!

# run KEY: what became of the item, as one object of a settlement.
run() {
    local status=0
    "${command[@]}" "$1" </dev/null 2>"$said" >&3 || status=$?
    case $status in
        0) outcome=done ;;
        65) outcome=fail ;;
        *) outcome=retry ;;
    esac
    jq -nc --arg outcome "$outcome" --arg key "$1" --argjson status "$status" --rawfile said "$said" '
        {($outcome): [
            {$key}
            + (if $outcome == "done" then {} else {error: ($said[-1000:] // "" | if . == "" then "exit \($status)" else . end)} end)
            + (if $status == 75 then {counted: false, after: "1m"} else {} end)
        ]}'
}

command=("$@")
while :; do
    # Under a key of its own a claim whose answer got lost is the same claim when it is asked for again.
    wanted=$(jq -nc --arg session "$session" --argjson limit "$batch" '{$session, $limit, wait: "1s"}')
    claim=$(ask POST "lists/$list/claims" "$wanted" "Idempotency-Key: $(cat /proc/sys/kernel/random/uuid)")
    token=$(jq -r '.claim // empty' <<<"$claim")
    if [ -n "$token" ]; then
        settlement=$(jq -nc --arg session "$session" '{$session, close: true}')
        while read -r item; do
            outcome=$(run "$(jq -r .key <<<"$item")")
            settlement=$(jq -c --argjson more "$outcome" '. as $all | reduce ($more | to_entries[]) as $each
                ($all; .[$each.key] += $each.value)' <<<"$settlement")
        done < <(jq -c '.items[]' <<<"$claim")
        # Asked again it does no more than once. Refused, others have these items now: nothing of it was written.
        ask PUT "claims/$token" "$settlement" >/dev/null || echo "a settlement was refused" >&2
    elif ! state=$(ask GET "lists/$list"); then
        jq -r '"\(.detail) (\(.hint))"' <<<"$state" >&2
        exit 3
    elif [ "$(jq '.counts | .ready + .delayed + .gated + .claimed' <<<"$state")" = 0 ]; then
        exit 0
    fi
done
