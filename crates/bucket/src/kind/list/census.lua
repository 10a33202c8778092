-- List kind: what only a census counts.
-- needs: budget, kind/entry

-- A list can't park.
local function count_parked()
  return 0
end

local function count_due()
  return 0
end

-- And so all of it is in flight.
local function count_claimed(held)
  return held
end

-- Its id; '' when none exists. The oldest of each list is at its tail; the lists of the takers, which have the oldest
-- of all, are KEYS from `first` to before the last. Of as many as a script may read.
local function oldest_job(jobs, first)
  local oldest
  local function look(list)
    local element = may_read() and redis.call('LINDEX', list, -1)
    if not element then return end
    count_read(element)
    local head = read_head(element)
    if head and not (oldest and comes_after(head, oldest)) then oldest = head end
  end
  for i = first, #KEYS - 1 do look(KEYS[i]) end
  look(jobs)
  return oldest and oldest.id or ''
end
