-- Shortens the record of an outcome for an outcome job, to the lengths that the records of failed attempts have.
-- needs: now

local cut_record
do
  local LONGEST_REASON, LONGEST_TYPE, LONGEST_LINE = 200, 100, 512

  -- Cuts `of[name]` to at most `most_written` bytes as JSON, between two characters. Returns whether it was longer.
  local function shorten(of, name, most_written)
    local before = of[name]
    if type(before) ~= 'string' then return false end
    local short = before
    while #cjson.encode(short) - 2 > most_written do
      local kept = #short > most_written and most_written or math.floor(#short / 2)
      -- Base64 consists of groups of four characters.
      if of.base64 then kept = kept - kept % 4 end
      while kept > 0 and math.floor((string.byte(short, kept + 1) or 0) / 64) == 2 do kept = kept - 1 end
      short = string.sub(short, 1, kept)
    end
    of[name] = short
    return #short < #before
  end

  -- `most_answer`: maximum bytes of the answer's body.
  function cut_record(record, result, most_answer)
    if string.sub(record, 1, 1) ~= '{' then return string.sub(record, 1, LONGEST_LINE) end
    local readable, outcome = pcall(cjson.decode, record)
    -- The record may have been written by hand.
    if not readable or type(outcome) ~= 'table' then return cjson.encode({ result = result, attempts = 0 }) end
    local answer = type(outcome.answer) == 'table' and outcome.answer or {}
    shorten(outcome, 'reason', LONGEST_REASON)
    shorten(outcome, 'caller', LONGEST_CALLER)
    shorten(answer, 'content_type', LONGEST_TYPE)
    if shorten(answer, 'body', most_answer) then answer.truncated = true end
    return cjson.encode(outcome)
  end
end
