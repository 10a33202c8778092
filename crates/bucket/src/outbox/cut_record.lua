-- The record of an end in an outcome job: its texts as short as those of failed attempts are kept.
-- needs: now

local cut_record
do
  local LONGEST_REASON, LONGEST_TYPE, LONGEST_LINE = 200, 100, 512

  -- To no more bytes than this, as JSON writes them, and not within a character. Whether it was longer.
  local function shorten(of, name, most_written)
    local before = of[name]
    if type(before) ~= 'string' then return false end
    local short = before
    while #cjson.encode(short) - 2 > most_written do
      local kept = #short > most_written and most_written or math.floor(#short / 2)
      -- Base64 comes in fours.
      if of.base64 then kept = kept - kept % 4 end
      while kept > 0 and math.floor((string.byte(short, kept + 1) or 0) / 64) == 2 do kept = kept - 1 end
      short = string.sub(short, 1, kept)
    end
    of[name] = short
    return #short < #before
  end

  -- `most_answer`: the most bytes of the body of an answer.
  function cut_record(record, result, most_answer)
    if string.sub(record, 1, 1) ~= '{' then return string.sub(record, 1, LONGEST_LINE) end
    local readable, outcome = pcall(cjson.decode, record)
    -- Somebody else may have written it.
    if not readable or type(outcome) ~= 'table' then return cjson.encode({ result = result, attempts = 0 }) end
    local answer = type(outcome.answer) == 'table' and outcome.answer or {}
    shorten(outcome, 'reason', LONGEST_REASON)
    shorten(outcome, 'caller', LONGEST_CALLER)
    shorten(answer, 'content_type', LONGEST_TYPE)
    if shorten(answer, 'body', most_answer) then answer.truncated = true end
    return cjson.encode(outcome)
  end
end
