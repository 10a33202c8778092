-- Makes the rule of a kind; nil: of one that isn't known here. The files of the kinds are the statements of this
-- function, which ends behind them.
--
-- A tier is a table of its settings, from a plan, and its state. What a rule can do:
--   tier(text, at, packed, from, last, now)
--                              makes the tier from a plan and what was packed of it at `last`, as it is `now`; without
--                              `packed`, as it begins. Reports where in both the next tier is
--   wait(tier, now, n, queue)  µs until `n` would pass; 0: now; -1: never
--   charge(tier, now, n, id)
--   left(tier, now)            how many would pass now, and the µs until all is left again
--   write(tier)                packs its state
--   seldom()                   makes the rest:
--     read(packed, at)         the state, the period it was written for, and where the next tier is
--     convert(tier, old, was)  takes the state of another setting of the same kind: what was consumed stays consumed
--     refill(tier)             µs from nothing left to all left
--     fill(tier, now)          nothing is left
--     shift(tier, by)          moves the times it holds
--     refund(tier, now, n, id)
local limit_rules = { nil, nil, nil, nil, nil, nil, nil, nil }

local function limit_kind(code)
