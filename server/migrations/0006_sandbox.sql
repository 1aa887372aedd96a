create schema sandbox;

-- What the seed made, sealed as one document: later starts print the same keys, and no key is stored in plain.
create table sandbox.seed (
  only_row boolean primary key default true check (only_row),
  sealed bytea not null,
  story_told boolean not null default false,
  created_at timestamptz not null
);
