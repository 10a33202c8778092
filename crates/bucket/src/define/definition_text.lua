-- The texts of definitions.
local DELETING = '{"deleting":true,'

-- What a definition begins with: the incarnation and the capacity in bytes. nil: it isn't there.
local function definition_head(text)
  local incarnation, bytes = string.match(text or '', '^(%d+) (%d+) ')
  return incarnation, tonumber(bytes)
end

-- Whether it was decided that it will be deleted: the first member of what is known of it.
local function is_being_deleted(text)
  return string.find(text, '^%d+ %d+ ' .. DELETING) ~= nil
end

local function mark_deletion(text)
  return (string.gsub(text, '{', DELETING, 1))
end
