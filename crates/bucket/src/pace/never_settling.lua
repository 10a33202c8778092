-- In place of settling.lua, where no pace is set: it has no state that could have been rolled back.
local pace_settling
