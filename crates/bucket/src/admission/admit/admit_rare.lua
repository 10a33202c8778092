-- Functions that admit.lua needs if other jobs wait, or a job isn't plain.
-- needs: places_of_batch
-- opens: open_admit = admit_job
return { look_for_places = look_for_places, open_admit = open_admit }
