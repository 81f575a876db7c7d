-------------------------------- MODULE Claims --------------------------------
(* Claim, settle, expire and gate of one list, as the statements in src/rowlock/sql do them.              *)
(*                                                                                                         *)
(* An action is one transaction of the database. A worker can be paused or die at any moment: it then      *)
(* takes no action. A settlement that was sent can arrive late, and several times. Guards names the        *)
(* conditions of the statements; a configuration that leaves one out must break an invariant.              *)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS
    Positions,  \* The positions of items in the list, 1 to a number.
    Workers,
    MaxToken,   \* How many claims there can be.
    LastGate,
    MaxBeat,    \* How many heartbeats a session can send.
    Guards      \* The conditions that the statements check.

VARIABLES
    row,        \* Of each position: "absent", "uncommitted", "ready" or "gone".
    at,         \* The gate of each item.
    open,       \* The gate that the list has reached.
    claims,     \* The rows of claims.
    beat,       \* Of each worker: 0 without a session, else how many heartbeats its row counts.
    held,       \* What each worker believes that it holds: a claim, or none.
    sent,       \* Settlements on their way to the database.
    look,       \* What the observer has read: a worker and how many heartbeats its session had sent, or 0 heartbeats.
    token,      \* The last token that was given out.
    handedOut,  \* Positions that some claim has handed out.
    results,    \* Of each position: how many rows the programs have stored with their settlements.
    abandoned,  \* Positions that a user has deleted.
    wronged,    \* Whether a session ended although it had sent a heartbeat after the observer's look.
    overruled   \* Whether a settlement landed although its claim had ended.

vars == <<row, at, open, claims, beat, held, sent, look, token, handedOut, results, abandoned, wronged, overruled>>

Gates == 0 .. LastGate
Guard(name) == name \in Guards
None == [token |-> 0]
NoLook == [beat |-> 0]

Ready == {p \in Positions : row[p] = "ready"}
Unfinished(gate) == {p \in Ready : at[p] <= gate}
Inside(claim, p) == claim.low < p /\ p <= claim.high
Covered == {p \in Positions : \E c \in claims : Inside(c, p)}

Init ==
    /\ row = [p \in Positions |-> "absent"]
    /\ at = [p \in Positions |-> 0]
    /\ open = 0
    /\ claims = {}
    /\ beat = [w \in Workers |-> 0]
    /\ held = [w \in Workers |-> None]
    /\ sent = {}
    /\ look = NoLook
    /\ token = 0
    /\ handedOut = {}
    /\ results = [p \in Positions |-> 0]
    /\ abandoned = {}
    /\ wronged = FALSE
    /\ overruled = FALSE

-------------------------------------------------------------------------------
(* Add: the row is there before its transaction commits. Positions are given out in order, commits are not. *)

Insert(p, gate) ==
    /\ row[p] = "absent"
    /\ \A q \in Positions : q < p => row[q] # "absent"
    /\ gate >= open                         \* An item for a gate that has passed is refused.
    /\ row' = [row EXCEPT ![p] = "uncommitted"]
    /\ at' = [at EXCEPT ![p] = gate]
    /\ UNCHANGED <<open, claims, beat, held, sent, look, token, handedOut, results, abandoned, wronged, overruled>>

Commit(p) ==
    /\ row[p] = "uncommitted"
    /\ row' = [row EXCEPT ![p] = "ready"]
    /\ UNCHANGED <<at, open, claims, beat, held, sent, look, token, handedOut, results, abandoned, wronged, overruled>>

Abandon(p) ==
    /\ row[p] = "ready"
    /\ row' = [row EXCEPT ![p] = "gone"]
    /\ abandoned' = abandoned \union {p}
    /\ UNCHANGED <<at, open, claims, beat, held, sent, look, token, handedOut, results, wronged, overruled>>

-------------------------------------------------------------------------------
(* Sessions: only the deletion of its row ends one. An observer that has seen no heartbeat deletes it. *)

OpenSession(w) ==
    /\ beat[w] = 0 /\ held[w] = None
    /\ beat' = [beat EXCEPT ![w] = 1]
    /\ UNCHANGED <<row, at, open, claims, held, sent, look, token, handedOut, results, abandoned, wronged, overruled>>

Heartbeat(w) ==
    /\ beat[w] > 0 /\ beat[w] < MaxBeat
    /\ beat' = [beat EXCEPT ![w] = @ + 1]
    /\ UNCHANGED <<row, at, open, claims, held, sent, look, token, handedOut, results, abandoned, wronged, overruled>>

Observe(w) ==
    /\ beat[w] > 0 /\ look = NoLook
    /\ look' = [beat |-> beat[w], worker |-> w]
    /\ UNCHANGED <<row, at, open, claims, beat, held, sent, token, handedOut, results, abandoned, wronged, overruled>>

Expire ==
    /\ look # NoLook
    /\ look' = NoLook
    /\ LET w == look.worker IN
        IF beat[w] > 0 /\ (Guard("heartbeat") => beat[w] = look.beat)
        THEN /\ beat' = [beat EXCEPT ![w] = 0]
             /\ claims' = IF Guard("cascade") THEN {c \in claims : c.worker # w} ELSE claims
             /\ wronged' = (wronged \/ beat[w] # look.beat)
        ELSE UNCHANGED <<beat, claims, wronged>>
    /\ UNCHANGED <<row, at, open, held, sent, token, handedOut, results, abandoned, overruled>>

-------------------------------------------------------------------------------
(* Claim: an interval of the open gate that no other claim touches. The worker gets the rows that it can see. *)

ClaimInterval(w, low, high) ==
    LET items == {p \in Ready : low < p /\ p <= high /\ (Guard("gate") => at[p] = open)}
        interval == (low + 1) .. high
        claim == [token |-> token + 1, worker |-> w, low |-> low, high |-> high, items |-> items]
    IN  /\ low < high /\ beat[w] > 0 /\ held[w] = None /\ token < MaxToken
        /\ items # {}
        /\ Guard("interval") => interval \intersect Covered = {}
        /\ token' = token + 1
        /\ claims' = claims \union {claim}
        /\ held' = [held EXCEPT ![w] = claim]
        /\ handedOut' = handedOut \union items
        /\ UNCHANGED <<row, at, open, beat, sent, look, results, abandoned, wronged, overruled>>

Claim(w) == \E low \in Positions \union {0}, high \in Positions : ClaimInterval(w, low, high)

(* A worker that restarts remembers nothing; its row and its claims stay until an observer deletes them. *)
Forget(w) ==
    /\ held[w] # None
    /\ held' = [held EXCEPT ![w] = None]
    /\ UNCHANGED <<row, at, open, claims, beat, sent, look, token, handedOut, results, abandoned, wronged, overruled>>

-------------------------------------------------------------------------------
(* Settle: the program stores one row for each item in the transaction that settles them. *)

Send(w, outcome) ==
    /\ held[w] # None
    /\ sent' = sent \union {[claim |-> held[w], outcome |-> outcome]}
    /\ held' = [held EXCEPT ![w] = None]
    /\ UNCHANGED <<row, at, open, claims, beat, look, token, handedOut, results, abandoned, wronged, overruled>>

(* The settlement ran in a transaction of the program, which was rolled back, and the program runs the block again.  *)
(* With the guard that is a settlement like any other. Without it the claim is marked as settled: the rows of the    *)
(* program commit alone.                                                                                              *)
SkipAgain(w) ==
    /\ ~Guard("commit") /\ held[w] # None
    /\ results' = [p \in Positions |-> results[p] + IF p \in held[w].items THEN 1 ELSE 0]
    /\ held' = [held EXCEPT ![w] = None]
    /\ UNCHANGED <<row, at, open, claims, beat, sent, look, token, handedOut, abandoned, wronged, overruled>>

(* What a settlement deletes: the positions that the worker names. A deletion of the whole interval would also hit *)
(* an item whose transaction committed late.                                                                       *)
Settled(claim) == IF Guard("position") THEN claim.items ELSE {p \in Ready : Inside(claim, p)}

Accepts(claim) ==
    /\ Guard("token") => claim \in claims
    /\ Guard("present") => claim.items \subseteq Ready

(* A message can arrive again: it stays among those that were sent. *)
LandMessage(message) ==
    LET claim == message.claim
        items == Settled(claim)
    IN  /\ Accepts(claim)
        /\ \A p \in items : results[p] < 2
        /\ claims' = claims \ {claim}
        /\ overruled' = (overruled \/ claim \notin claims)
        /\ IF message.outcome = "done"
           THEN /\ row' = [p \in Positions |-> IF p \in items THEN "gone" ELSE row[p]]
                /\ results' = [p \in Positions |-> results[p] + IF p \in items THEN 1 ELSE 0]
                /\ UNCHANGED at
           ELSE /\ at' = [p \in Positions |-> IF p \in items \intersect Ready THEN open + 1 ELSE at[p]]
                /\ open < LastGate
                /\ UNCHANGED <<row, results>>
        /\ UNCHANGED <<open, beat, held, sent, look, token, handedOut, abandoned, wronged>>

Land == \E message \in sent : LandMessage(message)

-------------------------------------------------------------------------------
(* Gates: the next one opens when nothing unfinished is left before it. The lock of the list's row waits for adds. *)

OpenGate ==
    /\ Guard("empty") => Unfinished(open) = {}
    /\ Guard("lock") => \A p \in Positions : row[p] # "uncommitted"
    /\ \E p \in Ready : at[p] > open
    /\ open' = CHOOSE g \in Gates : (\E p \in Ready : at[p] = g /\ g > open) /\ \A q \in Ready : at[q] > open => g <= at[q]
    /\ UNCHANGED <<row, at, claims, beat, held, sent, look, token, handedOut, results, abandoned, wronged, overruled>>

Next ==
    \/ \E p \in Positions : Commit(p) \/ Abandon(p) \/ \E gate \in Gates : Insert(p, gate)
    \/ \E w \in Workers :
        \/ OpenSession(w) \/ Heartbeat(w) \/ Observe(w) \/ Claim(w) \/ Forget(w) \/ SkipAgain(w)
        \/ \E outcome \in {"done", "move"} : Send(w, outcome)
    \/ Land
    \/ Expire
    \/ OpenGate

Spec == Init /\ [][Next]_vars

(* Workers differ only by name. *)
Interchangeable == Permutations(Workers)

-------------------------------------------------------------------------------
(* A result is stored once, and only with its item. *)
OneResult == \A p \in Positions : results[p] <= 1
NoResultOfOtherWork == \A p \in Positions : results[p] > 0 => p \notin abandoned /\ row[p] = "gone"
(* An item that is gone was worked or abandoned. *)
NothingLost == \A p \in Positions : row[p] = "gone" => p \in abandoned \/ (results[p] > 0 /\ p \in handedOut)
(* No two claims hold one item, and each claim belongs to a session. *)
NotClaimedTwice == \A c, d \in claims : c # d => c.items \intersect d.items = {}
NoClaimWithoutSession == \A c \in claims : beat[c.worker] > 0
LiveSessionsLeftAlone == ~wronged
OnlyHoldersSettle == ~overruled
(* No item waits at a gate that has passed: nobody would hand it out. *)
NothingStranded == \A p \in Ready : at[p] >= open
(* Nothing of a later gate is handed out while an earlier one has unfinished items. *)
GatesInOrder == \A c \in claims : \A p \in c.items \intersect Ready : at[p] <= open
===============================================================================
