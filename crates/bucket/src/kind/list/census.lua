-- List kind: counts for the census.
-- needs: budget, kind/entry

-- A list can't park.
local function count_parked()
  return 0
end

local function count_due()
  return 0
end

-- So all claimed jobs are in flight.
local function count_claimed(held)
  return held
end

-- The id of the oldest job, '' without jobs. The oldest of each list is at its tail. The lists of the takers are KEYS
-- from `first` to the last but one. Checks as many lists as a script may read.
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
