-- The plans for taking are made when a process is young, and kept: with few signatures there, all of them would be read for each payment from then
-- on. Nor is a plan made anew for each of the small batches, which takes longer than what it plans.
alter function terminals.take_payments(json, timestamptz)
  set enable_seqscan = off set enable_bitmapscan = off set jit = off set plan_cache_mode = force_generic_plan;
