-- Links that have ended and had more open intents than are ended with them: the rest follows, with the same end.
create table payments.ending_links (
  link_id uuid primary key,
  state text not null,
  at timestamptz not null
);
