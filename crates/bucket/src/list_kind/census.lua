-- List kind: what only a census counts.

-- A list can't park.
local function count_parked()
  return 0
end

-- Its id; '' when there is none. The oldest of each list is at its tail; the lists of the takers are KEYS 8….
local function oldest_job(jobs)
  local oldest
  local function look(list)
    local element = redis.call('LINDEX', list, -1)
    local head = element and read_head(element)
    if head and not (oldest and comes_after(head, oldest)) then oldest = head end
  end
  look(jobs)
  for i = 8, #KEYS - 1 do look(KEYS[i]) end
  return oldest and oldest.id or ''
end
