-- List kind: all wait in one line, and nobody is throttled alone. What was put back is announced (put_back.lua).
local function leave_flows() end
