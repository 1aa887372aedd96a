-- A sandbox that is here already is in use. One that was begun with --empty, before that was noted, would be told the story by its next start.
update sandbox.seed set story_told = true;
