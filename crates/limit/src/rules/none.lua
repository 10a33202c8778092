-- Replaces the rules in scripts whose plans are all empty, so that nothing is limited. One function for all names, as
-- Redis creates each function again in each call.
local function no_rule() end
local limit_check, limit_charge, limit_report, limit_states = no_rule, no_rule, no_rule, no_rule
local limit_load_policies, limit_pass, limit_charge_passed = no_rule, no_rule, no_rule
local limit_spend, limit_flush, limit_state, limit_present = no_rule, no_rule, no_rule, no_rule
local limit_room, limit_pace_state, limit_pace_wait = no_rule, no_rule, no_rule
