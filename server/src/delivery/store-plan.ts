/**
 * PostgreSQL's settings for statements on the tables of work. These are empty most of the time, and that is when PostgreSQL makes and keeps
 * its plans: it finds that reading all of such a table is cheapest, and goes on reading all of it when a million rows are there (seen: a
 * settlement of 500 in 6 s). So the statements on them leave it no choice. Rows are looked up by key in a lateral subquery, one by
 * one, in the order in which they are to be locked; changed by an upsert on the key of a row that is held, or by `= any (array (…))`; never by a
 * join. Scans are off.
 */
export const byIndex: Readonly<Record<string, string>> = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  plan_cache_mode: 'force_generic_plan',
}
