-- List kind: there is no fair queuing, and there are no limits per caller.
local function leave_flows() end
