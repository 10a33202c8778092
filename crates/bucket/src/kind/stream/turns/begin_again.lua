-- Stream kind: the times of flows of one rank begin again, before they reach those of the next one: once in some
-- million calls, where at no time nothing waited.
-- needs: kind/flows

local begin_again_if_late
do
  local WRITTEN_AT_ONCE = 1000
  -- Ranks by where their times lie, in spans from 0 on.
  local RANKS_AT = { [-1] = 1, [0] = 0, [1] = 2 }

  local function begin_again(rank)
    local origin, _, from, to = bounds_of(rank)
    local flows = redis.call('ZRANGE', FLOWS, from, to, 'BYSCORE', 'WITHSCORES')
    local first, words = tonumber(flows[2]), {}
    for i = 1, #flows, 2 do
      words[#words + 1], words[#words + 2] = whole(origin + (flows[i + 1] - first)), flows[i]
      if #words == 2 * WRITTEN_AT_ONCE or i == #flows - 1 then
        redis.call('ZADD', FLOWS, unpack(words))
        words = {}
      end
    end
  end

  -- `charged`: time, name, … as they were written.
  function begin_again_if_late(charged)
    local _, span = bounds_of(0)
    local late = {}
    for i = 1, #charged, 2 do
      local rank = RANKS_AT[math.floor(charged[i] / span)]
      if rank and charged[i] % span >= span / 2 then late[rank] = true end
    end
    for rank in pairs(late) do begin_again(rank) end
  end
end
