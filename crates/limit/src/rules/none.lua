-- In place of the rules, for scripts whose plans are all empty: nothing is limited, so there is nothing to decide and
-- nothing to wait for. Redis makes each function again in each call: so it is one for all names.
local function no_rule() end
local limit_check, limit_charge, limit_report, limit_states = no_rule, no_rule, no_rule, no_rule
local limit_know, limit_pass, limit_charge_passed = no_rule, no_rule, no_rule
local limit_spend, limit_flush, limit_state, limit_present = no_rule, no_rule, no_rule, no_rule
local limit_room, limit_look, limit_passing = no_rule, no_rule, no_rule
