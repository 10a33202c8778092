-- Reads and marks stored definitions.
local DELETING = '{"deleting":true,'

-- Returns the incarnation and the capacity in bytes of a stored definition; nil if it doesn't exist.
local function definition_head(text)
  local incarnation, bytes = string.match(text or '', '^(%d+) (%d+) ')
  return incarnation, tonumber(bytes)
end

-- Whether the deletion is decided: then `deleting` is the first member of the JSON.
local function is_being_deleted(text)
  return string.find(text, '^%d+ %d+ ' .. DELETING) ~= nil
end

local function mark_deletion(text)
  return (string.gsub(text, '{', DELETING, 1))
end
