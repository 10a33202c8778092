-- For scripts that open the outbox where there is one: as open_outbox.
-- needs: outbox
return open_outbox
